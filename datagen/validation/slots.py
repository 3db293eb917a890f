"""The Slot: an input of a tool as a request fills it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from datagen.composed_names import has_composed_name, needed_collections
from datagen.default_value import has_default
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.validation.synonyms import PERSONS, EverydayWords
from ingest.linking import AUTH_KEY, GENERIC_NAMES, PLAIN_VALUE, ConsumedValue, type_family
from ontology.names import words
from ontology.tool import Parameter, Tool

__all__ = ["PLAIN_WORDS", "CatalogueEntities", "Slot", "SlotKey", "slots_of"]

_TOOLS = load_patterns("validation/tools")
_NO_KEYS = _TOOLS.words("parts") | _TOOLS.words("prepositions")
_DATE_DESCRIBED = re.compile(r"\b(?:date|iso 8601|yyyy)\b")
_NAME_DESCRIBED = re.compile(
    r"\b(?:names?|e-?mails?|addresse?s?|login|slug|aliase?s?|keywords?|title|handle|username|arn|me)\b"
)
_MIN_CONFIDENCE = 0.5  # that an input identifies an entity

PLAIN_WORDS = _TOOLS.words("dates") | _TOOLS.words("amounts") | _TOOLS.words("counts") | _TOOLS.words("plain")
"""Words of inputs that take a plain value."""

SlotKey = tuple[str, str]
"""(tool, parameter)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """An input of a tool.

    :param kind: ``id``, ``amount``, ``count``, ``code``, ``date``, ``enum``, ``flag``, ``email``, ``list``,
        ``paging`` or ``text``.
    :param entity: what an ``id`` identifies, canonical.
    :param asker_found: whether a tool of the catalogue finds the one who asks, so that this person's identifier is no matter
        of course.
    :param findable: whether some tool of the catalogue gives what an ``id`` identifies, as far as documents tell.
    :param announced_by: nouns that people put before its values: ``vendor`` for a supplier's.
    :param required: whether a call lacks it where the request says nothing: an input with a default, and one that a login
        fills, is not.
    :param person: whether it identifies a person; the one who asks may then be meant.
    :param named: whether an ``id`` may also be a name, by its document: its description or example says so.
    :param number: whether its type is a number; ``low`` and ``high`` are its bounds, inclusive.
    :param parts: the number of parts of a composed name that a request must state; 1 for any other value.
    :param clock: whether a ``date`` has a time of day.
    """

    tool: str
    parameter: str
    kind: str
    entity: str
    required: bool
    person: bool
    asker_found: bool = False
    findable: bool = True
    announced_by: frozenset[str] = frozenset()
    enum: tuple[str, ...] = ()
    clock: bool = False
    parts: int = 1
    named: bool = False
    number: bool = False
    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        return f"{self.parameter!r} of {self.tool}"

    @property
    def key(self) -> SlotKey:
        """The key of the slot: its tool and its parameter."""
        return self.tool, self.parameter

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return tuple(words(self.parameter.rsplit(".", 1)[-1]))

    @property
    def last_word(self) -> str:
        """The last word of its name, or empty."""
        return self.words[-1] if self.words else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntities:
    """Facts about the entities of a catalogue, from all its documents.

    :param keys: names of two words under which two tools or more require a value: business keys that are called like
        their objects (``PurchaseOrder``).
    :param entities: what its tools are about.
    :param given: the last words of what some tool gives.
    :param askers: what the tools give that take nothing, the one who asks among it.
    :param everyday: what people call its things.
    """

    keys: frozenset[str]
    entities: frozenset[str]
    given: frozenset[str]
    askers: frozenset[str]
    everyday: EverydayWords

    @classmethod
    def of(cls, catalogue: ProfiledCatalogue, everyday: EverydayWords) -> CatalogueEntities:
        """Collect the facts from the profiles of the tools."""
        profiles = catalogue.profiles.values()
        times = Counter(value.key[1] for profile in profiles for value in profile.consumes if _is_key(value))
        given = {value.key[0] or value.key[1] for profile in profiles for value in profile.produces}
        entities = {profile.entity for profile in profiles if profile.entity}
        return cls(
            everyday=everyday,
            keys=frozenset(name for name, count in times.items() if count > 1),
            entities=frozenset(entities - GENERIC_NAMES),
            given=frozenset(name.split()[-1] for name in given | entities if name),
            askers=frozenset(
                value.key[0]
                for tool in catalogue.tools
                if not tool.parameters
                for value in catalogue.profile(tool.id).produces
                if value.key[0] and everyday.is_person(value.key[0])
            ),
        )


def _is_key(value: ConsumedValue) -> bool:
    parts = value.key[1].split()
    if value.key[0] != PLAIN_VALUE or not value.required or len(parts) != 2:
        return False
    return not set(parts) & PLAIN_WORDS and parts[-1] not in _NO_KEYS


