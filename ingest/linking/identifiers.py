"""Identifiers: which parameters identify which entity, and how sure that is.

Four kinds of evidence: the name (``purchase_order_id``), the position in an HTTP path (``/albums/{id}``), the format of
the schema (``uuid``), and the description ("ID of the customer").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ingest.linking.tool_subjects import CanonicalNames, PathStep, Subject, canonical_names, path_steps, subject_of
from ontology.names import words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool

__all__ = [
    "CONTAINER_NAMES",
    "GENERIC_NAMES",
    "Identifier",
    "IdentifierReader",
    "identifier_of",
    "split_identifier",
    "type_family",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """What a parameter identifies.

    :param entity: canonical name of the entity.
    :param field: which of its identifiers: ``id``, ``code``, ``number``, ``key``, ``slug``, ``reference`` or ``name``.
    :param confidence: in [0, 1].
    :param evidence: what it was concluded from: ``name``, ``parent``, ``path``, ``format``, ``description``, ``tool``,
        or ``echo`` where an answer repeats the ``id`` it was asked with.
    """

    entity: str
    field: str
    confidence: float
    evidence: tuple[str, ...]


_FIELDS = {
    **dict.fromkeys("id ids identifier identifiers uuid uuids guid guids no num nr iban arn".split(), "id"),
    **dict.fromkeys(("code", "codes"), "code"),
    **dict.fromkeys(("number", "numbers"), "number"),
    **dict.fromkeys(("key", "keys"), "key"),
    **dict.fromkeys(("ref", "reference"), "reference"),
    "slug": "slug",
}
_NAME_CONFIDENCE = {"id": 0.9, "code": 0.6, "number": 0.6, "key": 0.5, "reference": 0.5, "slug": 0.7}
# "phone number" is a number, not the identifier of a phone; "api key" opens a door.
_NOT_ENTITIES = frozenset(
    "page phone telephone mobile fax api access secret public private zip postal post error response verification "
    "confirmation security pin otp promo coupon qr bar color status http exit serial version line house street flat "
    "sort partition encryption primary foreign foreign total max min maximum minimum random sequence".split()
)
_ROLES = frozenset(
    "from to source target parent child origin destination new old original current first second my selected other "
    "default primary related associated main previous next initial final desired requested given specified this "
    "list all include exclude excluded included with without start end unique".split()
)
CONTAINER_NAMES = frozenset(
    "result item data entry list record response value object element content node edge payload body output row hit "
    "page embedded d metadata attribute property meta resource info detail collection set array resultset".split()
)
GENERIC_NAMES = frozenset(
    "id name status page limit offset size type count total date time message result data success error value format "
    "language text description title content code number key input output response detail info information order sort "
    "filter query q search keyword term url link domain path state mode unit amount price currency category note "
    "comment label tag start end from to year month day location city country address version field option setting "
    "config file action email password username authorization token parameter api endpoint request body host header "
    "content type symbol".split()
)
"""Names that say nothing of what they hold: alone they identify and link nothing, however rare they are."""
_KEY_LIKE = frozenset("name username login handle slug title code number key symbol".split())
_NOT_KEYS = frozenset(
    "type format language lang date year month day time window status version page limit offset size count mode kind "
    "order sort direction locale currency unit scope category level action state range period width height ext "
    "extension latitude longitude lat lon lng".split()
)
_DESCRIBED = re.compile(
    r"\b(?:ids?|identifiers?|uuids?|guids?|keys?|codes?|numbers?|names?)\)?\s+(?:(?:number|string|value)\s+)?(?:of|for)\s+"
    r"(?:(?:the|an|a|this|each|your|our|one|specific|given)\s+)*(?P<entity>[a-z][a-z-]*(?:\s+[a-z][a-z-]*){0,3})",
)
_SAID_ID = re.compile(r"^\s*(?:[\w-]+\s+){0,4}(?:id|ids|identifier|identifiers|uuid|guid)\b")
_LINKS = re.compile(r"\]\([^)]*\)|[\[\]`*_<>\"']")
_PHRASE_ENDS = frozenset(
    "to who whose that which where when in on at by with from for of and or is are was will as being be you if it its "
    "has have used using returned associated belonging containing not can must should may this the a an into within "
    "against under whom you'd want need object resource instance record entity being".split()
)
_FAMILIES = {
    "string": "string str text varchar char char255 nvarchar edm.string uuid guid edm.guid uri url email",
    "integer": "integer int int16 int32 int64 long short byte edm.int16 edm.int32 edm.int64 edm.byte bigint",
    "number": "number float double decimal edm.decimal edm.double edm.single numeric",
    "boolean": "boolean bool edm.boolean",
    "array": "array list tuple set sequence iterable",
    "object": "object dict map json any mapping struct structure record",
    "time": "date datetime time timestamp edm.datetime edm.datetimeoffset edm.time edm.date edm.timeofday date-time",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}


@lru_cache(maxsize=20_000)
def type_family(type_: str) -> str:
    """``string``, ``integer``, ``number``, ``boolean``, ``array``, ``object``, ``time``, or empty for a type of the source's own."""
    text = type_.strip().lower()
    if not text:
        return "string"
    if text in _FAMILY_OF:
        return _FAMILY_OF[text]
    if text.endswith("[]"):
        return "array"
    head = re.split(r"[<\[(,| ]", text, maxsplit=1)[0].rsplit(".", 1)[-1]
    return _FAMILY_OF.get(head, "")


