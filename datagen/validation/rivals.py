"""Rivals: tools of which each could be meant, as nothing in a request tells the one from the other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from datagen.composed_names import has_composed_name, is_in_another, is_of_any
from datagen.extended_profiles import FINDING_ACTIONS, only_reads
from datagen.generation.system_names import system_name
from datagen.paths.interchangeable import SAME_VERBS
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.slots import Slot
from datagen.validation.synonyms import EverydayWords, content_words
from datagen.validation.tool_slots import CatalogueSlots
from ingest.linking import AUTH_KEY, ToolProfile, action_of, local_name
from ontology.names import noun_lemma, verb_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["Rivals"]

_WORDS = load_patterns("paths/words")
_SKIPPED = _WORDS.words("marks") | _WORDS.words("identifying") | _WORDS.words("joining")
_UNINFORMATIVE = ("paging", "flag")
"""Kinds of inputs that say nothing of what a tool is about."""
_TAKES_WORDS = 0.8  # free-text score of an input for any words
_MAX_OWN_WORDS = 3  # of a name that says more than the entity; longer ones repeat a path
_OF = re.compile(r" (?:of|for) ")

_Lemmas = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """What people call a tool's thing.

    :param name: the words of its name in the document.
    :param phrases: the words of each of its names: of the document, and in everyday words.
    :param heads: the nouns that say what it is: ``contact``, ``person``.
    :param said: the words that may tell it: those of its names, of the first sentence of its document, of its system, and
        of the things that it requires.
    """

    name: _Lemmas
    phrases: frozenset[_Lemmas]
    heads: _Lemmas
    said: _Lemmas

    def is_said(self, said: Collection[str]) -> bool:
        """Whether a name of it is said, word by word."""
        return any(phrase.issubset(said) for phrase in self.phrases)


class Rivals:
    """The tools of one catalogue that do the same kind of action to things of one name.

    Two readers of the shipped company found "the contact people of Falkner Robotics" open, as suppliers and customers have
    contacts, and "maintenance jobs in Stockholm", as buildings and machines have them; of other vendors "list reactions",
    which two tools of one system do.
    """

    def __init__(self, catalogue: ProfiledCatalogue, slots: CatalogueSlots) -> None:
        self._catalogue = catalogue
        self._slots = slots
        self._nearest: dict[str, list[str]] = {}

    def find_open_choice(self, request: SyntheticRequest, parsed: ParsedRequest) -> str:
        """Return why a request may mean another tool than that of its path, one sentence without a full stop; else empty."""
        meant = {tool for slot in request.path.slots for tool in slot}
        for tool in request.path.tools:
            for other in self._near(tool):
                if (
                    other not in meant
                    and (self._may_mean(tool, other, parsed.lemmas) or self._is_twin(tool, other))
                    and self._fits(tool, other, request)
                ):
                    return f"nothing says whether {tool} or {other} is meant"
        return ""

    def _near(self, tool: str) -> list[str]:
        """The tools that could be meant instead, in the order of the catalogue: of one kind, with a head in common or with a composed name."""
        if tool not in self._nearest:
            heads, has_own = self._names[tool].heads, len(self._composed[tool]) == 1
            self._nearest[tool] = [
                other
                for other in self._of_kind[self._kind(tool)]
                if not heads.isdisjoint(self._names[other].heads) or (has_own and self._composed[other])
            ]
        return self._nearest[tool]

    def _may_mean(self, tool: str, other: str, said: Collection[str]) -> bool:
        """Whether the words fit another tool as well as the one that is meant.

        A word that only one of them has tells them apart, but for the noun that is said with it: a job may be an order.
        Who asks for users does not mean active users; who means these says so.
        """
        mine, theirs = self._names[tool], self._names[other]
        if mine.heads.isdisjoint(theirs.heads) or mine.heads.isdisjoint(said):
            return False
        kinds = frozenset(head for head in mine.heads if frozenset((head,)) not in mine.phrases)
        if not (mine.said - theirs.said - kinds).isdisjoint(said):
            return False
        if mine.name.issubset(said):
            return mine.name == theirs.name
        asked = not (theirs.name - theirs.heads).isdisjoint(said)
        if theirs.is_said(said) or asked:
            return True
        return not mine.is_said(said)

    def _fits(self, tool: str, other: str, request: SyntheticRequest) -> bool:
        """Whether another tool takes what the request states for a tool, and requires no more than that gives."""
        filled = {edge.parameter for edge in request.path.into(tool)}
        stated = {value.parameter for value in request.values if value.tool == tool} | filled
        given = Counter(self._key(tool, name) for name in stated)
        if self._is_in_another(tool, other, stated - filled):
            return False
        slots = [
            slot for slot in self._slots.of(other).slots if slot.kind not in _UNINFORMATIVE and not self._is_given(slot)
        ]
        takes = Counter(self._key(other, slot.parameter) for slot in slots)
        needs = Counter(self._key(other, slot.parameter) for slot in slots if slot.required)
        spare = (given - takes).total()
        return not needs - given and spare <= int(self._catalogue.profiles[other].free_text >= _TAKES_WORDS)

    def _is_twin(self, tool: str, other: str) -> bool:
        """Whether another tool of a system does the same in one kind of container, where a tool takes one of any kind.

        Found on the document of Cloud Logging: ``locations/buckets`` of anything, of a project, of a folder, of an organization.
        """
        mine, theirs = self._composed[tool], self._composed[other]
        same = self._catalogue.tool(tool).namespace == self._catalogue.tool(other).namespace
        return same and len(mine) == len(theirs) == 1 and is_of_any(mine[0], theirs[0])

    def _is_in_another(self, tool: str, other: str, stated: Collection[str]) -> bool:
        """Whether a composed name that a request states tells the tools apart: a sink of a folder is none of a project."""
        mine = [one for one in self._catalogue.tool(tool).parameters if one.name in stated and has_composed_name(one)]
        theirs = self._composed[other]
        return any(all(is_in_another(one, two) for two in theirs) for one in mine) and bool(theirs)

    def _is_given(self, slot: Slot) -> bool:
        """Whether the connection gives an input: a login, or a context parameter."""
        profile = self._catalogue.extended_profiles[slot.tool]
        logins = (value.parameter for value in profile.consumes if value.key == AUTH_KEY)
        return slot.parameter in (*profile.context, *logins)

    def _key(self, tool: str, parameter: str) -> str:
        """What a value says: which person or thing, when, how much, or what the input is called."""
        slot = next((one for one in self._slots.of(tool).slots if one.parameter == parameter), None)
        if slot is not None and slot.kind in ("id", "date", "amount", "code"):
            return "person" if slot.person else slot.kind
        return self._catalogue.names.canonical(parameter.rsplit(".", 1)[-1])

    def _kind(self, tool: str) -> str:
        """What a tool does, as people say it: several things read, one thing read, or an action by its verb."""
        profile, path = (
            self._catalogue.extended_profiles[tool],
            str(self._catalogue.tool(tool).metadata.get("path") or ""),
        )
        if only_reads(profile) and self._slots.of(tool).reads:
            return "find" if profile.action in FINDING_ACTIONS and not path.rstrip("/").endswith("}") else "read"
        named = words(local_name(self._catalogue.tool(tool)))
        if profile.action != "act" and not SAME_VERBS.keys().isdisjoint(map(verb_lemma, named)):
            return profile.action
        return " ".join([word for word in named if action_of(word)] or named[-1:])

    @cached_property
    def _composed(self) -> Mapping[str, tuple[Parameter, ...]]:
        """Tool → its required inputs that are composed names."""
        return {
            tool.id: tuple(one for one in tool.parameters if one.required and has_composed_name(one))
            for tool in self._catalogue.tools
        }

    @cached_property
    def _of_kind(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for tool in self._catalogue.tools:
            found[self._kind(tool.id)].append(tool.id)
        return found

    @cached_property
    def _names(self) -> Mapping[str, _Names]:
        profiles, everyday = self._catalogue.extended_profiles, self._slots.everyday
        return {tool.id: _named(tool, profiles[tool.id], everyday) for tool in self._catalogue.tools}


def _named(tool: Tool, profile: ToolProfile, everyday: EverydayWords) -> _Names:
    tokens = words(local_name(tool))
    ends = (tokens[0], tokens[-1]) if tokens else ()
    verbs = [word for word in ends if verb_lemma(word) in SAME_VERBS]
    thing = takewhile(lambda word: word not in _WORDS.words("joining"), tokens)
    own = [word for word in thing if word not in verbs and word not in _SKIPPED]
    name = " ".join(map(noun_lemma, own)) if 0 < len(own) <= _MAX_OWN_WORDS else profile.entity
    is_head = set(profile.entity.split()) <= set(name.split()) and profile.entity.split()[-1:] == name.split()[-1:]
    entity = (profile.entity,) if is_head else ()
    called = [called for called in (name, *everyday.words(name), *entity) if called]
    owners = [value.key[0] for value in profile.consumes if value.required and value.identifier and value.key[0]]
    others = [*owners, *name.split(), *(one for each in (*owners, *name.split()) for one in everyday.words(each))]
    described = re.split(r"[.;:]\s", f"{tool.title} {tool.description}", maxsplit=1)[0]
    phrases = frozenset(map(_lemmas, map(_words, called)))
    return _Names(
        name=_lemmas(words(name)),
        phrases=phrases,
        heads=_lemmas(_words(_OF.split(one)[0])[-1] for one in called if _words(_OF.split(one)[0])),
        said=_lemmas(word for one in (*called, *others, tool.namespace, system_name(tool)) for word in _words(one))
        | _lemmas(content_words(described)),
    )


def _words(text: str) -> list[str]:
    return [word for word in words(text) if word not in _SKIPPED]


def _lemmas(found: Iterable[str]) -> _Lemmas:
    return frozenset(map(noun_lemma, found))
