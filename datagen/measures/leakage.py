"""Leakage: how much of a request stands word for word in the documents of the tools it is labelled with.

A request made of its tools' own words is found by matching words, and says nothing of how people ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from ontology.names import words
from ontology.tool import Tool
from retrieval.index.analysis import terms

__all__ = ["LeakFinder", "Leakage", "measure_leakage"]

_SPELT_BY_MACHINE = re.compile(r"[^\W_][_/.:\-][^\W_]|[a-z0-9][A-Z]")  # snake_case, a/b, camelCase
_LONG_NAME = 3  # words: a shorter title may well be what people call it


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage:
    """What a set of requests shares with the names, titles and descriptions of its gold tools.

    :param words: share of the requests' content words that stand there, inflection aside, in [0, 1].
    :param bigrams: share of the pairs of neighbouring content words that stand there as neighbours, in [0, 1].
    :param names: the requests that say an id, or a name as a machine spells it or of three words, by number from 0.
    """

    requests: int
    words: float
    bigrams: float
    names: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "requests": self.requests,
            "content_words": round(self.words, 4),
            "content_bigrams": round(self.bigrams, 4),
            "requests_with_names": len(self.names),
        }


def measure_leakage(requests: Iterable[tuple[str, Sequence[Tool]]]) -> Leakage:
    """The leakage of requests, each given with its gold tools."""
    finder = LeakFinder()
    shared = said = shared_pairs = pairs = count = 0
    names: list[int] = []
    for number, (text, tools) in enumerate(requests):
        content = terms(text)
        known, known_pairs = finder.content(tools)
        neighbours = list(pairwise(content))
        said += len(content)
        shared += sum(term in known for term in content)
        pairs += len(neighbours)
        shared_pairs += sum(pair in known_pairs for pair in neighbours)
        count += 1
        if finder.names(text, tools):
            names.append(number)
    return Leakage(
        requests=count, words=shared / max(said, 1), bigrams=shared_pairs / max(pairs, 1), names=tuple(names)
    )


class LeakFinder:
    """What tools' documents say, read once a tool."""

    def __init__(self) -> None:
        self._content = cache(_content)
        self._names = cache(_names)

    def content(self, tools: Iterable[Tool]) -> tuple[set[str], set[tuple[str, str]]]:
        """The content words of the tools' names, titles and descriptions, and their neighbouring pairs."""
        found: set[str] = set()
        pairs: set[tuple[str, str]] = set()
        for tool in tools:
            some, neighbours = self._content(tool.name, tool.title, tool.description)
            found |= some
            pairs |= neighbours
        return found, pairs

    def names(self, text: str, tools: Iterable[Tool]) -> tuple[str, ...]:
        """The ids and names of the tools that a text says, sorted."""
        lower, spaced = text.casefold(), f" {' '.join(words(text))} "
        found = set()
        for tool in tools:
            spelt, long = self._names(tool.id, tool.name, tool.title)
            found |= {name for name in spelt if name in lower} | {name for name in long if f" {name} " in spaced}
        return tuple(sorted(found))


def _content(*fields: str) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    read = [terms(text) for text in fields]
    return (
        frozenset(term for each in read for term in each),
        frozenset(pair for each in read for pair in pairwise(each)),
    )


def _names(*names: str) -> tuple[frozenset[str], frozenset[str]]:
    spelt = frozenset(name.casefold() for name in names if _SPELT_BY_MACHINE.search(name) and " " not in name)
    split = (words(name) for name in names)
    return spelt, frozenset(" ".join(each) for each in split if len(each) >= _LONG_NAME)
