"""The ToolSlots: what validators know of a tool, its slots first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from datagen.catalogue import Catalogue
from datagen.validation.slots import PLAIN, Known, Slot, slots_of
from datagen.validation.synonyms import STOP, is_person, say
from ingest.linking import GENERIC_NAMES, CanonicalNames, canonical_names, local_name
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["Slots", "ToolSlots"]

_READS = frozenset(("get", "list", "search"))
_KNOWLEDGE = frozenset(
    "knowledge handbook policy policies rule rules faq guideline guidelines article articles help documentation glossary definition regulation "
    "wiki encyclopedia dictionary clause question answer explain law standard guide manual info weather holiday news".split()
)
_READING_VERBS = frozenset(
    "get list search find query read show fetch lookup look check view track display browse count describe compare calculate estimate ask is has".split()
)
_WRITING_VERBS = frozenset(
    "create add update delete remove set post put patch send book cancel approve submit assign convert resolve close open release change move transfer order "
    "register block unblock unlock reset grant award enrol invite reserve request report log enter adjust confirm record reply escalate announce".split()
)
_UNTELLING = PLAIN | _WRITING_VERBS | frozenset("id place left open line order company code".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSlots:
    """What the validators know of a tool.

    :param reads: whether it only looks something up.
    :param resolves: whether words are all it needs to find something.
    :param gives: canonical names of the entities that it gives identifiers of, and of its own.
    :param keys: entities whose identifiers it takes.
    :param takes: these and canonical names of other inputs.
    :param outputs: canonical names of its outputs that are more than plain values.
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
    outputs: frozenset[str]
    vocabulary: frozenset[str]


class Slots:
    """What validators know of the tools of a catalogue, each found once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known = Known.of(catalogue)
        self._tools: dict[str, ToolSlots] = {}

    def of(self, tool_id: str) -> ToolSlots:
        """What is known of a tool.

        :raises NotFoundError: when the catalogue has no such tool.
        """
        if tool_id not in self._tools:
            self._tools[tool_id] = _tool_slots(self._catalogue, self._catalogue.tool(tool_id), self._known)
        return self._tools[tool_id]


def _tool_slots(catalogue: Catalogue, tool: Tool, known: Known) -> ToolSlots:
    profile = catalogue.profile(tool.id)
    names = canonical_names(catalogue.ontology)
    slots = tuple(slots_of(catalogue, tool, known))
    required = [slot for slot in slots if slot.required and slot.kind == "id"]
    reads = _only_reads(tool, profile.action)
    own = {names.canonical(word) for word in (profile.entity,) if word}
    gives = {
        name
        for offer in profile.produces
        if (name := offer.key[0] or offer.key[1]) and (offer.key[0] or name in known.keys | known.entities)
    } | own
    name_words = words(local_name(tool))
    parameters = [word for slot in slots for word in slot.words]
    return ToolSlots(
        id=tool.id,
        slots=slots,
        reads=reads,
        resolves=reads and not required and (profile.action == "search" or profile.free_text > 0),
        knowledge=reads and not required and bool(_KNOWLEDGE & {*name_words, *words(tool.title), *parameters}),
        silent=not tool.returns,
        own=not slots and any(map(is_person, filter(None, gives))),
        person=_about_people(slots, profile.entity, gives),
        takes_person=any(
            slot.person or is_person(slot.words[-1])
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
        takes=frozenset(names.canonical(slot.parameter) for slot in slots if "." not in slot.parameter) - GENERIC_NAMES,
        outputs=frozenset(_telling_outputs(tool, names)),
        vocabulary=_vocabulary((*name_words, *words(tool.title), *parameters), profile.entity),
    )


def _telling_outputs(tool: Tool, names: CanonicalNames) -> Iterator[str]:
    for output in tool.returns:
        name = names.canonical(output.name.rsplit(".", 1)[-1])
        if name not in GENERIC_NAMES and not set(name.split()) <= PLAIN:
            yield name


def _vocabulary(said: tuple[str, ...], entity: str) -> frozenset[str]:
    """The nouns of a tool and what people say for them; its verb says too little."""
    everyday = [word for phrase in say(entity) for word in words(phrase)]
    telling = (word for word in (*said, *everyday) if word not in STOP and word not in _READING_VERBS and len(word) > 1)
    own = noun_lemma(entity.split()[-1]) if entity else ""
    return frozenset(word for word in map(noun_lemma, telling) if word == own or word not in _UNTELLING)


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


def _about_people(slots: tuple[Slot, ...], entity: str, gives: set[str]) -> bool:
    """Whether it finds people, or the one who asks: what needs nothing and gives a person gives that one."""
    return (bool(entity) and is_person(entity)) or (not slots and any(map(is_person, filter(None, gives))))
