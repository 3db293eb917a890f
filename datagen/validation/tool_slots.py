"""The facts that validators use about a tool: its slots, its outputs and its nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from datagen.extended_profiles import FINDING_ACTIONS
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.validation.slots import PLAIN_WORDS, CatalogueEntities, Slot, slots_of
from datagen.validation.synonyms import STOP_WORDS, EverydayWords
from ingest.linking import GENERIC_NAMES, ToolProfile, local_name, type_family
from ontology.names import noun_lemma, verb_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["CatalogueSlots", "ToolSlots"]

_TOOLS = load_patterns("validation/tools")
_UNTELLING = PLAIN_WORDS | _TOOLS.words("writing_verbs") | _TOOLS.words("untelling")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSlots:
    """The facts that validators use about a tool.

    :param reads: whether it only looks something up.
    :param resolves: whether words are all it needs to find something.
    :param knowledge: whether it answers questions of general knowledge, by its name.
    :param undocumented: whether its documents do not say what it gives.
    :param about_asker: whether it is about the one who asks: it takes nothing and gives a person.
    :param about_person: whether it is about people; ``takes_person``: whether it takes one.
    :param gives: canonical names of the entities that it gives identifiers of, and of its own.
    :param keys: entities whose identifiers it takes.
    :param takes: canonical names of its inputs.
    :param outputs: canonical names of its outputs that are more than plain values.
    :param measures: whether it documents a number among its outputs, or documents no outputs.
    :param dates: whether it has a day or a time among its outputs, by type or by name.
    :param attributes: the last words of the names of its outputs and of the objects around them, as nouns.
    :param attribute_names: of these, the names of two words in full: ``net price``.
    :param document_words: all words of its document, as nouns, and what people say for what it is about.
    :param lists: whether it gives several things.
    :param name: the words of its name, in order.
    :param name_words: the words of its name, as nouns and as verbs.
    :param vocabulary: telling nouns of its name and its parameters, with what people say for them.
    """

    id: str
    slots: tuple[Slot, ...]
    reads: bool
    resolves: bool
    knowledge: bool
    undocumented: bool
    about_asker: bool
    about_person: bool
    takes_person: bool
    entity: str
    group: str
    gives: frozenset[str]
    keys: frozenset[str]
    takes: frozenset[str]
    outputs: frozenset[str]
    measures: bool
    dates: bool
    attributes: frozenset[str]
    attribute_names: frozenset[str]
    document_words: frozenset[str]
    lists: bool
    name: tuple[str, ...]
    name_words: frozenset[str]
    vocabulary: frozenset[str]


class CatalogueSlots:
    """The facts about the tools of a catalogue, each computed once.

    :param everyday: what people call its things; where it is None, the words that suit the catalogue.
    """

    def __init__(self, catalogue: ProfiledCatalogue, everyday: EverydayWords | None = None) -> None:
        self._catalogue = catalogue
        self.everyday = everyday or EverydayWords.of(catalogue)
        self._known = CatalogueEntities.of(catalogue, self.everyday)
        self._tools: dict[str, ToolSlots] = {}

    def of(self, tool_id: str) -> ToolSlots:
        """Return the facts about a tool.

        :raises NotFoundError: when the catalogue has no such tool.
        """
        if tool_id not in self._tools:
            self._tools[tool_id] = _tool_slots(self._catalogue, self._catalogue.tool(tool_id), self._known)
        return self._tools[tool_id]

    def all(self) -> Iterator[ToolSlots]:
        """Yield the facts about each tool of the catalogue."""
        return (self.of(tool.id) for tool in self._catalogue.tools)


def _tool_slots(catalogue: ProfiledCatalogue, tool: Tool, known: CatalogueEntities) -> ToolSlots:
    profile, names = catalogue.profile(tool.id), catalogue.names
    slots = tuple(slots_of(catalogue, tool, known))
    ids = [slot for slot in slots if slot.kind == "id"]
    reads = _only_reads(tool, profile.action)
    looks_up = reads and not any(slot.required for slot in ids)
    gives = _given(profile, known) | ({names.canonical(profile.entity)} if profile.entity else set())
    about_asker = not slots and any(map(known.everyday.is_person, filter(None, gives)))
    said = [*words(local_name(tool)), *words(tool.title), *(word for slot in slots for word in slot.words)]
    top_level = [slot for slot in slots if "." not in slot.parameter]
    return ToolSlots(
        id=tool.id,
        slots=slots,
        reads=reads,
        resolves=looks_up and (profile.action == "search" or profile.free_text > 0),
        knowledge=looks_up and not _TOOLS.words("knowledge").isdisjoint(said),
        undocumented=not tool.returns,
        about_asker=about_asker,
        about_person=about_asker or (bool(profile.entity) and known.everyday.is_person(profile.entity)),
        takes_person=any(_takes_person(slot, known.everyday) for slot in slots),
        entity=profile.entity,
        group=catalogue.group(tool.id),
        gives=frozenset(gives),
        keys=frozenset(slot.entity for slot in top_level if slot.kind == "id" and (slot.required or not slot.person)),
        takes=frozenset(names.canonical(slot.parameter) for slot in top_level) - GENERIC_NAMES,
        outputs=frozenset(_telling(names.canonical(output.name.rsplit(".", 1)[-1]) for output in tool.returns)),
        measures=not tool.returns or any(type_family(one.type) in ("number", "integer") for one in tool.returns),
        dates=any(
            type_family(one.type) == "time" or _TOOLS.words("dates") & set(_last_words(one)) for one in tool.returns
        ),
        attributes=frozenset(_attributes(tool.returns)),
        attribute_names=frozenset(_attribute_names(tool.returns)),
        document_words=_document_words(tool, known.everyday.words(profile.entity)),
        lists=profile.action in FINDING_ACTIONS,
        name=tuple(words(local_name(tool))),
        name_words=frozenset(form for word in words(local_name(tool)) for form in (noun_lemma(word), verb_lemma(word))),
        vocabulary=_vocabulary(said, profile.entity, known.everyday),
    )


def _last_words(output: Parameter) -> list[str]:
    return words(output.name.rsplit(".", 1)[-1])


def _attributes(outputs: Iterable[Parameter]) -> Iterator[str]:
    """``salary`` and ``amount`` of ``salary.amount``."""
    parts = (words(part) for output in outputs for part in output.name.replace("[]", "").split("."))
    return (noun_lemma(named[-1]) for named in parts if named)


def _attribute_names(outputs: Iterable[Parameter]) -> Iterator[str]:
    names = map(_last_words, outputs)
    return (" ".join(map(noun_lemma, name)) for name in names if len(name) == 2)


def _document_words(tool: Tool, everyday: Sequence[str]) -> frozenset[str]:
    texts = [local_name(tool), tool.title, tool.description, *everyday]
    texts += [text for one in (*tool.parameters, *tool.returns) for text in (one.name, one.description, *one.enum)]
    return frozenset(noun_lemma(word) for text in texts for word in words(text))


def _given(profile: ToolProfile, known: CatalogueEntities) -> set[str]:
    """Return the entities whose identifiers a tool returns, and plain values with the name of a key or an entity."""
    named = known.keys | known.entities
    entities = {value.key[0] for value in profile.produces if value.key[0]}
    return entities | {value.key[1] for value in profile.produces if not value.key[0] and value.key[1] in named}


def _takes_person(slot: Slot, everyday: EverydayWords) -> bool:
    if slot.kind not in ("id", "text", "list") or not slot.words:
        return False
    return slot.person or everyday.is_person(slot.last_word)


def _telling(names: Iterable[str]) -> Iterator[str]:
    """Names that are more than plain values."""
    return (name for name in names if name not in GENERIC_NAMES and not set(name.split()) <= PLAIN_WORDS)


def _vocabulary(said: list[str], entity: str, words_of: EverydayWords) -> frozenset[str]:
    """Return the nouns of a tool and their everyday words; verbs do not distinguish tools."""
    everyday = [word for phrase in words_of.words(entity) for word in words(phrase)]
    skipped = STOP_WORDS | _TOOLS.words("reading_verbs")
    nouns = {noun_lemma(word) for word in (*said, *everyday) if word not in skipped and len(word) > 1}
    own = noun_lemma(entity.split()[-1]) if entity else ""
    return frozenset(word for word in nouns if word == own or word not in _UNTELLING)


def _only_reads(tool: Tool, action: str) -> bool:
    method = str(tool.metadata.get("method", "")).lower()
    name = words(local_name(tool))
    reads = action in _TOOLS.words("reading_actions")
    if method:
        return method in ("get", "head") or (
            method == "post" and reads and _TOOLS.words("writing_verbs").isdisjoint(name)
        )
    first = name[0] if name else ""
    return first not in _TOOLS.words("writing_verbs") and (first in _TOOLS.words("reading_verbs") or reads)
