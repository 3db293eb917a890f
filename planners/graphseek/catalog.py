"""The semantic catalog of a graph: what its types, relationships and properties mean; its files, and what must be right in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import yaml
from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError

from ingest.sources.yaml_nodes import compose, compose_file
from ingest.trust.finding import visible
from ingest.trust.hidden_characters import bidirectional_runs, invisible_runs, without_hidden
from ontology.errors import InvalidArgumentError
from ontology.files import write_file
from ontology.names import canonical_name
from ontology.ontology import Fault
from planners.stores.graph_schema import GraphSchema

Role: TypeAlias = Literal["", "key", "name", "year", "quarter", "month", "date", "plan or actual", "amount", "category"]
"""What operators need to know of a property: ``name`` is what people call a node by; ``time_slice`` reads year, quarter, month, date and
``plan or actual``; ``category`` has few values, which questions name ("planned", "scrap")."""
TIME_ROLES: tuple[Role, ...] = ("year", "quarter", "month", "date")
MOST_CHARACTERS = 200
"""Of one text. 40 descriptions of this length are the 2,000 tokens of section 3.2 of the paper."""
OWN_SHARE = 0.5
_SHIPPED_SHARE = 0.8
"""Of the names of a graph that a catalog describes: a schema may change under a catalog, and an ontology may add types. Another graph that
happens to have a type of the same name should get nothing; of a user's own the user has said that it is meant."""
_MOST_ENTRIES = 100_000
"""Of all mappings and lists, each as often as aliases name it: else a file of some kilobytes would take minutes."""
_STRICT = ConfigDict(extra="forbid")


def _distinct(words: tuple[str, ...]) -> tuple[str, ...]:
    for at, word in enumerate(words):
        if not word or word in words[:at]:
            raise ValueError(f"has {word!r} twice" if word else "has an empty text")
    return words


