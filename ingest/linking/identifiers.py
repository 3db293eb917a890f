"""Find which parameters identify which entity, with a confidence.
Evidence is the name (``purchase_order_id``), the position in an HTTP path (``/albums/{id}``), the format of the schema (``uuid``),
and the description ("ID of the customer").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from ingest.linking.tool_subjects import CanonicalNames, PathStep, Subject, canonical_names, path_steps, subject_of
from ingest.word_lists import word_groups, word_list
from ontology.names import identified_entity, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool

__all__ = [
    "CONTAINER_NAMES",
    "GENERIC_NAMES",
    "RESOURCE_NAME",
    "Identifier",
    "IdentifierReader",
    "named_collection",
    "split_identifier",
    "type_family",
    "type_fit",
]

RESOURCE_NAME = "resource name"
"""The field of an entity that is a path."""

_PLACE = r"(?:\[\^/\]\+|\{[^{}/]*\}|\[[A-Za-z_-]+\]|<[a-z_-]+>|\.\*|\*\*?)"
_IN_PATTERN = re.compile(rf"(?P<collection>[A-Za-z]\w*)/{_PLACE}\$?$")
_AFTER_FORMAT = re.compile(rf"[Ff]ormat(?: is)?(?: of)?:? *`?(?P<collection>[A-Za-z]\w*)/{_PLACE}(?![/\w])")
_IN_TEXT = re.compile(rf"(?<![\w/])(?:[A-Za-z]\w*/{_PLACE}/)+(?P<collection>[A-Za-z]\w*)/{_PLACE}(?!/?\w)")


@lru_cache(maxsize=50_000)
def named_collection(pattern: str, description: str) -> str:
    """Return the last collection of the path that a value is (``snapshots``), or empty where it is no such path."""
    if "/" in pattern:
        match = _IN_PATTERN.search(pattern)
        return match["collection"] if match else ""
    if "/" not in description:
        return ""
    found = {match["collection"] for rule in (_IN_TEXT, _AFTER_FORMAT) for match in rule.finditer(description)}
    return found.pop() if len(found) == 1 else ""


_FAMILY_OF = {name: family for family, names in word_groups("linking", "type_families").items() for name in names}


@lru_cache(maxsize=20_000)
def type_family(type_: str) -> str:
    """Return ``string``, ``integer``, ``number``, ``boolean``, ``array``, ``object``, ``time``, or empty for an unknown type."""
    text = type_.strip().lower()
    if not text:
        return "string"
    if text in _FAMILY_OF:
        return _FAMILY_OF[text]
    if text.endswith("[]"):
        return "array"
    head = re.split(r"[<\[(,| ]", text, maxsplit=1)[0].rsplit(".", 1)[-1]
    return _FAMILY_OF.get(head, "")


def type_fit(given: str, needed: str, *, identifier: bool) -> float:
    """Return the compatibility of a value's type with an input's type, in [0, 1]: 1 for the same family, 0 for incompatible."""
    one, other = type_family(given), type_family(needed)
    if not given or one == other:
        return 1.0 if one or not given or given.lower() == needed.lower() else 0.6
    pair = {one, other}
    if "boolean" in pair:
        return 0.0
    if pair <= {"string", "integer", "number"}:
        return 1.0 if identifier or pair == {"integer", "number"} else 0.7
    if "array" in pair or pair == {"string", "time"}:
        return 0.9
    return 0.5 if "object" in pair or "" in pair else 0.4


@dataclass(frozen=True, slots=True)
class Identifier:
    """The entity that a parameter identifies.

    :param entity: canonical name of the entity.
    :param field: which of its identifiers: ``id``, ``arn``, ``resource name`` (a path), ``code``, ``number``, ``key``, ``slug``, ``reference`` or ``name``.
    :param confidence: in [0, 1].
    :param evidence: its sources: ``name``, ``parent``, ``path``, ``format``, ``description``, ``tool``, or ``echo`` where
        a response repeats the ``id`` of the request.
    """

    entity: str
    field: str
    confidence: float
    evidence: tuple[str, ...]


_FIELD_OF = {word: field for field, words_ in word_groups("linking", "identifier_fields").items() for word in words_}
_NAME_CONFIDENCE = {"id": 0.9, "arn": 0.9, "code": 0.6, "number": 0.6, "key": 0.5, "reference": 0.5, "slug": 0.7}
_BARE = ("id", "arn")
_ROLES = word_list("linking", "roles")
_KEY_LIKE = word_list("linking", "key_like")
_NOT_KEYS = word_list("linking", "not_keys")
_NOT_ENTITIES = word_list("linking", "not_entities") | _NOT_KEYS
_PHRASE_ENDS = word_list("linking", "phrase_ends")
CONTAINER_NAMES = word_list("linking", "containers")
"""Names of objects in a response that only contain other objects."""
GENERIC_NAMES = word_list("linking", "generic")
"""Names that are too general to identify an entity or to link tools."""
_DESCRIBED = re.compile(
    r"\b(?:ids?|identifiers?|uuids?|guids?|keys?|codes?|numbers?|names?)\)?\s+(?:(?:number|string|value)\s+)?(?:of|for)\s+"
    r"(?:(?:the|an|a|this|each|your|our|one|specific|given)\s+)*(?P<entity>[a-z][a-z-]*(?:\s+[a-z][a-z-]*){0,3})",
)
_IS_ID = re.compile(r"^\s*(?:[\w-]+\s+){0,4}(?:id|ids|identifier|identifiers|uuid|guid)\b")
_LINKS = re.compile(r"\]\([^)]*\)|[\[\]`*_<>\"']")


class IdentifierReader:
    """Finds the identifiers of one tool. The tool's subject and path are parsed once for all parameters."""

    def __init__(self, tool: Tool, ontology: Ontology) -> None:
        self.tool = tool
        self.names: CanonicalNames = canonical_names(ontology)
        self.subject: Subject = subject_of(tool, ontology)
        self.steps: tuple[PathStep, ...] = path_steps(tool, self.names)
        self._lists = any("[]" in output.name for output in tool.returns)

    def identifier(self, parameter: Parameter) -> Identifier | None:
        """Return the entity that a parameter identifies, or None."""
        if parameter.enum or type_family(parameter.type) in ("boolean", "time", "object"):
            return None
        tokens = words(parameter.name.rsplit(".", 1)[-1])
        if not tokens or (type_family(parameter.type) == "number" and _FIELD_OF.get(tokens[-1]) != "id"):
            return None
        if collection := named_collection(parameter.pattern, parameter.description):
            return Identifier(self.names.canonical(collection), RESOURCE_NAME, 0.9, ("path",))
        if _is_bare(tokens):
            found = self._bare(parameter, _FIELD_OF.get(tokens[-1], "name"))
        else:
            found = self._by_name(parameter) or self._by_path(parameter, tokens) or self._by_document(parameter, tokens)
        return _with_format(found, parameter)

    def _by_name(self, parameter: Parameter) -> Identifier | None:
        """Identify by the name: ``purchase_order_id``."""
        entity, field = split_identifier(parameter.name, self.names)
        if not entity:
            return None
        confidence, evidence = _NAME_CONFIDENCE[field], ["name"]
        step = self._step(parameter)
        if step is not None:
            if entity.startswith(f"{step.collection} "):  # /subscriptions/{subscription_exposed_id}
                entity = step.collection
            agrees = step.collection == entity or entity in step.collection.split()
            confidence = _combined(confidence, 0.7 if agrees else 0.3)
            evidence.append("path")
        named = described(parameter.description, self.names)
        longer = next((one for one in (named, self._parent(parameter.name)) if _is_kind_of(one, entity)), "")
        entity = longer or entity  # GroupId: "the ID of the security group", SecurityGroups[].GroupId
        if named == entity:
            confidence = _combined(confidence, 0.5)
            evidence.append("description")
        return Identifier(entity, field, confidence, tuple(evidence))

    def _bare(self, parameter: Parameter, field: str) -> Identifier | None:
        """Identify a bare ``id`` by its path, its parent, its description or the tool's subject."""
        step = self._step(parameter)
        named = described(parameter.description, self.names)
        if step is not None and step.collection:
            agrees = named == step.collection
            evidence = ("path", "description") if agrees else ("path",)
            return Identifier(step.collection, field, 0.95 if agrees else 0.9, evidence)
        parent = self._parent(parameter.name)
        if parent:
            return Identifier(parent, field, 0.8, ("parent",))
        if named and "." not in parameter.name:
            return Identifier(named, field, 0.7, ("description",))
        echo = self._echo(parameter)
        if echo:
            return Identifier(echo, field, 0.6, ("echo",))
        if self.subject.entity:
            return Identifier(self.subject.entity, field, 0.6, ("tool",))
        return None

    def _by_path(self, parameter: Parameter, tokens: list[str]) -> Identifier | None:
        """Identify by the position in the path: ``/repos/{owner}/{repo}``, ``/users/{username}``, ``/pods/{name}``."""
        step = self._step(parameter)
        if step is None or tokens[-1] in _NOT_KEYS:
            return None
        name = self.names.join(tokens)
        if step.collection and step.collection == name:
            return Identifier(name, "id", 0.8, ("name", "path"))
        if step.collection and (name in _KEY_LIKE or (tokens[-1].endswith("name") and step.collection in tokens[0])):
            field = "name" if name.endswith("name") else "id"
            return Identifier(step.collection, field, 0.7, ("path",))
        return Identifier(name, "id", 0.45, ("path",))

    def _by_document(self, parameter: Parameter, tokens: list[str]) -> Identifier | None:
        """Identify by the description, the format or the tool's subject, when the name is no name of an identifier."""
        name = self.names.join(tokens)
        if tokens[-1] in _NOT_KEYS or name in GENERIC_NAMES or name in CONTAINER_NAMES:
            return None
        if "." in parameter.name and len(tokens) < 2:
            return None
        if _IS_ID.match(_without_links(parameter.description[:120])):
            return Identifier(name, "id", 0.7, ("description",))
        if parameter.format in ("uuid", "guid") or parameter.type.lower() in ("uuid", "guid", "edm.guid"):
            return Identifier(name, "id", 0.6, ("format",))
        if name == self.subject.entity and type_family(parameter.type) in ("string", "integer"):
            # A business key often has the name of its object: PurchaseOrder is the key of a purchase order.
            return Identifier(name, "id", 0.6, ("tool",))
        return None

    def _step(self, parameter: Parameter) -> PathStep | None:
        if parameter.location not in ("path", "") or not self.steps:
            return None
        return next((step for step in self.steps if step.placeholder and step.text == parameter.name), None)

    def _parent(self, name: str) -> str:
        """Return the entity of the innermost enclosing object that is no container, or empty."""
        for segment in reversed(name.replace("[]", "").split(".")[:-1]):
            parent = self.names.canonical(segment)
            if parent and parent not in CONTAINER_NAMES:
                return parent
        return ""

    def _echo(self, parameter: Parameter) -> str:
        """Return the entity whose id the response repeats, or empty: the movie for ``id`` of ``/movie/{movie_id}/keywords``."""
        if "." in parameter.name or not self._lists or len(self.steps) < 2:
            return ""
        last, before = self.steps[-1], self.steps[-2]
        return before.collection if before.placeholder and not last.placeholder else ""


