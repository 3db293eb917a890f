"""The Slot: an input of a tool as a request fills it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from datagen.catalogue import Catalogue
from datagen.validation.synonyms import PERSONS, called, is_person
from ingest.linking import GENERIC_NAMES, PLAIN_VALUE, ConsumedValue, canonical_names, type_family
from ontology.names import words
from ontology.tool import Parameter, Tool

__all__ = ["PLAIN", "Known", "Slot", "slots_of"]

_KEYS = frozenset(("id", "number", "reference", "key"))
_DATES = frozenset(
    "date day time at since until deadline from to on start end begin week month year period quarter when due until valid".split()
)
_AMOUNTS = frozenset(
    "amount price cost sum budget salary hours hour km kilometre kilometer mile miles percent percentage rate value limit yield weight distance total fee "
    "balance credit debit difference".split()
)
_COUNTS = frozenset(
    "quantity qty count size number guest guests people seat seats opening openings copy copies pieces nights".split()
)
PLAIN = _DATES | _AMOUNTS | _COUNTS | frozenset("name title text description type status note reason subject".split())
"""Words of inputs that take a plain value."""
_CODES = frozenset(
    "number no code serial reference ref batch bin plant element account location material product order key symbol sku vin iban ticker".split()
)
_PARTS = frozenset(("item", "line", "position", "step"))
"""What is numbered within its whole: its number goes without saying."""
_NO_KEYS = _PARTS | frozenset("for to from of by at on in with".split())
_PAGES = ("page", "offset", "limit", "skip", "top")
_DEFAULTS = ("language", "currency", "cursor")
_DAYS = frozenset("date day deadline week month year period quarter time since until at on start end".split())
"""Words that end the names of dates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """An input of a tool.

    :param kind: ``id``, ``amount``, ``count``, ``code``, ``date``, ``enum``, ``flag``, ``email``, ``list``,
        ``paging`` or ``text``.
    :param entity: what an ``id`` identifies, canonical.
    :param findable: whether some tool of the catalogue gives what an ``id`` identifies, as far as documents tell.
    :param called: nouns that people announce its values with: ``vendor`` for a supplier's.
    :param person: whether it identifies a person, for whom the one who asks may stand.
    :param clock: whether a ``date`` has a time of day.
    """

    tool: str
    parameter: str
    kind: str
    entity: str
    required: bool
    person: bool
    findable: bool = True
    called: frozenset[str] = frozenset()
    enum: tuple[str, ...] = ()
    clock: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return tuple(words(self.parameter.rsplit(".", 1)[-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What all documents of a catalogue tell of its entities.

    :param keys: names of two words under which two tools or more require a value: business keys called as their objects
        (``PurchaseOrder``).
    :param entities: what its tools are about.
    :param given: the last words of what some tool gives.
    """

    keys: frozenset[str]
    entities: frozenset[str]
    given: frozenset[str]

    @classmethod
    def of(cls, catalogue: Catalogue) -> Known:
        """What the profiles of its tools tell."""
        profiles = catalogue.profiles.values()
        times = Counter(need.key[1] for profile in profiles for need in profile.consumes if _is_key(need))
        given = {offer.key[0] or offer.key[1] for profile in profiles for offer in profile.produces}
        entities = {profile.entity for profile in profiles if profile.entity}
        return cls(
            keys=frozenset(name for name, count in times.items() if count > 1),
            entities=frozenset(entities - GENERIC_NAMES),
            given=frozenset(name.split()[-1] for name in given | entities if name),
        )


def _is_key(need: ConsumedValue) -> bool:
    parts = need.key[1].split()
    plain = set(parts) & PLAIN or parts[-1:] in ([word] for word in _NO_KEYS)
    return need.key[0] == PLAIN_VALUE and need.required and len(parts) == 2 and not plain


def slots_of(catalogue: Catalogue, tool: Tool, known: Known) -> Iterator[Slot]:
    """The slots of a tool; an object counts as its fields."""
    needs = {need.parameter: need for need in catalogue.profile(tool.id).consumes}
    names = canonical_names(catalogue.ontology)
    required = {parameter.name for parameter in tool.parameters if parameter.required}
    for parameter in tool.parameters:
        whole = f"{parameter.name}."
        if type_family(parameter.type) == "object" and any(one.name.startswith(whole) for one in tool.parameters):
            continue
        name = names.canonical(parameter.name.rsplit(".", 1)[-1])
        entity = _entity(parameter, name, needs.get(parameter.name), known)
        kind = _kind(parameter, entity)
        entity = entity if kind == "id" else name if kind == "code" else ""
        yield Slot(
            tool=tool.id,
            parameter=parameter.name,
            kind=kind,
            entity=entity,
            required=parameter.required and all(part in required for part in _ancestors(parameter.name)),
            person=kind == "id" and (is_person(entity) or bool(set(words(parameter.name)) & PERSONS - {"account"})),
            findable=not entity or (entity.split()[-1] in known.given and entity.split()[-1] not in _NO_KEYS),
            called=called(entity) if entity else frozenset(),
            enum=parameter.enum,
            clock=parameter.format in ("date-time", "time"),
        )


def _entity(parameter: Parameter, name: str, need: ConsumedValue | None, known: Known) -> str:
    """The entity that an input identifies, or empty."""
    part = words(parameter.name.rpartition(".")[2])[-1:] in ([word] for word in _PARTS)
    if need is not None and need.identifier and need.key[1] in _KEYS and need.confidence >= 0.5 and not part:
        return need.key[0]
    is_key = name in known.keys and name not in GENERIC_NAMES
    return name if is_key and type_family(parameter.type) in ("string", "integer", "array") else ""


def _ancestors(name: str) -> Iterator[str]:
    """The objects and lists around a field."""
    parts = name.split(".")
    for depth in range(1, len(parts)):
        whole = ".".join(parts[:depth])
        yield whole.replace("[]", "") if whole.endswith("[]") else whole


@lru_cache(maxsize=1 << 16)
def _kind(parameter: Parameter, entity: str) -> str:
    tokens = words(parameter.name.rsplit(".", 1)[-1])
    family, said = type_family(parameter.type), set(tokens)
    if parameter.enum:
        return "enum"
    if family == "boolean":
        return "flag"
    if parameter.name.startswith("$") or _pages(tokens):
        return "paging"
    if entity:
        return "id"
    if family == "time" or parameter.format in ("date", "date-time", "time") or _is_date(parameter, tokens):
        return "date"
    if said & {"email", "emails", "mail"}:
        return "email"
    if family in ("number", "integer"):
        measured = said & _AMOUNTS or (family == "number" and not said & _COUNTS)
        return "amount" if measured else "count"
    return "code" if tokens and tokens[-1] in _CODES else "list" if family == "array" else "text"


def _pages(tokens: list[str]) -> bool:
    return tokens[:1] in ([word] for word in _PAGES) or tokens[-1:] in ([word] for word in _DEFAULTS)


def _is_date(parameter: Parameter, tokens: list[str]) -> bool:
    if not tokens or type_family(parameter.type) not in ("string", "integer"):
        return False
    if tokens[-1] in _DAYS:
        return True
    return bool(set(tokens) & {"year", "period", "date"}) or bool(
        re.search(r"\b(?:date|iso 8601|yyyy)\b", parameter.description.lower())
    )