Words: TypeAlias = Annotated[tuple[str, ...], AfterValidator(_distinct)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyDescriptor:
    """Of a property.

    :param words: other words for it, in lower case.
    :param values: words for values: what a person says → the value as text.
    :param groups: words for several values at once: "writes" → the values of all that write.
    :param unit: of numbers: ``EUR``, ``kWh``; empty: none.
    """

    __pydantic_config__ = _STRICT
    description: str = ""
    words: Words = ()
    values: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Words] = field(default_factory=dict)
    role: Role = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDescriptor:
    """Of a node type; ``words`` are other words for it, in lower case, singular."""

    __pydantic_config__ = _STRICT
    description: str = ""
    words: Words = ()
    properties: Mapping[str, PropertyDescriptor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationshipDescriptor:
    """Of a relationship type: how a person says it from source to target, "is integrated in", and back, "contains"."""

    __pydantic_config__ = _STRICT
    description: str = ""
    forward: Words = ()
    backward: Words = ()
    properties: Mapping[str, PropertyDescriptor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticCatalog:
    """Descriptors by names of the schema.

    :param fingerprint: of the schema that it was made for.
    :param accepted: a draft serves no question.
    :param about: the graph, in one or two sentences.
    """

    __pydantic_config__ = _STRICT
    about: str = ""
    fingerprint: str = ""
    accepted: bool = False
    nodes: Mapping[str, NodeDescriptor] = field(default_factory=dict)
    relationships: Mapping[str, RelationshipDescriptor] = field(default_factory=dict)


_CATALOG = TypeAdapter(SemanticCatalog)


def read_catalog(path: Path) -> SemanticCatalog:
    """Read a catalog file of at most 1 MiB. All its scalars are texts.

    :raises InvalidArgumentError: when it has faults; the problem lists each with its field.
    """
    return _catalog(compose_file(path), str(path))


def catalog_of_yaml(text: str) -> SemanticCatalog:
    """Read the text of a catalog file.

    :raises InvalidArgumentError: as :func:`read_catalog`.
    """
    return _catalog(compose(text), "catalog")


def _catalog(root: yaml.Node | Fault, subject: str) -> SemanticCatalog:
    faults = []
    try:
        return _CATALOG.validate_python(_plain(root))
    except ValidationError as error:
        for each in error.errors():
            known = each["type"] != "unexpected_keyword_argument"
            place = ".".join(str(step) for step in each["loc"]) or "the file"
            faults.append(f"{place}: {each['msg'] if known else 'there is no such key'}")
    except ValueError as error:
        faults.append(str(error))
    listed = "; ".join(faults)
    raise InvalidArgumentError(f"{len(faults)} fault(s): {listed}", subject=subject, remedy="Correct these fields")


def _plain(root: yaml.Node | Fault) -> Any:
    """Return what a YAML node says, every scalar as a text.

    :raises ValueError: for a file that is no YAML, a key that stands twice, and too many entries.
    """
    left = _MOST_ENTRIES

    def plain(node: yaml.Node) -> Any:
        nonlocal left
        if isinstance(node, yaml.ScalarNode):
            return "" if node.tag == "tag:yaml.org,2002:null" else str(node.value).strip()
        left -= len(node.value)
        if left < 0:
            raise ValueError(f"the file has more than {_MOST_ENTRIES:,} entries")
        if isinstance(node, yaml.SequenceNode):
            return [plain(each) for each in node.value]
        found: dict[str, Any] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in found or not isinstance(key, yaml.ScalarNode):
                raise ValueError(f"line {line}: the key {name[:60]!r} stands twice, or is no text")
            found[name] = plain(value)
        return found

    if isinstance(root, Fault):
        raise ValueError(str(root))
    return plain(root)


class _Dumper(yaml.SafeDumper):
    """Writes what has no mapping or list inside in one line, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        """Whether a value that stands twice is written twice: always."""
        return True

    def text(self, text: str) -> yaml.Node:
        """PyYAML folds these line ends in all styles but one."""
        style = '"' if re.search("[\n\r\x85\u2028\u2029]", text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.text)


def yaml_of_catalog(catalog: SemanticCatalog) -> str:
    """Return the text of a catalog file; what is empty is left out, but for the names of types."""

    def shown(value: Any, name: str = "") -> Any:
        if not isinstance(value, dict):
            return value
        named = name in ("nodes", "relationships", "properties")
        return {key: shown(each, key) for key, each in value.items() if named or each or key == "accepted"}

    top = {"nodes": {}, "relationships": {}, **shown(asdict(catalog))}
    ordered = {key: top[key] for key in ("about", "fingerprint", "accepted", "nodes", "relationships") if key in top}
    text: str = yaml.dump(
        ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None
    )
    return text


def write_catalog(path: Path, catalog: SemanticCatalog) -> Path:
    """Write a catalog file atomically.

    :raises StorageError: when it cannot be written.
    """
    return write_file(path, yaml_of_catalog(catalog))


def accept(catalog: SemanticCatalog) -> SemanticCatalog:
    """Return the catalog as one that may be used. A person has read it; its texts are checked once more.

    :raises InvalidArgumentError: when a text of it must not stand in a prompt.
    """
    faults = [f"{place}: {fault}" for place, text in _texts(catalog) if (fault := text_fault(text))]
    if faults:
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        problem = f"{len(faults)} text(s) must not stand in a prompt: {'; '.join(faults[:3])}{more}"
        raise InvalidArgumentError(problem, subject="catalog", remedy="Correct them, and accept it again")
    return replace(catalog, accepted=True)


def accept_file(path: Path) -> SemanticCatalog:
    """Mark a catalog file as accepted. Nothing else of its text changes, so comments stay.

    :raises InvalidArgumentError: when the file has faults, or a text of it must not stand in a prompt.
    :raises StorageError: when it cannot be written.
    """
    accepted = accept(read_catalog(path))
    text, line = path.read_text(encoding="utf-8-sig"), "accepted: true"
    text, found = re.subn(r"^accepted:[ \t]*\w*", line, text, count=1, flags=re.MULTILINE)
    text = text if found else f"{line}\n{text}"
    try:
        same = catalog_of_yaml(text) == accepted
    except InvalidArgumentError:  # a file in braces, or one that begins with a directive
        same = False
    write_file(path, text if same else yaml_of_catalog(accepted))
    return accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFinding:
    """Something wrong with a catalog.

    :param severity: a catalog with an ``error`` is not accepted.
    :param place: ``BatteryModule.unitCost``; empty: the whole catalog.
    :param problem: one sentence without a full stop.
    """

    kind: Literal["unknown name", "text", "fingerprint", "no descriptor"]
    severity: Literal["error", "warning"]
    place: str
    problem: str


def check_catalog(catalog: SemanticCatalog, schema: GraphSchema) -> tuple[CatalogFinding, ...]:
    """Compare a catalog with the schema of its graph, and read its texts. Errors come first."""
    found = []
    for place, text in _texts(catalog):
        if fault := text_fault(text):
            found.append(CatalogFinding(kind="text", severity="error", place=place, problem=fault))
    found += _compared("node type", catalog.nodes, schema.nodes)
    found += _compared("relationship type", catalog.relationships, schema.relationships)
    if catalog.fingerprint != schema.fingerprint:
        problem = "the schema has changed since" if catalog.fingerprint else "it has no fingerprint"
        found.append(CatalogFinding(kind="fingerprint", severity="warning", place="", problem=problem))
    return tuple(sorted(found, key=lambda each: each.severity))


def _compared(what: str, described: Mapping[str, Any], known: Iterable[Any]) -> Iterator[CatalogFinding]:
    keys = {each.name: {key.name for key in each.properties} for each in known}
    for name, each in described.items():
        if name not in keys:
            problem = f"the graph has no such {what}"
            yield CatalogFinding(kind="unknown name", severity="error", place=name, problem=problem)
            continue
        for key in each.properties.keys() - keys[name]:
            problem = f"the {what} has no such property"
            yield CatalogFinding(kind="unknown name", severity="error", place=f"{name}.{key}", problem=problem)
    for name in keys:
        if name not in described:
            problem = f"the {what} has no descriptor"
            yield CatalogFinding(kind="no descriptor", severity="warning", place=name, problem=problem)


def _texts(catalog: SemanticCatalog) -> Iterator[tuple[str, str]]:
    """Yield every text of a catalog that a prompt may hold, names too, with its place."""
    yield "about", catalog.about
    described: list[tuple[str, Any]] = [*catalog.nodes.items(), *catalog.relationships.items()]
    for name, each in described:
        own = {key: value for key, value in asdict(each).items() if key != "properties"}
        yield from ((name, text) for text in (name, *_flat(list(own.values()))))
        for key, of in each.properties.items():
            yield from ((f"{name}.{key}", text) for text in (key, *_flat(list(asdict(of).values()))))


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    for each in value.items() if isinstance(value, Mapping) else value:
        yield from _flat(each)


def cleaned_text(text: str) -> str:
    """Return a text in one line, with blanks for control characters and without characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    spaced = "".join(" " if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") else each for each in text)
    return " ".join(without_hidden(spaced).split())


def shortened_text(text: str) -> str:
    """Return the first 200 characters of a text, cut at a word."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[: MOST_CHARACTERS - 1].rpartition(" ")[0].rstrip(" ,;:(") + "…"


def text_fault(text: str) -> str:
    """Return what is wrong with a text that prompts hold, as a clause with "it"; empty where nothing is."""
    if len(text) > MOST_CHARACTERS:
        return f"it has {len(text)} characters, more than {MOST_CHARACTERS}"
    hidden = any(run.severe for run in (*invisible_runs(text), *bidirectional_runs(text)))
    if hidden or any(unicodedata.category(each) in ("Cc", "Cs") for each in text):
        return f"it has control characters: {visible(text, 60)}"
    return ""


def catalog_for(schema: GraphSchema, own: Iterable[SemanticCatalog] = ()) -> SemanticCatalog:
    """Return the accepted catalog of a graph, narrowed to what the graph has; an empty one where there is none.

    Of the user's, then of the shipped ones: one with the fingerprint of the schema, else the one that describes most of its names, at
    least half or four fifths of them.
    """
    for catalogs, least in ((own, OWN_SHARE), (shipped_catalogs().values(), _SHIPPED_SHARE)):
        ranked = sorted(
            (each.fingerprint == schema.fingerprint, described_share(each, schema), at, each)
            for at, each in enumerate(catalogs)
            if each.accepted
        )
        if ranked and (ranked[-1][0] or ranked[-1][1] >= least):
            found = ranked[-1][-1]
            nodes, relationships = _kept(found.nodes, schema.nodes), _kept(found.relationships, schema.relationships)
            return replace(found, fingerprint=schema.fingerprint, nodes=nodes, relationships=relationships)
    return SemanticCatalog(fingerprint=schema.fingerprint)


def described_share(catalog: SemanticCatalog, schema: GraphSchema) -> float:
    """Return which share of a schema's types, and of the properties of its node types, a catalog describes; 0 of an empty schema."""
    names = [(node.name, key) for node in schema.nodes for key in ("", *(each.name for each in node.properties))]
    known = {(name, key) for name, node in catalog.nodes.items() for key in ("", *node.properties)}
    relationships = [each.name in catalog.relationships for each in schema.relationships]
    total = len(names) + len(relationships)
    return (sum(name in known for name in names) + sum(relationships)) / total if schema.nodes else 0.0


def _kept(described: Mapping[str, Any], owners: Iterable[Any]) -> dict[str, Any]:
    """The descriptors of what the schema has."""
    keys = {owner.name: {each.name for each in owner.properties} for owner in owners}
    return {
        name: replace(each, properties={key: of for key, of in each.properties.items() if key in keys[name]})
        for name, each in described.items()
        if name in keys
    }


@cache
def shipped_catalogs() -> dict[str, SemanticCatalog]:
    """Return the catalogs that are part of the product, by name of the file."""
    return {path.stem: read_catalog(path) for path in sorted((Path(__file__).parent / "catalogs").glob("*.yaml"))}


def read_glossary(path: Path) -> Mapping[str, str]:
    """Read a glossary of at most 1 MiB, YAML (``term: meaning``): canonical name of a term → meaning.

    :raises InvalidArgumentError: when the file has faults; the problem lists each.
    """
    if path.suffix.lower() == ".csv":
        problem, remedy = "glossaries are YAML files", "Write a line `term: meaning` for each row"
        raise InvalidArgumentError(problem, subject=str(path), remedy=remedy)
    faults, meanings = list[str](), dict[str, str]()
    try:
        found = _plain(compose_file(path))
        if not isinstance(found, dict):
            raise ValueError("the glossary must be a mapping")
        for term, meaning in found.items():
            name = canonical_name(term)
            if not isinstance(meaning, str) or not name or not meaning.strip():
                faults.append(f"{term!r}: a term or its meaning is empty, or no text")
            elif name in meanings:
                faults.append(f"the term {name!r} stands twice")
            else:
                meanings[name] = " ".join(meaning.split())
    except ValueError as error:
        faults.append(str(error))
    if faults:
        problem = f"{len(faults)} fault(s): {'; '.join(faults)}"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Correct these entries")
    return meanings
