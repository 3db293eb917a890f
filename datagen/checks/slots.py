"""Slots: the inputs of a tool as a request fills them, and what the tool gives that fills others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from datagen.catalogue import Catalogue
from datagen.language.lexicon import load_lexicon
from ingest.linking.draft import VALUE
from ingest.linking.identifiers import GENERIC, type_family
from ingest.linking.subjects import local_name, names_of
from ontology.names import noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["PERSONS", "Slot", "Slots", "ToolSlots", "content_words"]

PERSONS = frozenset(
    "employee user person people caller owner organiser organizer host requester requestor approver assignee member traveller traveler "
    "colleague manager staff worker reporter author creator sender attendee participant interviewer buyer picker counter lead login account".split()
)
_READS = frozenset(("get", "list", "search"))
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
_PLAIN = _DATES | _AMOUNTS | _COUNTS | frozenset("name title text description type status note reason subject".split())
_CODES = frozenset(
    "number no code serial reference ref batch bin plant element account location material product order key symbol sku vin iban ticker".split()
)
_PAGING = frozenset(
    "page size token limit offset top skip select expand filter orderby sort language cursor format per fields".split()
)
_STOP = frozenset(
    "a an the of to for from with and or but by in on at into about as is are be was were been it its this that these those which who what "
    "all any each per not no can may will must has have do does if when then than also only one their his her your our my so such other same via".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """An input of a tool.

    :param kind: ``id``, ``amount``, ``count``, ``code``, ``date``, ``enum``, ``flag``, ``email``, ``list``,
        ``paging`` or ``text``.
    :param entity: what an ``id`` identifies, canonical.
    :param called: nouns that people announce its values with: ``vendor`` for a supplier's.
    :param person: whether it identifies a person, for whom the one who asks may stand.
    """

    tool: str
    parameter: str
    kind: str
    entity: str
    required: bool
    person: bool
    called: frozenset[str] = frozenset()
    enum: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return tuple(words(self.parameter.rsplit(".", 1)[-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSlots:
    """What the judges know of a tool.

    :param reads: whether it only looks something up.
    :param resolves: whether words are all it needs to find something.
    :param gives: canonical names of the entities that it gives identifiers of, and of its own.
    :param keys: entities whose identifiers it takes.
    :param takes: these and canonical names of other inputs.
    :param vocabulary: telling nouns of its name and its parameters, with what people say for them.
    :param own: whether it tells of the one who asks: it needs nothing and gives a person.
    :param silent: whether its documents do not say what it gives.
    :param person: whether it is about people; ``takes_person``: whether it takes one.
    :param knowledge: whether it answers questions of general knowledge, by its name.
    """

    id: str
    slots: tuple[Slot, ...]
    reads: bool
    resolves: bool
    knowledge: bool
    silent: bool
    own: bool
    person: bool
    takes_person: bool
    entity: str
    group: str
    gives: frozenset[str]
    keys: frozenset[str]
    takes: frozenset[str]
    vocabulary: frozenset[str]


_KNOWLEDGE = frozenset(
    "knowledge handbook policy policies rule rules faq guideline guidelines article articles help documentation glossary definition regulation "
    "wiki encyclopedia dictionary clause question answer explain law standard guide manual info weather holiday news".split()
)


class Slots:
    """The slots of the tools of a catalogue, each found once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._keys = _keys_of(catalogue)
        self._entities = frozenset(profile.entity for profile in catalogue.profiles.values()) - GENERIC
        self._known: dict[str, ToolSlots] = {}

    def of(self, tool_id: str) -> ToolSlots:
        """What the judges know of a tool.

        :raises NotFoundError: when the catalogue has no such tool.
        """
        if tool_id not in self._known:
            self._known[tool_id] = _tool_slots(
                self._catalogue, self._catalogue.tool(tool_id), self._keys, self._entities
            )
        return self._known[tool_id]


