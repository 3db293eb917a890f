"""What a parameter holds: the family of its type, the kinds of value, and the entity that it identifies.

Evidence for an entity is the name (``purchase_order_id``), the position in an HTTP path (``/albums/{id}``), the format of the schema
(``uuid``), and the description ("ID of the customer").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from ingest.linking.subjects import CanonicalNames, PathStep, Subject, canonical_names, path_steps, subject_of
from ingest.word_lists import word_groups, word_list, word_rows
from ontology.names import identified_entity, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool
from ontology.value_shape import kind_of_value

_FAMILY_OF = {name: family for family, names in word_groups("linking", "type_families").items() for name in names}


@lru_cache(maxsize=20_000)
def type_family(type_: str) -> str:
    """Return ``string``, ``integer``, ``number``, ``boolean``, ``array``, ``object``, ``time``, or empty for an unknown type."""
    text = type_.strip().lower()
    if not text or text in _FAMILY_OF:
        return _FAMILY_OF.get(text, "string")
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


Kinds = frozenset[str]  # the kinds that a value may have; empty where the document does not tell
_SURE = word_list("linking", "sure_kinds")
_OPEN = word_list("linking", "open_kinds")
_OF_FORMAT = {word: kind for kind, row in word_groups("linking", "kind_formats").items() for word in row}
_OF_WORD = {word: kind for kind, row in word_groups("linking", "kind_words").items() for word in row}
_OF_PHRASE = {"email address": "email", "mail address": "email"} | {
    f"{word} number": "phone" for word in ("phone", "telephone", "mobile", "fax")
}
_ARTICLES = r"^(?:\W|required|optional|output only|immutable|the|an?|this|its|your|unique|list of|\[output only\])*"
_DESCRIBED_AS = [
    (kind, re.compile(_ARTICLES + pattern))
    for kind, _, pattern in (row.partition(" ") for row in word_rows("linking", "kinds_described"))
]
_OR_KIND = re.compile(
    r"^[^.,;:]{0,60}?\bor (?:the |an? |full |its )*(?P<kind>amazon resource name|arn|id|name|url|uuid|key|email)\b"
)
# Kinds of an example in which the kind is sure, and integers.
_OF_EXAMPLE = {kind: kind for kind in ("uuid", "arn", "email", "phone", "url", "date", "integer", "currency")} | {
    "date-time": "date"
}
_WEAK = 0.3


def kinds_of(parameter: Parameter) -> Kinds:
    """Return the kinds of value that a parameter may hold."""
    name, described = parameter.name.rsplit(".", 1)[-1], read_description(parameter.description).kinds
    return _kinds(name, parameter.type, parameter.format, parameter.example, described)


@lru_cache(maxsize=100_000)
def _kinds(name: str, type_: str, format_: str, example: str, described: tuple[str, ...]) -> Kinds:
    found = {_OF_FORMAT[text] for text in (format_.lower(), type_.lower()) if text in _OF_FORMAT}
    shown = _OF_EXAMPLE.get(kind_of_value(example), "")
    if shown and not (shown == "integer" and type_.lower() == "string"):
        found.add(shown)
    tail = words(name)[-2:]
    kind = _OF_PHRASE.get(" ".join(tail)) or _OF_WORD.get(tail[-1] if tail else "")
    named, stated = {kind} if kind else set(), set(described)
    # A description is more exact than a name: "FunctionName: the name or ARN of the function".
    if stated and (not named or named & stated or not named & _SURE):
        return frozenset(found | stated | (named if named & _OPEN or stated & named else set()))
    return frozenset(found | named)


def agreement(given: Kinds, needed: Kinds) -> float:
    """Return how well two values agree in kind, in [0, 1]: 0 where they cannot be the same value."""
    if not given or not needed or given & needed:
        return 1.0
    one, other = given & _SURE, needed & _SURE
    if one or other:
        rest = needed if one else given
        return 1.0 if not (one and other) and "uuid" in one | other and rest & _OPEN else 0.0
    plain = _OPEN | {"integer"}
    return 1.0 if given & plain and needed & plain else _WEAK


RESOURCE_NAME = "resource name"  # the field of an entity that is a path
_PLACE = r"(?:\[\^/\]\+|\{[^{}/]*\}|\[[A-Za-z_-]+\]|<[a-z_-]+>|\.\*|\*\*?)"
_IN_PATTERN = re.compile(rf"(?<!\w)[^\WA-Za-z]*+(?P<collection>[A-Za-z]\w*+)/{_PLACE}\$?$")  # linear: each word once
_AFTER_FORMAT = re.compile(rf"\b[Ff]ormat(?: is)?(?: of)?:? *`?(?P<collection>[A-Za-z]\w*)/{_PLACE}(?![/\w])")
_IN_TEXT = re.compile(rf"(?<![\w/])(?:[A-Za-z]\w*/{_PLACE}/)+(?P<collection>[A-Za-z]\w*)/{_PLACE}(?!/?\w)")


@dataclass(frozen=True, slots=True)
class Identifier:
    """The entity that a parameter identifies."""

    entity: str  # canonical name of the entity
    # which of its identifiers: ``id``, ``arn``, ``resource name`` (a path), ``code``, ``number``, ``key``, ``slug``,
    # ``reference`` or ``name``
    field: str
    confidence: float  # in [0, 1]
    # its sources: ``name``, ``parent``, ``path``, ``format``, ``description``, ``tool``, or ``echo`` where a response
    # repeats the ``id`` of the request
    evidence: tuple[str, ...]


_FIELD_OF = {word: field for field, words_ in word_groups("linking", "identifier_fields").items() for word in words_}
_NAME_CONFIDENCE = {"id": 0.9, "arn": 0.9, "code": 0.6, "number": 0.6, "key": 0.5, "reference": 0.5, "slug": 0.7}
_BARE = ("id", "arn")
_ROLES = word_list("linking", "roles")
_KEY_LIKE = word_list("linking", "key_like")
_NOT_KEYS = word_list("linking", "not_keys")
_NOT_ENTITIES = word_list("linking", "not_entities") | _NOT_KEYS
_PHRASE_ENDS = word_list("linking", "phrase_ends")
CONTAINER_NAMES = word_list("linking", "containers")  # names of objects in a response that only contain other objects
GENERIC_NAMES = word_list("linking", "generic")  # names that are too general to identify an entity or to link tools
_DESCRIBED = re.compile(
    r"\b(?:ids?|identifiers?|uuids?|guids?|keys?|codes?|numbers?|names?)\)?\s+(?:(?:number|string|value)\s+)?(?:of|for)\s+"
    r"(?:(?:the|an|a|this|each|your|our|one|specific|given)\s+)*(?P<entity>[a-z][a-z-]*(?:\s+[a-z][a-z-]*){0,3})"
)
_IS_ID = re.compile(r"^\s*(?:[\w-]+\s+){0,4}(?:id|ids|identifier|identifiers|uuid|guid)\b")
_LINKS = re.compile(r"\]\([^)]*\)|[\[\]`*_<>\"']")


class DescriptionFacts(NamedTuple):
    """What is read in the description of an input or an output: links depend on nothing else in it, shapes of values beside.

    :param kinds: the kinds of value that it names, sorted.
    :param collection: the last collection of the path that a value is (``snapshots``), or empty.
    :param entity: what it is an identifier of: "customer" for "The ID of the customer who owns it"; or empty.
    :param is_id: whether it begins as that of an identifier does.
    :param is_required: whether it says so first, as in Google's discovery documents.
    :param is_address: whether it speaks of the address of something.
    """

    kinds: tuple[str, ...]
    collection: str
    entity: str
    is_id: bool
    is_required: bool
    is_address: bool


@lru_cache(maxsize=100_000)
def read_description(description: str) -> DescriptionFacts:
    """Return what is read in a description."""
    start = description[:160].lower()
    kinds = {kind for kind, pattern in _DESCRIBED_AS if pattern.match(start)}
    if kinds and (also := _OR_KIND.match(start)):
        kinds.add("arn" if also["kind"] == "amazon resource name" else also["kind"])
    rules = (_IN_TEXT, _AFTER_FORMAT) if "/" in description else ()
    collections = {match["collection"] for rule in rules for match in rule.finditer(description)}
    match = _DESCRIBED.search(_plain(description[:300]))
    phrase: Sequence[str] = match["entity"].split() if match else ()
    end = next((i for i, word in enumerate(phrase) if word in _PHRASE_ENDS), len(phrase))
    return DescriptionFacts(
        kinds=tuple(sorted(kinds)),
        collection=collections.pop() if len(collections) == 1 else "",
        entity=" ".join(phrase[:end]) if end <= 3 else "",
        is_id=_IS_ID.match(_plain(description[:120])) is not None,
        is_required=description.startswith(("Required.", "Required:")),
        is_address="address of" in description.lower(),
    )


def _plain(text: str) -> str:
    return _LINKS.sub(" ", text).lower()


class IdentifierReader:
    """Finds the identifiers of one tool; its subject and its path are read once for all parameters."""

    def __init__(self, tool: Tool, ontology: Ontology) -> None:
        self.tool = tool
        self.names: CanonicalNames = canonical_names(ontology)
        self.steps: tuple[PathStep, ...] = path_steps(tool, self.names)
        self.subject: Subject = subject_of(tool, self.steps, self.names)
        self._lists = any("[]" in output.name for output in tool.returns)

    def identifier(self, parameter: Parameter) -> Identifier | None:
        """Return the entity that a parameter identifies, or None."""
        family = type_family(parameter.type)
        tokens = words(parameter.name.rsplit(".", 1)[-1])
        if not tokens or parameter.enum or family in ("boolean", "time", "object"):
            return None
        if family == "number" and _FIELD_OF.get(tokens[-1]) != "id":
            return None
        collection = read_description(parameter.description).collection
        if "/" in parameter.pattern:
            match = _IN_PATTERN.search(parameter.pattern)
            collection = match["collection"] if match else ""
        if collection:
            return Identifier(self.names.canonical(collection), RESOURCE_NAME, 0.9, ("path",))
        fields = [_FIELD_OF.get(token) for token in tokens]
        if fields[-1] in _BARE and all(f in _BARE or token in _ROLES for f, token in zip(fields, tokens, strict=True)):
            found = self._bare(parameter, fields[-1])
        else:
            found = self._by_name(parameter) or self._by_path(parameter, tokens) or self._by_document(parameter, tokens)
        if found is None or "format" in found.evidence or parameter.format not in ("uuid", "guid"):
            return found
        return replace(found, confidence=_combined(found.confidence, 0.5), evidence=(*found.evidence, "format"))

    def step(self, parameter: Parameter) -> PathStep | None:
        """Return the placeholder of an input in the path, or None."""
        if parameter.location not in ("path", ""):
            return None
        return next((step for step in self.steps if step.placeholder and step.text == parameter.name), None)

    def _by_name(self, parameter: Parameter) -> Identifier | None:
        entity, field = split_identifier(parameter.name, self.names)
        if not entity:
            return None
        confidence, evidence = _NAME_CONFIDENCE[field], ["name"]
        step = self.step(parameter)
        if step is not None:
            if entity.startswith(f"{step.collection} "):  # /subscriptions/{subscription_exposed_id}
                entity = step.collection
            agrees = step.collection == entity or entity in step.collection.split()
            confidence = _combined(confidence, 0.7 if agrees else 0.3)
            evidence.append("path")
        named = self.names.canonical(read_description(parameter.description).entity)
        # GroupId: "the ID of the security group", SecurityGroups[].GroupId
        parent = innermost(parameter.name.rpartition(".")[0], self.names)
        for kind in (named, parent):
            first = kind.split(" ", 1)[0]  # security group of a group, but not attached policy of a policy
            if kind.endswith(f" {entity}") and first not in _ROLES and not first.endswith("ed"):
                entity = kind
                break
        if named == entity:
            confidence = _combined(confidence, 0.5)
            evidence.append("description")
        return Identifier(entity, field, confidence, tuple(evidence))

    def _bare(self, parameter: Parameter, field: str) -> Identifier | None:
        """Identify a bare ``id`` by its path, its parent, its description or the tool's subject."""
        step = self.step(parameter)
        named = self.names.canonical(read_description(parameter.description).entity)
        if step is not None and step.collection:
            agrees = named == step.collection
            evidence = ("path", "description") if agrees else ("path",)
            return Identifier(step.collection, field, 0.95 if agrees else 0.9, evidence)
        if parent := innermost(parameter.name.rpartition(".")[0], self.names):
            return Identifier(parent, field, 0.8, ("parent",))
        outermost = "." not in parameter.name
        if named and outermost:
            return Identifier(named, field, 0.7, ("description",))
        last = self.steps[-2:]
        if outermost and self._lists and len(last) == 2 and last[0].placeholder and not last[1].placeholder:
            if last[0].collection:  # the movie for ``id`` of ``/movie/{movie_id}/keywords``
                return Identifier(last[0].collection, field, 0.6, ("echo",))
        return Identifier(self.subject.entity, field, 0.6, ("tool",)) if self.subject.entity else None

    def _by_path(self, parameter: Parameter, tokens: list[str]) -> Identifier | None:
        """Identify by the position in the path: ``/repos/{owner}/{repo}``, ``/users/{username}``, ``/pods/{name}``."""
        step = self.step(parameter)
        if step is None or tokens[-1] in _NOT_KEYS:
            return None
        name = self.names.join(tokens)
        if step.collection and step.collection == name:
            return Identifier(name, "id", 0.8, ("name", "path"))
        if step.collection and (name in _KEY_LIKE or (tokens[-1].endswith("name") and step.collection in tokens[0])):
            return Identifier(step.collection, "name" if name.endswith("name") else "id", 0.7, ("path",))
        return Identifier(name, "id", 0.45, ("path",))

    def _by_document(self, parameter: Parameter, tokens: list[str]) -> Identifier | None:
        """Identify by the description or the tool's subject, when the name is no name of an identifier."""
        name = self.names.join(tokens)
        if tokens[-1] in _NOT_KEYS or name in GENERIC_NAMES or name in CONTAINER_NAMES:
            return None
        if "." in parameter.name and len(tokens) < 2:
            return None
        if read_description(parameter.description).is_id:
            return Identifier(name, "id", 0.7, ("description",))
        if name == self.subject.entity and type_family(parameter.type) in ("string", "integer"):
            # A business key often has the name of its object: PurchaseOrder is the key of a purchase order.
            return Identifier(name, "id", 0.6, ("tool",))
        return None


def innermost(prefix: str, names: CanonicalNames) -> str:
    """Return the innermost name of a place in an object that is no container (``data[].customer``), or empty."""
    found = (names.canonical(segment) for segment in reversed(prefix.replace("[]", "").split(".")))
    return next((name for name in found if name and name not in CONTAINER_NAMES), "")


def head_noun(entity: str) -> str:
    """Return the last word of an entity's name."""
    return entity.rsplit(" ", 1)[-1]


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


@lru_cache(maxsize=50_000)
def _split_word(word: str) -> list[str]:
    entity = identified_entity(word)
    tail = next((tail for tail in ("ids", "id", "uuid", "guid") if word.endswith(tail)), "")
    return [entity, tail] if entity and tail else [word]


def _combined(first: float, second: float) -> float:
    """Return the confidence of two independent pieces of evidence: 1 - (1 - first)(1 - second)."""
    return round(1 - (1 - first) * (1 - second), 4)
