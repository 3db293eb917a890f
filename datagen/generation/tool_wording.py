"""The wording of the tools of one catalogue: what people say for each, or why they say nothing."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from datagen.generation.arguments import Argument
from datagen.generation.common_words import is_plain_word
from datagen.generation.data_files import read_data
from datagen.generation.grammar import participle
from datagen.generation.lexicon import Noun, load_lexicon
from datagen.generation.name_words import NameWords
from datagen.generation.sampler import Sampler
from datagen.generation.system_names import system_name
from datagen.generation.tool_frame import GenerationError, ToolFrame, is_change, parse_tool, with_argument_nouns
from datagen.profiled_catalogue import ProfiledCatalogue
from ingest.linking import ToolProfile, local_name
from ontology.names import is_verb, noun_lemma, words
from ontology.tool import Tool

__all__ = ["ToolWording"]

_REASONS = read_data("statements")["reasons"]
_MAX_NAME_WORDS = 4
"""Words of a thing that is called by its tool's name; as many as a document may take for one."""
_TECHNICAL = frozenset(read_data("statements")["words"]["technical"].split())


def _once(found: dict[str, ToolFrame | GenerationError], tool: str, make: Callable[[str], ToolFrame]) -> ToolFrame:
    """The frame that is made of a tool; it or the error instead of it is kept and not made again.

    :raises GenerationError: when there is none.
    """
    if tool not in found:
        try:
            found[tool] = make(tool)
        except GenerationError as error:
            found[tool] = error.with_traceback(None)
    one = found[tool]
    if isinstance(one, GenerationError):
        raise one
    return one


def _coded(profile: ToolProfile) -> frozenset[str]:
    """The things of which a tool gives both the identifier and the name."""
    given = {field: {value.key[0] for value in profile.produces if value.key[1] == field} for field in ("id", "name")}
    return frozenset(given["id"] & given["name"])


def _renamed(frame: ToolFrame, noun: Noun, said: tuple[str, ...]) -> ToolFrame:
    """The frame whose thing is called by some of the words of a noun."""
    key, told = frame.noun.key, noun if said == noun.words else replace(noun, words=said, plurals=())
    if told is frame.noun:
        return frame
    if frame.owner_noun is not None and frame.owner_noun.key == key:  # the related incidents of an incident
        return replace(frame, noun=told)
    return with_argument_nouns(
        replace(frame, noun=told), lambda one: told if one is not None and one.key == key else one
    )


def _is_said(name: str) -> bool:
    """Whether people say the words of a thing as a tool's name has them."""
    parts = name.split()
    return len(parts) <= _MAX_NAME_WORDS and all(map(is_plain_word, parts)) and not _TECHNICAL.intersection(parts)


def _without_choices(argument: Argument, done: frozenset[str]) -> Argument | None:
    """A state without some of its values; None where fewer than two are left, or where one is in progress: nobody sets it then."""
    last = {choice: choice.lower().split()[-1] for choice in argument.choices}
    kept = tuple(choice for choice in argument.choices if last[choice] not in done)
    if argument.role != "state":
        return argument
    if any(word.endswith("ing") for word in last.values()):
        return None
    if kept == argument.choices:
        return argument
    return replace(argument, choices=kept) if len(kept) > 1 else None


def _without_system(noun: Noun | None, frame: ToolFrame) -> Noun | None:
    """The noun of an argument without the name of the system, which the text says once: user, not zoom user in Zoom."""
    if noun is None or not frame.is_general:
        return noun
    front = f"{frame.namespace.lower()} "
    if not any(word.lower().startswith(front) for word in noun.words):
        return noun
    return replace(
        noun,
        words=tuple(word[len(front) :] if word.lower().startswith(front) else word for word in noun.words),
        plurals=(),
    )