def _tool_slots(catalogue: Catalogue, tool: Tool, keys: frozenset[str], entities: frozenset[str]) -> ToolSlots:
    profile = catalogue.profile(tool.id)
    names = names_of(catalogue.ontology)
    slots = tuple(_slots(catalogue, tool, keys))
    required = [slot for slot in slots if slot.required and slot.kind == "id"]
    reads = _only_reads(tool, profile.action)
    own = {names.canonical(word) for word in (profile.entity,) if word}
    gives = {
        name
        for offer in profile.offers
        if (name := offer.key[0] or offer.key[1]) and (offer.key[0] or name in keys or name in entities)
    } | own
    name_words = words(local_name(tool))
    parameters = [word for slot in slots for word in slot.words]
    return ToolSlots(
        id=tool.id,
        slots=slots,
        reads=reads,
        resolves=reads and not required and (profile.action == "search" or profile.asks > 0),
        knowledge=reads and not required and bool(_KNOWLEDGE & {*name_words, *words(tool.title), *parameters}),
        silent=not tool.returns,
        own=not slots and any(map(_is_person, filter(None, gives))),
        person=_about_people(slots, profile.entity, gives),
        takes_person=any(
            slot.person or _is_person(slot.words[-1])
            for slot in slots
            if slot.kind in ("id", "text", "list") and slot.words
        ),
        entity=profile.entity,
        group=catalogue.group(tool.id),
        gives=frozenset(gives),
        keys=frozenset(
            slot.entity
            for slot in slots
            if slot.kind == "id" and (slot.required or not slot.person) and "." not in slot.parameter
        ),
        takes=frozenset(names.canonical(slot.parameter) for slot in slots if "." not in slot.parameter) - GENERIC,
        vocabulary=_vocabulary((*name_words, *words(tool.title), *parameters), profile.entity),
    )


def _vocabulary(said: tuple[str, ...], entity: str) -> frozenset[str]:
    """The nouns of a tool and what people say for them; its verb says too little."""
    noun = load_lexicon().noun(entity) if entity else None
    everyday = [word for phrase in (noun.say if noun is not None else ()) for word in words(phrase)]
    telling = (
        word for word in (*said, *everyday) if word not in _STOP and word not in _READING_VERBS and len(word) > 1
    )
    own = noun_lemma(entity.split()[-1]) if entity else ""
    return frozenset(word for word in map(noun_lemma, telling) if word == own or word not in _UNTELLING)


_READING_VERBS = frozenset(
    "get list search find query read show fetch lookup look check view track display browse count describe compare calculate estimate ask is has".split()
)
_WRITING_VERBS = frozenset(
    "create add update delete remove set post put patch send book cancel approve submit assign convert resolve close open release change move transfer order "
    "register block unblock unlock reset grant award enrol invite reserve request report log enter adjust confirm record reply escalate announce".split()
)


_UNTELLING = _PLAIN | _WRITING_VERBS | frozenset("id place left open line order company code".split())


def _only_reads(tool: Tool, action: str) -> bool:
    method = str(tool.metadata.get("method", "")).lower()
    if method:
        return method in ("get", "head") or (
            method == "post" and action in _READS and not set(words(local_name(tool))) & _WRITING_VERBS
        )
    first = next(iter(words(local_name(tool))), "")
    if first in _WRITING_VERBS:
        return False
    return first in _READING_VERBS or action in _READS


def _slots(catalogue: Catalogue, tool: Tool, keys: frozenset[str]) -> Iterator[Slot]:
    profile = catalogue.profile(tool.id)
    by_name = {need.parameter: need for need in profile.needs}
    required_parents = {parameter.name for parameter in tool.parameters if parameter.required}
    for parameter in tool.parameters:
        if type_family(parameter.type) == "object" and any(
            other.name.startswith(f"{parameter.name}.") for other in tool.parameters
        ):
            continue
        parent = parameter.name.rpartition(".")[0]
        required = parameter.required and (not parent or all(part in required_parents for part in _ancestors(parent)))
        need = by_name.get(parameter.name)
        canonical = names_of(catalogue.ontology).canonical(parameter.name.rsplit(".", 1)[-1])
        entity = ""
        name = canonical
        if (
            need is not None
            and need.identifier
            and need.key[1] in _KEYS
            and need.confidence >= 0.5
            and not _is_part(parameter.name)
        ):
            entity = need.key[0]
        elif (
            canonical in keys
            and canonical not in GENERIC
            and type_family(parameter.type) in ("string", "integer", "array")
        ):
            entity = canonical
        kind = _kind(parameter, entity)
        entity = entity if kind == "id" else name if kind == "code" else ""
        yield Slot(
            tool=tool.id,
            parameter=parameter.name,
            kind=kind,
            entity=entity,
            called=_called(entity) if entity else frozenset(),
            required=required,
            person=kind == "id" and (_is_person(entity) or bool(set(words(parameter.name)) & PERSONS - {"account"})),
            enum=parameter.enum,
        )


