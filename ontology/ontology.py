"""The ontology: entity types, predicates and abbreviations of a tool graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ontology.errors import OntologyError
from ontology.files import SAFE_LOADER
from ontology.names import words

__all__ = ["EntityType", "Fault", "Ontology", "Predicate", "check_ontology", "load_ontology"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """A type of node. ``is_a`` is its supertype, or empty."""

    name: str
    description: str = ""
    is_a: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A type of edge.

    :param domain: allowed entity types of the head; their subtypes are allowed too.
    :param range: allowed entity types of the tail; their subtypes are allowed too.
    :param synonyms: phrases with the same meaning.
    :param metadata: metadata keys of a tool whose values are tails of this predicate.
    :param derived: egotools derives it between tools; an extractor must not use it.
    """

    name: str
    description: str = ""
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    derived: bool = False


@dataclass(frozen=True, kw_only=True)
class Ontology:
    """The types of a tool graph.

    :param fallback: the predicate for a phrase that maps to no other predicate.
    :param abbreviations: map from abbreviation to its full words, both in lower case.
    """

    name: str
    version: int = 1
    entity_types: Mapping[str, EntityType] = field(default_factory=dict)
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    fallback: str = "related_to"
    abbreviations: Mapping[str, str] = field(default_factory=dict)

    def is_a(self, entity_type: str, wider: str) -> bool:
        """Whether an entity type is ``wider`` or a subtype of it."""
        seen: set[str] = set()
        while entity_type and entity_type not in seen:
            if entity_type == wider:
                return True
            seen.add(entity_type)
            known = self.entity_types.get(entity_type)
            entity_type = known.is_a if known else ""
        return False

    def allows(self, head_type: str, predicate: str, tail_type: str) -> bool:
        """Whether an edge of the predicate may connect these entity types."""
        edge = (head_type, predicate, tail_type)
        if edge not in self._allowed:
            known = self.predicates.get(predicate)
            self._allowed[edge] = (
                known is not None
                and any(self.is_a(head_type, wider) for wider in known.domain)
                and any(self.is_a(tail_type, wider) for wider in known.range)
            )
        return self._allowed[edge]

    def predicate_for(self, phrase: str) -> str:
        """Return the predicate that has the phrase as its name or synonym, or an empty text."""
        return self._phrases.get(" ".join(words(phrase)), "")

    @cached_property
    def metadata_predicates(self) -> Mapping[str, str]:
        """Map from metadata key to predicate."""
        return {key: predicate.name for predicate in self.predicates.values() for key in predicate.metadata}

    @cached_property
    def _allowed(self) -> dict[tuple[str, str, str], bool]:
        """What :meth:`allows` has found out: there are few combinations, and a build asks millions of times."""
        return {}

    @cached_property
    def _phrases(self) -> Mapping[str, str]:
        phrases = {" ".join(words(synonym)): p.name for p in self.predicates.values() for synonym in p.synonyms}
        return phrases | {" ".join(words(name)): name for name in self.predicates}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole ontology, 64 hex digits."""
        content = (
            self.name,
            self.version,
            sorted((t.name, t.description, t.is_a) for t in self.entity_types.values()),
            sorted(
                (p.name, p.description, p.domain, p.range, p.synonyms, p.metadata, p.derived)
                for p in self.predicates.values()
            ),
            self.fallback,
            sorted(self.abbreviations.items()),
        )
        return hashlib.sha256(repr(content).encode()).hexdigest()


DEFAULT_ONTOLOGY = Path(__file__).with_name("default.yaml")
_REQUIRED_TYPES = ("tool", "parameter", "business_object", "capability", "value")
_REQUIRED_PREDICATES = ("has_entity", "has_parameter", "returns", "depends_on", "supplies", "resolved_by")
_TOP_KEYS = frozenset(("name", "version", "extends", "entity_types", "predicates", "fallback", "abbreviations"))
_TYPE_KEYS = frozenset(("description", "is_a"))
_PREDICATE_KEYS = frozenset(("description", "domain", "range", "synonyms", "metadata", "derived"))


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault of an ontology file; ``line`` counts from 1."""

    line: int
    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" + (f" ({self.remedy})" if self.remedy else "")


class CheckedOntology(NamedTuple):
    """An ontology without faults, or None and the faults of the file."""

    ontology: Ontology | None
    faults: list[Fault]


