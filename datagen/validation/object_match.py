"""Objects: what things a request names, and whether its path is about them or about their siblings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from datagen.patterns import load_patterns
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.path_fit import PathFit
from datagen.validation.synonyms import EverydayWords
from datagen.validation.tool_slots import ToolSlots
from ingest.linking import action_of
from ontology.names import is_verb, noun_lemma

__all__ = ["ObjectNames"]

_WORD = re.compile(r"[a-z]+")
_FILLERS = load_patterns("validation/tools").words("fillers")
_DEIXIS = load_patterns("validation/tools").words("deixis")
_MAX_WORDS = 3  # of the name of an object
_MAX_CHARS_BEFORE = 40  # of an identifier, in which its object is looked for


class ObjectNames:
    """The things that the tools of a catalogue are about or take, by what people call them.

    :param tools: all tools of the catalogue.
    :param everyday: what people call its things.
    """

    def __init__(self, tools: Iterable[ToolSlots], everyday: EverydayWords) -> None:
        tools = tuple(tools)
        self._everyday = everyday
        self._siblings: dict[str, dict[str, _Names]] = defaultdict(dict)
        for tool in tools:
            if tool.entity:
                self._siblings[tool.entity.rpartition(" ")[2]][tool.entity] = _Names.of(tool.entity, everyday)
        entities = {entity for tool in tools for entity in (tool.entity, *tool.keys) if entity}
        named: dict[str, set[str]] = defaultdict(set)
        for entity in sorted(entities):
            several = [phrase for phrase in everyday.words(entity)[1:] if " " in phrase]
            for phrase in (entity, *everyday.words(entity)[:1], *several):
                if action_of(phrase) == "":
                    named[_lemmas(phrase)].add(entity)
        self._named = {phrase: frozenset(found) for phrase, found in named.items()}

    def find_wrong_object(self, parsed: ParsedRequest, fit: PathFit) -> str:
        """The phrase by which the request names something that no tool of its path is about, or empty.

        Only what stands right before an identifier, and siblings of what the path is about, are looked at: a request
        may mention anything else besides.
        """
        known = {entity for tool in fit.tools for entity in (tool.entity, *tool.keys, *tool.gives) if entity}
        named = known.union(*(tool.takes for tool in fit.tools))
        words = {word for entity in named for phrase in _phrases(entity, self._everyday) for word in phrase.split()}
        words = words.union(*(tool.vocabulary for tool in fit.tools))
        for phrase in self._announced(parsed):
            if not self._named[phrase] & known and not set(phrase.split()) <= words:
                return phrase
        return self._other_kind(parsed, fit)

    def _announced(self, parsed: ParsedRequest) -> Iterator[str]:
        """Return the names of objects directly before an identifier."""
        for value in parsed.of_kind("id"):
            said = _words(parsed.masked[max(0, value.start - _MAX_CHARS_BEFORE) : value.start])
            while said and said[-1] in _FILLERS:
                said.pop()
            for length in range(min(_MAX_WORDS, len(said)), 0, -1):
                phrase = " ".join(said[-length:])
                if phrase not in self._named:
                    continue
                before = said[-length - 1] if len(said) > length else ""
                orders = not before and value.start <= _MAX_CHARS_BEFORE and is_verb(said[0])
                if before not in _DEIXIS and not orders:
                    yield phrase
                break

    def _other_kind(self, parsed: ParsedRequest, fit: PathFit) -> str:
        """The kind of object that the request names, where a tool is about another kind that it does not name.

        A tool about the items of a sales order is wrong where the request says purchase, and never sale. Found on the two
        sets of requests with planted faults.
        """
        said = set(_words(parsed.masked))
        text = f" {' '.join(_words(parsed.masked))} "
        for tool in fit.tools:
            own = _Names.of(tool.entity, self._everyday)
            if len(own.words) < 2 or own.telling.is_said(text):
                continue
            for entity, other in self._siblings[tool.entity.rpartition(" ")[2]].items():
                theirs, mine = other.words - own.words, own.words - other.words
                named = bool(theirs) and (theirs <= said or other.telling.is_said(text))
                apart = mine and said.isdisjoint(mine) and said.isdisjoint(tool.vocabulary & mine)
                if named and apart and not own.is_said(other.without(text)):
                    return entity
        return ""


@dataclass(frozen=True, slots=True)
class _Names:
    """What an entity is called: the lemmas of its name, and its phrases."""

    words: frozenset[str]
    phrases: frozenset[str]

    @classmethod
    def of(cls, entity: str, everyday: EverydayWords) -> _Names:
        return cls(frozenset(_lemmas(entity).split()), frozenset(_phrases(entity, everyday)))

    @property
    def telling(self) -> _Names:
        """The phrases that are not only the last word of the name."""
        phrases = frozenset(phrase for phrase in self.phrases if phrase not in self.words)
        return _Names(self.words, phrases)

    def without(self, text: str) -> str:
        """Return a text without the phrases of the entity, the longest first."""
        for phrase in sorted(self.phrases, key=len, reverse=True):
            text = text.replace(f" {phrase} ", " ")
        return text

    def is_said(self, text: str) -> bool:
        return any(f" {phrase} " in text for phrase in self.phrases)


def _phrases(entity: str, everyday: EverydayWords) -> set[str]:
    """What an entity is called."""
    return {_lemmas(phrase) for phrase in (entity, *everyday.words(entity))}


def _words(text: str) -> list[str]:
    return [noun_lemma(word) for word in _WORD.findall(text)]


@lru_cache(maxsize=1 << 14)
def _lemmas(phrase: str) -> str:
    return " ".join(_words(phrase.lower()))