def _about_people(slots: tuple[Slot, ...], entity: str, gives: set[str]) -> bool:
    """Whether it finds people, or the one who asks: what needs nothing and gives a person gives that one."""
    return (bool(entity) and _is_person(entity)) or (not slots and any(map(_is_person, filter(None, gives))))


@lru_cache(maxsize=1 << 14)
def _is_person(entity: str) -> bool:
    noun = load_lexicon().noun(entity)
    return entity.split()[-1] in PERSONS or (noun is not None and noun.person)


@lru_cache(maxsize=1 << 14)
def _called(entity: str) -> frozenset[str]:
    """The nouns that end what people call an entity, and the initials of its name."""
    noun = load_lexicon().noun(entity)
    names = [entity, *(noun.say if noun is not None else ())]
    found = {noun_lemma(name.lower().split()[-1]) for name in names}
    head = re.split(r" (?:for|of) ", entity)[0]
    found.add(head.split()[-1])
    if len(entity.split()) > 1:
        found.add("".join(part[0] for part in entity.split()))
        found.add("".join(part[0] for part in entity.split() if part not in ("for", "of", "and")))
    return frozenset(found)


def _ancestors(parent: str) -> Iterator[str]:
    """The objects around a field; one that a list stands in counts as its list."""
    parts = parent.split(".")
    for depth in range(len(parts)):
        yield (
            ".".join(parts[: depth + 1]).replace("[]", "")
            if parts[depth].endswith("[]")
            else ".".join(parts[: depth + 1])
        )


_PARTS = frozenset(("item", "line", "position", "step"))
"""What is numbered within its whole: its number goes without saying."""


def _is_part(name: str) -> bool:
    return words(name.rpartition(".")[2])[-1:] in ([part] for part in _PARTS)


def _keys_of(catalogue: Catalogue) -> frozenset[str]:
    """Names of two words under which two tools or more require a value: business keys called as their objects (``PurchaseOrder``)."""
    times: Counter[str] = Counter()
    for profile in catalogue.profiles.values():
        for need in profile.needs:
            parts = need.key[1].split()
            if (
                need.key[0] == VALUE
                and need.required
                and len(parts) == 2
                and not set(parts) & _PLAIN
                and parts[-1] not in _PARTS
            ):
                times[need.key[1]] += 1
    return frozenset(name for name, count in times.items() if count > 1)


@lru_cache(maxsize=1 << 16)
def _kind(parameter: Parameter, entity: str) -> str:
    tokens = words(parameter.name.rsplit(".", 1)[-1])
    family, said = type_family(parameter.type), set(tokens)
    if parameter.enum:
        return "enum"
    if family == "boolean":
        return "flag"
    if parameter.name.startswith("$") or (
        tokens
        and (
            tokens[0] in ("page", "offset", "limit", "skip", "top") or tokens[-1] in ("language", "currency", "cursor")
        )
    ):
        return "paging"
    if entity:
        return "id"
    if family == "time" or parameter.format in ("date", "date-time", "time") or _is_date(parameter, tokens):
        return "date"
    if said & {"email", "emails", "mail"}:
        return "email"
    if family in ("number", "integer"):
        return (
            "count"
            if said & _COUNTS and not said & _AMOUNTS
            else "amount"
            if family == "number" or said & _AMOUNTS
            else "count"
        )
    return "code" if tokens and tokens[-1] in _CODES else "list" if family == "array" else "text"


def _is_date(parameter: Parameter, tokens: list[str]) -> bool:
    if not tokens or type_family(parameter.type) not in ("string", "integer"):
        return False
    if tokens[-1] in (
        "date",
        "day",
        "deadline",
        "week",
        "month",
        "year",
        "period",
        "quarter",
        "time",
        "since",
        "until",
        "at",
        "on",
        "start",
        "end",
    ):
        return True
    return bool(set(tokens) & {"year", "period", "date"}) or bool(
        re.search(r"\b(?:date|iso 8601|yyyy)\b", parameter.description.lower())
    )


def content_words(text: str) -> list[str]:
    """The words of a text that are no function words, in order."""
    return [word for word in words(text) if word not in _STOP and len(word) > 1]