def load_ontology(path: Path | None = None) -> Ontology:
    """Parse an ontology file; without a path, the one that is part of egotools.

    :raises OntologyError: when the file has faults; the problem lists each with its line.
    """
    path = path or DEFAULT_ONTOLOGY
    ontology, faults = check_ontology(path)
    if ontology is None:
        listed = "; ".join(map(str, faults))
        raise OntologyError(f"{len(faults)} fault(s): {listed}", subject=str(path), remedy="Correct these lines")
    return ontology


def check_ontology(path: Path) -> CheckedOntology:
    """Parse an ontology file. The ontology is None when the file has faults; faults are sorted by line."""
    try:
        if path.exists() and not path.is_file():  # a pipe could be read without end
            return CheckedOntology(None, [Fault(1, "this is no file")])
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return CheckedOntology(None, [Fault(1, f"the file cannot be read: {error}")])
    # libyaml is ten times as fast, and a file of others may be so deep that its recursion ends the process.
    loader = SAFE_LOADER(text) if path == DEFAULT_ONTOLOGY else yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            return CheckedOntology(None, [Fault(1, "the file must be a mapping", "see ontology/default.yaml")])
        parser = _Parser(root)
        ontology = parser.ontology()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        return CheckedOntology(None, [Fault(line, f"invalid YAML: {error.problem}")])
    except RecursionError:
        return CheckedOntology(None, [Fault(1, "the file is nested too deeply")])
    except yaml.YAMLError as error:
        return CheckedOntology(None, [Fault(1, f"invalid YAML: {error}")])
    finally:
        loader.dispose()
    return CheckedOntology(None if parser.faults else ontology, sorted(parser.faults))