def _is_kind_of(name: str, entity: str) -> bool:
    """Whether a name is that of a kind of an entity: security group of a group, but not attached policy of a policy."""
    first = name.split(" ", 1)[0]
    return name.endswith(f" {entity}") and first not in _ROLES and not first.endswith("ed")


def split_identifier(name: str, names: CanonicalNames) -> tuple[str, str]:
    """Return entity and field of an identifier's name: account, id for ``from_account_id``; both empty for another name."""
    tokens = [token for token in words(name.rsplit(".", 1)[-1]) if token not in ("in", "eq", "ne")]
    if "or" in tokens[2:]:  # issueIdOrKey
        tokens = tokens[: tokens.index("or", 2)]
    if "to" in tokens[1:-2]:  # MoveToVersionId
        tokens = tokens[tokens.index("to", 1) + 1 :]
    if len(tokens) == 1:
        tokens = _split_word(tokens[0])
    if len(tokens) < 2 or tokens[-1] not in _FIELD_OF:
        return "", ""
    field, entity = _FIELD_OF[tokens[-1]], tokens[:-1]
    if len(entity) > 1 and entity[-1] in _FIELD_OF:  # "order_id_number"
        entity = entity[:-1]
    while len(entity) > 1 and entity[0] in _ROLES:
        entity = entity[1:]
    if entity[-1] in _ROLES or (field != "id" and entity[-1] in _NOT_ENTITIES):
        return "", ""
    return names.join(entity), field