def slots_of(catalogue: ProfiledCatalogue, tool: Tool, known: CatalogueEntities) -> Iterator[Slot]:
    """The slots of a tool; an object counts as its fields."""
    consumed = {value.parameter: value for value in catalogue.profile(tool.id).consumes}
    required = {parameter.name for parameter in tool.parameters if parameter.required}
    for parameter in tool.parameters:
        whole = f"{parameter.name}."
        if type_family(parameter.type) == "object" and any(one.name.startswith(whole) for one in tool.parameters):
            continue
        name = catalogue.names.canonical(parameter.name.rsplit(".", 1)[-1])
        identified = _entity(parameter, name, consumed.get(parameter.name), known)
        kind = _kind(parameter, identified=bool(identified))
        entity = {"id": identified, "code": name}.get(kind, "")
        role = kind == "id" and bool(set(words(parameter.name)) & PERSONS - {"account"})
        yield Slot(
            tool=tool.id,
            parameter=parameter.name,
            kind=kind,
            entity=entity,
            required=_is_required(parameter, consumed.get(parameter.name), required),
            person=role or (kind == "id" and known.everyday.is_person(entity) and not _is_ledger(entity)),
            asker_found=kind == "id" and entity in known.askers,
            findable=not entity or (entity.split()[-1] in known.given and entity.split()[-1] not in _NO_KEYS),
            announced_by=known.everyday.announcing(entity) if entity else frozenset(),
            enum=parameter.enum,
            named=_may_be_name(parameter),
            number=type_family(parameter.type) in ("number", "integer"),
            low=dict(parameter.bounds).get("minimum", -math.inf),
            high=dict(parameter.bounds).get("maximum", math.inf),
            parts=len(needed_collections(parameter)) or 1,
            clock=parameter.format in ("date-time", "time"),
        )


def _is_ledger(entity: str) -> bool:
    """Whether an account is none of a person: ``bank account``, but ``account`` and ``user account``."""
    *before, last = entity.split()
    return last == "account" and bool(before) and PERSONS.isdisjoint(before)


def _entity(parameter: Parameter, name: str, value: ConsumedValue | None, known: CatalogueEntities) -> str:
    """The entity that an input identifies, or empty."""
    if (
        value is not None
        and value.identifier
        and value.key[1] in _TOOLS.words("key_fields")
        and value.confidence >= _MIN_CONFIDENCE
    ):
        if not _TOOLS.words("parts").intersection(words(parameter.name.rpartition(".")[2])[-1:]):
            return value.key[0]
    is_key = name in known.keys and name not in GENERIC_NAMES
    return name if is_key and type_family(parameter.type) in ("string", "integer", "array") else ""


def _may_be_name(parameter: Parameter) -> bool:
    example = parameter.example or parameter.default
    said = _NAME_DESCRIBED.search(parameter.description.lower()) is not None
    return (
        said
        or has_composed_name(parameter)
        or bool(parameter.enum)
        or (example != "" and not any(letter.isdigit() for letter in example))
    )


def _is_required(parameter: Parameter, value: ConsumedValue | None, required: Collection[str]) -> bool:
    if has_default(parameter) or (value is not None and value.key == AUTH_KEY):
        return False
    return parameter.required and all(part in required for part in _ancestors(parameter.name))


def _ancestors(name: str) -> Iterator[str]:
    """The objects and lists around a field."""
    parts = name.split(".")
    for depth in range(1, len(parts)):
        whole = ".".join(parts[:depth])
        yield whole.replace("[]", "") if whole.endswith("[]") else whole


@lru_cache(maxsize=1 << 16)
def _kind(parameter: Parameter, *, identified: bool) -> str:
    tokens = words(parameter.name.rsplit(".", 1)[-1])
    family, distinct, last = type_family(parameter.type), set(tokens), tokens[-1] if tokens else ""
    if parameter.enum:
        return "enum"
    if family == "boolean":
        return "flag"
    if (
        parameter.name.startswith("$")
        or last in _TOOLS.words("defaults")
        or (tokens and tokens[0] in _TOOLS.words("pages"))
    ):
        return "paging"
    if identified:
        return "id"
    if family == "time" or parameter.format in ("date", "date-time", "time") or _is_date(parameter, distinct, last):
        return "date"
    if distinct & _TOOLS.words("mail_words"):
        return "email"
    if family in ("number", "integer"):
        return (
            "amount"
            if distinct & _TOOLS.words("amounts") or (family == "number" and not distinct & _TOOLS.words("counts"))
            else "count"
        )
    return "code" if last in _TOOLS.words("codes") else "list" if family == "array" else "text"


def _is_date(parameter: Parameter, distinct: set[str], last: str) -> bool:
    if not distinct or type_family(parameter.type) not in ("string", "integer"):
        return False
    named = last in _TOOLS.words("date_ends") or bool(distinct & _TOOLS.words("date_words"))
    return named or _DATE_DESCRIBED.search(parameter.description.lower()) is not None