class _Parser:
    """Parser of the YAML nodes of one file. It uses nodes, not plain values, because a node has its line number."""

    def __init__(self, root: yaml.MappingNode) -> None:
        self.root = root
        self.faults: list[Fault] = []

    def ontology(self) -> Ontology:
        top = self._mapping(self.root, _TOP_KEYS, "ontology")
        base = self._base(top.get("extends"))
        types = {**(base.entity_types if base else {}), **dict(self._types(top.get("entity_types")))}
        predicates = {**(base.predicates if base else {}), **dict(self._predicates(top.get("predicates")))}
        abbreviations = {
            **(base.abbreviations if base else {}),
            **dict(self._abbreviations(top.get("abbreviations"))),
        }
        inherited = base.fallback if base else "related_to"
        ontology = Ontology(
            name=self._optional_text(top, "name"),
            version=self._number(top.get("version")),
            entity_types=types,
            predicates=predicates,
            fallback=self._text(top["fallback"]) if "fallback" in top else inherited,
            abbreviations=abbreviations,
        )
        if not ontology.name:
            self._fault(self.root, "the ontology has no name", "add the line `name: …`")
        self._check_references(ontology, top)
        return ontology

    def _check_references(self, ontology: Ontology, top: dict[str, Any]) -> None:
        for required in _REQUIRED_TYPES:
            if required not in ontology.entity_types:
                self._fault(
                    self.root,
                    f"the entity type {required!r} is missing",
                    "add it, or write `extends: default`",
                )
        for required in (*_REQUIRED_PREDICATES, ontology.fallback):
            if required not in ontology.predicates:
                self._fault(self.root, f"the predicate {required!r} is missing", "add it, or write `extends: default`")
        types_node, predicates_node = top.get("entity_types"), top.get("predicates")
        for name, node in self._entries(types_node):
            wider = ontology.entity_types[name].is_a if name in ontology.entity_types else ""
            if wider and wider not in ontology.entity_types:
                self._fault(node, f"{name!r} is_a {wider!r}, which is not an entity type")
            if wider and ontology.is_a(wider, name):
                self._fault(node, f"{name!r} is_a itself by way of {wider!r}")
        self._check_predicates(ontology, predicates_node)

    def _check_predicates(self, ontology: Ontology, node: Any) -> None:
        synonyms: dict[str, str] = {}
        keys: dict[str, str] = {}
        for name, entry in self._entries(node):
            predicate = ontology.predicates.get(name)
            if predicate is None:
                continue
            for end, types in (("domain", predicate.domain), ("range", predicate.range)):
                for unknown in [one for one in types if one not in ontology.entity_types]:
                    known = ", ".join(sorted(ontology.entity_types))
                    self._fault(
                        entry,
                        f"the {end} of {name!r} names {unknown!r}, which is not an entity type",
                        f"known: {known}",
                    )
            for synonym in predicate.synonyms:
                if synonyms.setdefault(synonym.lower(), name) != name:
                    self._fault(entry, f"{synonym!r} is a synonym of both {synonyms[synonym.lower()]!r} and {name!r}")
            for key in predicate.metadata:
                if keys.setdefault(key, name) != name:
                    self._fault(entry, f"the metadata key {key!r} maps to both {keys[key]!r} and {name!r}")

    def _base(self, node: Any) -> Ontology | None:
        if node is None:
            return None
        if self._text(node) != "default":
            self._fault(node, f"extends {self._text(node)!r} is not known", "the only base is `default`")
            return None
        return load_ontology()

    def _types(self, node: Any) -> Iterator[tuple[str, EntityType]]:
        for name, entry in self._entries(node):
            values = self._mapping(entry, _TYPE_KEYS, f"entity type {name!r}")
            description, is_a = self._optional_text(values, "description"), self._optional_text(values, "is_a")
            yield name, EntityType(name=name, description=description, is_a=is_a)

    def _predicates(self, node: Any) -> Iterator[tuple[str, Predicate]]:
        for name, entry in self._entries(node):
            values = self._mapping(entry, _PREDICATE_KEYS, f"predicate {name!r}")
            domain, range_ = self._texts(values.get("domain")), self._texts(values.get("range"))
            for end, types in (("domain", domain), ("range", range_)):
                if not types:
                    self._fault(entry, f"predicate {name!r} has no {end}", f"add `{end}: [type, …]`")
            yield (
                name,
                Predicate(
                    name=name,
                    description=self._optional_text(values, "description"),
                    domain=domain,
                    range=range_,
                    synonyms=self._texts(values.get("synonyms")),
                    metadata=self._texts(values.get("metadata")),
                    derived=self._optional_text(values, "derived") == "true",
                ),
            )

    def _abbreviations(self, node: Any) -> Iterator[tuple[str, str]]:
        for name, entry in self._entries(node):
            meaning = self._text(entry).lower()
            if not meaning:
                self._fault(entry, f"the abbreviation {name!r} has no expansion", "write the words that it abbreviates")
            yield name.lower(), meaning

    def _entries(self, node: Any) -> Iterator[tuple[str, yaml.Node]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield str(key.value), value

    def _mapping(self, node: Any, allowed: frozenset[str], what: str) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            self._fault(node, f"{what} must be a mapping")
            return {}
        values: dict[str, Any] = {}
        for key, value in node.value:
            if str(key.value) not in allowed:
                self._fault(key, f"{what} has an unknown key {key.value!r}", f"known: {', '.join(sorted(allowed))}")
            if str(key.value) in values:
                self._fault(key, f"{what} has the key {key.value!r} twice")
            values[str(key.value)] = value
        for name in ("entity_types", "predicates", "abbreviations"):
            if what == "ontology" and name in values:
                self._unique(values[name], name)
        return values

    def _unique(self, node: Any, what: str) -> None:
        if not isinstance(node, yaml.MappingNode):
            self._fault(node, f"{what} must be a mapping")
            return
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                self._fault(key, f"{what} has {key.value!r} twice")
            seen.add(str(key.value))

    def _texts(self, node: Any) -> tuple[str, ...]:
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            self._fault(node, "expected a list", "write [one, two]")
            return ()
        return tuple(self._text(item) for item in node.value)

    def _text(self, node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._fault(node, "expected a text")
            return ""
        return str(node.value)

    def _optional_text(self, values: dict[str, Any], key: str) -> str:
        return self._text(values[key]) if key in values else ""

    def _number(self, node: Any) -> int:
        if node is None:
            return 1
        text = self._text(node)
        if not text.isdigit():
            self._fault(node, f"version must be a whole number, not {text!r}")
            return 1
        return int(text)

    def _fault(self, node: Any, problem: str, remedy: str = "") -> None:
        line = node.start_mark.line + 1 if isinstance(node, yaml.Node) else 1
        self.faults.append(Fault(line, problem, remedy))