def identifier_of(tool: Tool, parameter: Parameter, ontology: Ontology) -> Identifier | None:
    """What the input or output ``parameter`` of ``tool`` identifies, or None when it identifies nothing."""
    return IdentifierReader(tool, ontology).identifier(parameter)


class IdentifierReader:
    """Reads the identifiers of one tool: what all its parameters share is looked up once."""

    def __init__(self, tool: Tool, ontology: Ontology) -> None:
        self.tool = tool
        self.names: CanonicalNames = canonical_names(ontology)
        self.subject: Subject = subject_of(tool, ontology)
        self.steps: tuple[PathStep, ...] = path_steps(tool, self.names)
        self._lists = any("[]" in output.name for output in tool.returns)

    def identifier(self, parameter: Parameter) -> Identifier | None:
        """What ``parameter`` identifies, or None."""
        if parameter.enum or type_family(parameter.type) in ("boolean", "time", "object"):
            return None
        tokens = words(parameter.name.rsplit(".", 1)[-1])
        if not tokens or (type_family(parameter.type) == "number" and _FIELDS.get(tokens[-1]) != "id"):
            return None
        if _is_bare(tokens):
            found = self._bare(parameter, _FIELDS.get(tokens[-1], "name"))
        else:
            found = self._named(parameter, tokens) or self._placed(parameter, tokens) or self._plain(parameter, tokens)
        return _with_format(found, parameter)

    def _named(self, parameter: Parameter, tokens: list[str]) -> Identifier | None:
        """The name says it: ``purchase_order_id``."""
        entity, field = split_identifier(parameter.name, self.names)
        if not entity:
            return None
        confidence, evidence = _NAME_CONFIDENCE[field], ["name"]
        step = self._step(parameter)
        if step is not None:
            agrees = step.collection == entity or entity in step.collection.split()
            confidence = _both(confidence, 0.7 if agrees else 0.3)
            evidence.append("path")
        if described(parameter.description, self.names) == entity:
            confidence = _both(confidence, 0.5)
            evidence.append("description")
        return Identifier(entity=entity, field=field, confidence=confidence, evidence=tuple(evidence))

    def _bare(self, parameter: Parameter, field: str) -> Identifier | None:
        """A bare ``id``: what stands around it says whose it is."""
        step = self._step(parameter)
        said = described(parameter.description, self.names)
        if step is not None and step.collection:
            agrees = said == step.collection
            evidence = ("path", "description") if agrees else ("path",)
            return Identifier(
                entity=step.collection, field=field, confidence=0.95 if agrees else 0.9, evidence=evidence
            )
        parent = self._parent(parameter.name)
        if parent:
            return Identifier(entity=parent, field=field, confidence=0.8, evidence=("parent",))
        if said and "." not in parameter.name:
            return Identifier(entity=said, field=field, confidence=0.7, evidence=("description",))
        echo = self._echo(parameter)
        if echo:
            return Identifier(entity=echo, field=field, confidence=0.6, evidence=("echo",))
        if self.subject.entity:
            return Identifier(entity=self.subject.entity, field=field, confidence=0.6, evidence=("tool",))
        return None

    def _placed(self, parameter: Parameter, tokens: list[str]) -> Identifier | None:
        """Its place in the path says it: ``/repos/{owner}/{repo}``, ``/users/{username}``, ``/pods/{name}``."""
        step = self._step(parameter)
        if step is None or tokens[-1] in _NOT_KEYS:
            return None
        name = self.names.join(tokens)
        if step.collection and step.collection == name:
            return Identifier(entity=name, field="id", confidence=0.8, evidence=("name", "path"))
        if step.collection and (name in _KEY_LIKE or (tokens[-1].endswith("name") and step.collection in tokens[0])):
            field = "name" if name.endswith("name") else "id"
            return Identifier(entity=step.collection, field=field, confidence=0.7, evidence=("path",))
        return Identifier(entity=name, field="id", confidence=0.45, evidence=("path",))

    def _plain(self, parameter: Parameter, tokens: list[str]) -> Identifier | None:
        """No word for an identifier in the name: the description, the format or the tool's own subject may tell."""
        name = self.names.join(tokens)
        if tokens[-1] in _NOT_KEYS or name in GENERIC_NAMES or name in CONTAINER_NAMES or "." in parameter.name:
            return None
        if _SAID_ID.match(_plainly(parameter.description[:120])):
            return Identifier(entity=name, field="id", confidence=0.6, evidence=("description",))
        if parameter.format in ("uuid", "guid") or parameter.type.lower() in ("uuid", "guid", "edm.guid"):
            return Identifier(entity=name, field="id", confidence=0.6, evidence=("format",))
        if (
            name == self.subject.entity
            and type_family(parameter.type) in ("string", "integer")
            and "." not in parameter.name
        ):
            # A business key is often called as the object itself: PurchaseOrder of a purchase order.
            return Identifier(entity=name, field="id", confidence=0.6, evidence=("tool",))
        return None

    def _step(self, parameter: Parameter) -> PathStep | None:
        if parameter.location not in ("path", "") or not self.steps:
            return None
        return next((step for step in self.steps if step.placeholder and step.text == parameter.name), None)

    def _parent(self, name: str) -> str:
        """The entity of the nearest enclosing object whose name is more than a container."""
        for segment in reversed(name.replace("[]", "").split(".")[:-1]):
            parent = self.names.canonical(segment)
            if parent and parent not in CONTAINER_NAMES:
                return parent
        return ""

    def _echo(self, parameter: Parameter) -> str:
        """``id`` beside lists in ``/movie/{movie_id}/keywords`` repeats the movie's."""
        if "." in parameter.name or not self._lists or len(self.steps) < 2:
            return ""
        last, before = self.steps[-1], self.steps[-2]
        return before.collection if before.placeholder and not last.placeholder else ""


