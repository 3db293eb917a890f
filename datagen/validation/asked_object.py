"""The object that a request asks for, and whether a tool of the path is about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from datagen.patterns import load_patterns
from datagen.synthetic_request import SampleValue
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.path_fit import PathFit
from datagen.validation.synonyms import PERSONS, EverydayWords
from datagen.validation.tool_slots import ToolSlots
from ontology.names import is_noun, is_verb, noun_lemma, words

__all__ = ["AskedObjects"]

_TOOLS, _DIRECTIONS = load_patterns("validation/tools"), load_patterns("validation/directions")
_VERBS = _TOOLS.words("reading_verbs") | _TOOLS.words("writing_verbs")
_TOKEN = re.compile(r"[a-z]+|[.,;:?!]|0")
_MIN_LETTERS = 4  # of a name of one word; shorter ones are often other words
_MAX_BEFORE = 3  # words before an object in which the preposition of its phrase is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """What a tool is about, by its documents.

    :param name: the nouns of its name, without what it requires: ``team`` of ``list_project_team``.
    :param heads: the last word of each of its names, documented or everyday.
    :param needs: the entities of the identifiers that it requires; ``takes``: of all that it takes.
    """

    tool: ToolSlots
    name: tuple[str, ...]
    heads: frozenset[str]
    words: frozenset[str]
    needs: frozenset[str]
    takes: frozenset[str]

    @classmethod
    def of(cls, tool: ToolSlots, everyday: EverydayWords) -> _Object:
        slots = [slot for slot in tool.slots if slot.kind in ("id", "code") and slot.entity]
        keys = {
            noun_lemma(word) for slot in slots if slot.required and slot.kind == "id" for word in slot.entity.split()
        }
        name = _nouns(tool.name)
        while len(name) > 1 and name[0] in keys:
            name = name[1:]
        called = {tuple(map(noun_lemma, words(one))) for one in (tool.entity, *everyday.words(tool.entity)) if one}
        heads = {phrase[-1] for phrase in called | {_nouns(tool.name), name} if phrase}
        return cls(
            tool=tool,
            name=name,
            heads=frozenset(heads if name[-1:] and name[-1] in keys else heads - keys),
            words=frozenset(word for phrase in called for word in phrase).union(name, _nouns(tool.name)),
            needs=frozenset(slot.entity for slot in slots if slot.required),
            takes=frozenset(slot.entity for slot in slots),
        )


class AskedObjects:
    """What the tools of a catalogue are about.

    :param tools: all tools of the catalogue.
    :param everyday: what people call its things.
    """

    def __init__(self, tools: Iterable[ToolSlots], everyday: EverydayWords) -> None:
        self._objects = {tool.id: _Object.of(tool, everyday) for tool in tools}
        self._named: dict[str, list[_Object]] = {}
        for one in self._objects.values():
            if one.name and (len(one.name) > 1 or len(one.name[0]) >= _MIN_LETTERS):
                self._named.setdefault(one.name[-1], []).append(one)

    def find_other(self, parsed: ParsedRequest, fit: PathFit, values: Collection[SampleValue]) -> str:
        """Why a tool gives another thing than the request asks for, or empty.

        The request never says what the tool is about, and asks for what another tool of the catalogue is about, which does as
        much with the same identifiers. No tool of the path has the words of that in its name, its inputs or its outputs. Found on the
        first two sets of requests with planted faults and on the fourth.
        """
        objects = [self._objects[tool.id] for tool in fit.tools]
        own = frozenset(
            word for one in objects for words in (one.words, one.tool.vocabulary, one.tool.attributes) for word in words
        )
        missing = [
            one
            for one in objects
            if one.name and not (one.tool.knowledge or one.tool.about_asker) and one.heads.isdisjoint(parsed.lemmas)
        ]
        if not missing:
            return ""
        for other in self._asked(_tokens(parsed, values)):
            if other.name[-1] in own or own.issuperset(other.name):
                continue
            for one in missing:
                if one.tool.reads == other.tool.reads and other.needs <= one.takes:
                    return f"the request asks for the {' '.join(other.name)}, and {one.tool.id} is about another thing"
        return ""

    def _asked(self, tokens: list[str]) -> Iterator[_Object]:
        """Yield the tools whose name is the object of a phrase, not a part of one: ``the stock``, but not ``the stock take``."""
        lemmas = list(map(noun_lemma, tokens))
        for at, word in enumerate(lemmas):
            for one in self._named.get(word, ()):
                first = at + 1 - len(one.name)
                if first >= 0 and tuple(lemmas[first : at + 1]) == one.name and _is_object(tokens, first, at):
                    yield one


def _is_object(tokens: list[str], first: int, last: int) -> bool:
    before, following = tokens[max(0, first - _MAX_BEFORE) : first], tokens[last + 1 : last + 2]
    opens = not before or not before[-1].isalpha() or before[-1] in _DIRECTIONS.words("courtesies")
    if first == last and opens and is_verb(tokens[first]):
        return False
    phrase = list(takewhile(str.isalpha, reversed(before)))
    if not _TOOLS.words("attaching").isdisjoint(phrase):
        return False
    return not (following and is_noun(noun_lemma(following[0])) and not _goes_on(following[0]))


def _goes_on(word: str) -> bool:
    """Whether a word after a noun makes no other thing of it: ``team members``, ``cases on``."""
    return noun_lemma(word) in PERSONS or word in _TOOLS.words("prepositions")


def _nouns(name: Iterable[str]) -> tuple[str, ...]:
    """The nouns of the name of a tool, up to the first preposition."""
    named = list(name)
    thing = [named[0], *takewhile(lambda word: word not in _TOOLS.words("name_ends"), named[1:])] if named else []
    return tuple(
        noun_lemma(word)
        for at, word in enumerate(thing)
        if word not in _VERBS and not (at == 0 and len(thing) > 1 and is_verb(word))
    )


def _tokens(parsed: ParsedRequest, values: Collection[SampleValue]) -> list[str]:
    """The words of the wants, without values and without what only introduces a condition."""
    asking = [clause for clause in parsed.clauses if clause.kind not in ("statement", "opening", "condition")]
    kept = [" "] * len(parsed.masked)
    for clause in asking:
        kept[clause.start : clause.end] = parsed.masked[clause.start : clause.end]
    for cue in parsed.all_condition_cues:
        if cue.words != "if":
            kept[cue.start : cue.start + len(cue.words)] = "0" * len(cue.words)
    for name in parsed.of_kind("name"):
        kept[name.start : name.end] = "0" * len(name.text)
    text = "".join(kept)
    for value in sorted((value.value.lower() for value in values if len(value.value) > 2), key=len, reverse=True):
        text = text.replace(value, " 0 ")
    return _TOKEN.findall(text)
