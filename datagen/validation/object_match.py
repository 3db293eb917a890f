"""Objects: which things of the catalogue a request names, and whether its path is about them or about their siblings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from datagen.validation.parsed_request import Reading
from datagen.validation.path_fit import Fit
from datagen.validation.synonyms import say
from datagen.validation.tool_slots import ToolSlots
from ingest.linking import action_of
from ontology.names import is_verb, noun_lemma

__all__ = ["Objects"]

_WORD = re.compile(r"[a-z]+")
_FILLERS = frozenset("no number nr id code is ref reference our the my this that their a an called named s".split())
_DEIXIS = [["that"], ["this"], ["any"], ["which"], ["either"], ["to"], ["you"], ["please"]]
"""What follows these is no name of what comes next: ``in that case OP-802``."""
_LONGEST = 3


class Objects:
    """The things that the tools of a catalogue are about or are told, by what people call them.

    :param tools: all tools of the catalogue.
    """

    def __init__(self, tools: Iterable[ToolSlots]) -> None:
        entities = {entity for tool in tools for entity in (tool.entity, *tool.keys) if entity}
        called: dict[str, set[str]] = defaultdict(set)
        for entity in sorted(entities):
            for phrase in (entity, *say(entity)[:1]):
                if action_of(phrase) == "":
                    called[_lemmas(phrase)].add(entity)
        self._called = {phrase: frozenset(found) for phrase, found in called.items()}

    def mistaken(self, reading: Reading, found: Fit) -> str:
        """The phrase by which the request names something that no tool of its path is about, or empty.

        Only what is said right before an identifier, and siblings of what the path is about, are looked at: a request
        may mention anything else besides.
        """
        known = {entity for tool in found.tools for entity in (tool.entity, *tool.keys, *tool.gives) if entity}
        told = {_lemmas(phrase) for entity in known for phrase in (entity, *say(entity))}
        words = {word for phrase in told for word in phrase.split()}
        words |= {word for tool in found.tools for word in tool.vocabulary}
        for phrase in self._announced(reading):
            if not self._called[phrase] & known and not set(phrase.split()) <= words:
                return phrase
        return self._sibling(reading, found, known)

    def _announced(self, reading: Reading) -> Iterator[str]:
        for value in reading.of_kind("id"):
            said = [noun_lemma(word) for word in _WORD.findall(reading.plain[max(0, value.start - 40) : value.start])]
            while said and said[-1] in _FILLERS:
                said.pop()
            for length in range(_LONGEST, 0, -1):
                phrase = " ".join(said[-length:])
                if phrase in self._called and len(said) >= length:
                    orders = len(said) == length and value.start <= 40 and is_verb(said[0])
                    if said[-length - 1 : -length] not in _DEIXIS and not orders:
                        yield phrase
                    break

    def _sibling(self, reading: Reading, found: Fit, known: set[str]) -> str:
        said = [noun_lemma(word) for word in _WORD.findall(reading.plain)]
        mine = {_lemmas(phrase) for tool in found.tools if tool.entity for phrase in (tool.entity, *say(tool.entity))}
        heads = {phrase.split()[-1] for phrase in mine if len(phrase.split()) > 1}
        for length in (3, 2):
            for at in range(len(said) - length + 1):
                phrase = " ".join(said[at : at + length])
                named = self._called.get(phrase)
                if named and not named & known and phrase.split()[-1] in heads and phrase not in mine:
                    return phrase
        return ""


@lru_cache(maxsize=1 << 14)
def _lemmas(phrase: str) -> str:
    return " ".join(noun_lemma(word) for word in _WORD.findall(phrase.lower()))