def split_identifier(name: str, names: CanonicalNames) -> tuple[str, str]:
    """The entity and the field that an identifier's name says: ``from_account_id`` → account, id; empty when it says none."""
    tokens = [token for token in words(name.rsplit(".", 1)[-1]) if token not in ("in", "eq", "ne")]
    if len(tokens) == 1:
        tokens = _unglue(tokens[0])
    if len(tokens) < 2 or tokens[-1] not in _FIELDS:
        return "", ""
    field, entity = _FIELDS[tokens[-1]], tokens[:-1]
    if len(entity) > 1 and entity[-1] in _FIELDS:  # "order_id_number"
        entity = entity[:-1]
    while len(entity) > 1 and entity[0] in _ROLES:
        entity = entity[1:]
    if entity[-1] in _ROLES or (field != "id" and entity[-1] in _NOT_ENTITIES | _NOT_KEYS):
        return "", ""
    return names.join(entity), field


def described(description: str, names: CanonicalNames) -> str:
    """The entity that a description says an identifier is of: "The ID of the customer who owns it" → customer."""
    match = _DESCRIBED.search(_plainly(description[:300]))
    if match is None:
        return ""
    phrase: list[str] = []
    for word in match["entity"].split():
        if word in _PHRASE_ENDS:
            break
        phrase.append(word)
    return names.join(words(" ".join(phrase))) if 0 < len(phrase) <= 3 else ""


@lru_cache(maxsize=50_000)
def _unglue(word: str) -> list[str]:
    from ontology.names import identified_entity

    entity = identified_entity(word)
    tail = next((tail for tail in ("ids", "id", "uuid", "guid") if word.endswith(tail)), "")
    return [entity, tail] if entity and tail else [word]


def _is_bare(tokens: list[str]) -> bool:
    return all(_FIELDS.get(token) == "id" or token in _ROLES for token in tokens) and _FIELDS.get(tokens[-1]) == "id"


def _plainly(text: str) -> str:
    return _LINKS.sub(" ", text).lower()


def _both(first: float, second: float) -> float:
    """The confidence of two independent pieces of evidence."""
    return round(1 - (1 - first) * (1 - second), 4)


def _with_format(found: Identifier | None, parameter: Parameter) -> Identifier | None:
    if found is None or "format" in found.evidence or parameter.format not in ("uuid", "guid"):
        return found
    return Identifier(
        entity=found.entity,
        field=found.field,
        confidence=_both(found.confidence, 0.5),
        evidence=(*found.evidence, "format"),
    )