class ToolWording:
    """Words each tool of a catalogue; a tool is parsed when it is first asked for, and once."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        profiles = catalogue.profiles.values()
        self.lexicon = load_lexicon().for_things(
            {profile.entity for profile in profiles}, frozenset().union(*map(_coded, profiles))
        )
        self._parsed: dict[str, ToolFrame | GenerationError] = {}
        self._frames: dict[str, ToolFrame | GenerationError] = {}
        self._names = NameWords(catalogue, self._parsed_or_none)

    def frame(self, tool: str) -> ToolFrame:
        """The frame of a tool.

        :raises GenerationError: when people have no plain words for it; its text is the reason.
        :raises NotFoundError: for a tool that the catalogue does not have.
        """
        return _once(self._frames, tool, self._worded)

    def frames(self) -> tuple[ToolFrame, ...]:
        """The frames of all tools that have one."""
        return tuple(self.frame(tool.id) for tool in self._catalogue.tools if not self.reason(tool.id))

    def tool(self, tool: str) -> Tool:
        """A tool of the catalogue."""
        return self._catalogue.tool(tool)

    def reason(self, tool: str) -> str:
        """Why a tool has no wording, without a full stop; empty where it has one.

        :raises NotFoundError: for a tool that the catalogue does not have.
        """
        try:
            self.frame(tool)
        except GenerationError as error:
            return str(error)
        return ""

    def sampler(self, *key: str, verbose: bool = False) -> Sampler:
        """A sampler whose choices depend on the key alone."""
        digest = hashlib.sha256("\n".join(key).encode()).digest()
        return Sampler(rng=random.Random(int.from_bytes(digest[:8], "big")), lexicon=self.lexicon, verbose=verbose)

    def _parse(self, tool: str) -> ToolFrame:
        """The frame of a tool by its own documents.

        :raises GenerationError: when they do not say it.
        """
        return _once(self._parsed, tool, lambda id_: parse_tool(self._catalogue, id_, self.lexicon, self._system(id_)))

    def _worded(self, tool: str) -> ToolFrame:
        """The frame of a tool in words that tell it from other tools of the catalogue.

        :raises GenerationError: when people have no plain words for it.
        """
        parsed = self._with_system(self._told_apart(self._parse(tool)))
        parsed = self._without_done_states(self._with_name_words(parsed))
        if self._is_open(parsed):
            raise GenerationError(_REASONS["no_one"])
        return with_argument_nouns(parsed, lambda noun: _without_system(noun, parsed))

    def _parsed_or_none(self, tool: str) -> ToolFrame | None:
        try:
            return self._parse(tool)
        except GenerationError:
            return None

    def _with_name_words(self, frame: ToolFrame) -> ToolFrame:
        """The frame with words of its tool's name, or with its system, where it fits another tool as well without them.

        :raises GenerationError: when nobody would say what tells them apart.
        """
        other = self._names.fitting(frame) if frame.is_general else ""
        if not other:
            return frame
        if not frame.system and self._catalogue.tool(other).namespace != frame.namespace:
            named = replace(frame, system=system_name(self._catalogue.tool(frame.tool)))
            if named.system and not self._names.fitting(named):
                return named
        for name in self._names.longer(frame):
            noun = self.lexicon.noun(name) if _is_said(name) else None
            if noun is not None and not self._names.fitting(longer := _renamed(frame, noun, noun.words)):
                return longer
        raise GenerationError(_REASONS["missing_words"])

    def _without_done_states(self, frame: ToolFrame) -> ToolFrame:
        """The frame of an update without the states that an action of their own leads to: who hibernates something orders that.

        Found on a document of Google, where an update takes the state and another tool hibernates.

        :raises GenerationError: when nothing is left that it changes.
        """
        if frame.kind != "update" or not frame.is_general:
            return frame
        done = self._participles[frame.namespace, self._catalogue.profile(frame.tool).entity]
        kept = tuple(filter(None, (_without_choices(one, done) for one in frame.arguments)))
        if not any(map(is_change, kept)) and any(map(is_change, frame.arguments)):
            raise GenerationError(_REASONS["no_change"])
        return replace(frame, arguments=kept)

    @cached_property
    def _participles(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """(System, thing) → what is said of it when a tool has done what the first word of its name says."""
        found: dict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
        for tool in self._catalogue.tools:
            named = words(local_name(tool).rpartition(".")[2])
            if named and is_verb(named[0]):
                found[tool.namespace, self._catalogue.profile(tool.id).entity] |= {participle(named[0])}
        return found

    def _is_open(self, frame: ToolFrame) -> bool:
        """Whether nothing says which one is meant: a value that the document requires is not said, or others of its system list or make such things."""
        whole = frame.identity is None and frame.owner is None and not frame.own and not frame.arguments
        if frame.kind == "create" or not whole or not frame.is_general:
            return False
        profile = self._catalogue.profile(frame.tool)
        if any(one.required and not one.context for one in profile.consumes):
            return True
        return not frame.many and (frame.namespace, profile.entity) in self._listed

    @cached_property
    def _listed(self) -> frozenset[tuple[str, str]]:
        profiles = ((tool, self._catalogue.profile(tool.id)) for tool in self._catalogue.tools)
        return frozenset(
            (tool.namespace, profile.entity)
            for tool, profile in profiles
            if profile.action in ("list", "search", "create")
        )

    def _system(self, tool: str) -> str:
        """The name of the system, where another system does the same to a thing of the same name; else empty."""
        others = self._systems_of.get(self._done(tool), frozenset())
        return system_name(self._catalogue.tool(tool)) if len(others) > 1 else ""

    def _with_system(self, frame: ToolFrame) -> ToolFrame:
        """The frame with its system, where another one has a thing of that name too which nothing but the asker identifies.

        Found on SendGrid and Spotify, each of which shows "my profile". So is it where another system reads by one number what
        it keeps among such things: a notification of Mastodon, a thread of Gitea whose path is ``/notifications/threads/{id}``.

        :raises GenerationError: when its system has no name that people say.
        """
        is_whole = frame.identity is None and frame.owner is None
        if frame.kind == "get" and frame.identity is not None and frame.is_general and not frame.system:
            shared = len(self._systems_of_numbered.get(frame.noun.key, frozenset()) - {frame.namespace}) > 0
            return replace(frame, system=system_name(self._catalogue.tool(frame.tool))) if shared else frame
        if frame.system or not is_whole or not frame.reads or not (frame.own or frame.kind == "get"):
            return frame
        if len(self._systems_of_whole.get(frame.noun.key.split()[-1], ())) < 2:
            return frame
        system = system_name(self._catalogue.tool(frame.tool))
        if not system:
            raise GenerationError(_REASONS["no_one"])
        return replace(frame, system=system)

    @cached_property
    def _systems_of_whole(self) -> Mapping[str, frozenset[str]]:
        """Last word of a name → the systems with a tool of that name that reads and needs no input."""
        found: dict[str, set[str]] = defaultdict(set)
        for tool in self._catalogue.tools:
            profile = self._catalogue.profile(tool.id)
            needed = any(one.required and one.name not in profile.context for one in tool.parameters)
            named = words(local_name(tool))
            if named and not needed and profile.action in ("get", "list", "search"):
                found[noun_lemma(named[-1])].add(tool.namespace)
        return {word: frozenset(systems) for word, systems in found.items()}

    @cached_property
    def _systems_of_numbered(self) -> Mapping[str, frozenset[str]]:
        """Name of a collection → the systems with a tool that reads one thing of it, or of a part of it, by one key in its path."""
        found: dict[str, set[str]] = defaultdict(set)
        for tool in self._catalogue.tools:
            front, _, back = str(tool.metadata.get("path") or "").partition("{")
            if front and back.endswith("}") and "{" not in back and self._catalogue.profile(tool.id).action == "get":
                for segment in front.split("/"):
                    found[" ".join(map(noun_lemma, words(segment)))].add(tool.namespace)
        return {name: frozenset(systems) for name, systems in found.items() if name}

    def _done(self, tool: str) -> tuple[str, str]:
        """What a tool does to what; a search is a list."""
        profile = self._catalogue.profile(tool)
        return "list" if profile.action == "search" else profile.action, profile.entity

    def _told_apart(self, frame: ToolFrame) -> ToolFrame:
        """The frame without the words for its thing that are words for another thing, with which tools do the same.

        Where another system has a thing of the same name, and no system has a name of its own, it is the full name that
        tells. Two readers could not tell a purchase contract from a legal one where the text said "agreement" alone.
        """
        action, entity = self._done(frame.tool)
        is_doubled = not frame.system and len(self._systems_of.get((action, entity), ())) > 1
        own = frozenset(() if is_doubled else (frame.noun.key, entity))
        for noun in self._nouns(frame, entity):
            told = (one for one in noun.words if not self._called.get((action, one), frozenset()) - {noun.key} - own)
            if not (is_doubled and noun.key == entity) and (words_left := tuple(told)):
                return _renamed(frame, noun, words_left)
        return frame

    def _nouns(self, frame: ToolFrame, entity: str) -> Iterator[Noun]:
        """The noun of a thing, then longer ones: that of its entity, and that of the tool's name."""
        yield frame.noun
        named = words(local_name(self._catalogue.tool(frame.tool)))[1:]
        longer = "" if frame.verb in named[:-1] else " ".join(map(noun_lemma, named))  # of userListRepos no "list repo"
        for name in (entity, longer):
            noun = self.lexicon.noun(name) if name else None
            if noun is not None and noun.key.endswith(f" {frame.noun.key}"):
                yield noun

    def _words_for(self, thing: str) -> tuple[str, ...]:
        noun = self.lexicon.noun(thing) if thing else None
        return noun.words if noun is not None else ()

    @cached_property
    def _called(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """(Action, word) → the things that the word stands for, with which a tool does that."""
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for action, thing in self._systems_of:
            for word in self._words_for(thing):
                found[action, word].add(thing)
        return {key: frozenset(things) for key, things in found.items()}

    @cached_property
    def _systems_of(self) -> Mapping[tuple[str, str], frozenset[str]]:
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for tool in self._catalogue.tools:
            found[self._done(tool.id)].add(tool.namespace)
        return {key: frozenset(names) for key, names in found.items()}