def described(description: str, names: CanonicalNames) -> str:
    """Return the entity in an identifier's description, or empty: customer for "The ID of the customer who owns it"."""
    match = _DESCRIBED.search(_without_links(description[:300]))
    if match is None:
        return ""
    phrase: list[str] = []
    for word in match["entity"].split():
        if word in _PHRASE_ENDS:
            break
        phrase.append(word)
    return names.join(words(" ".join(phrase))) if 0 < len(phrase) <= 3 else ""


@lru_cache(maxsize=50_000)
def _split_word(word: str) -> list[str]:
    entity = identified_entity(word)
    tail = next((tail for tail in ("ids", "id", "uuid", "guid") if word.endswith(tail)), "")
    return [entity, tail] if entity and tail else [word]


def _is_bare(tokens: list[str]) -> bool:
    return (
        all(_FIELD_OF.get(token) in _BARE or token in _ROLES for token in tokens) and _FIELD_OF.get(tokens[-1]) in _BARE
    )


def _without_links(text: str) -> str:
    return _LINKS.sub(" ", text).lower()


def _combined(first: float, second: float) -> float:
    """Return the confidence of two independent pieces of evidence: 1 - (1 - first)(1 - second)."""
    return round(1 - (1 - first) * (1 - second), 4)


def _with_format(found: Identifier | None, parameter: Parameter) -> Identifier | None:
    if found is None or "format" in found.evidence or parameter.format not in ("uuid", "guid"):
        return found
    return replace(found, confidence=_combined(found.confidence, 0.5), evidence=(*found.evidence, "format"))
