"""Leakage: how much of a request stands word for word in the documents of the tools it is labelled with.

A request made of its tools' own words is found by matching words, and tells nothing about how people ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ontology.names import words
from ontology.tool import Tool
from retrieval.index.analysis import terms

__all__ = ["Leakage", "measure_leakage"]

_MACHINE_SPELLING = re.compile(r"[^\W_][_/.:\-][^\W_]|[a-z0-9][A-Z]")  # snake_case, a/b, camelCase
_LONG_NAME = 3  # words: a shorter title may well be what people call it


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage:
    """What a set of requests shares with the names, titles and descriptions of its gold tools.

    :param content_words: share of the requests' content words that stand there, inflection aside, in [0, 1].
    :param content_bigrams: share of the pairs of neighbouring content words that stand there as neighbours, in [0, 1].
    :param requests_with_names: how many requests contain the id of a tool, or its name as a machine spells it or of
        three words; ``ids`` names them.
    """

    requests: int
    content_words: float
    content_bigrams: float
    requests_with_names: int
    ids: tuple[str, ...]


def measure_leakage(requests: Iterable[tuple[str, str, Sequence[Tool]]]) -> Leakage:
    """The leakage of requests, each given as its id, its text and its gold tools."""
    said = shared = pairs = shared_pairs = count = 0
    ids: list[str] = []
    for request_id, text, tools in requests:
        content = terms(text)
        neighbours = list(pairwise(content))
        documents = [_document(tool.name, tool.title, tool.description) for tool in tools]
        count += 1
        said += len(content)
        shared += sum(any(term in document.words for document in documents) for term in content)
        pairs += len(neighbours)
        shared_pairs += sum(any(pair in document.pairs for document in documents) for pair in neighbours)
        if _contains_name(text, tools):
            ids.append(request_id)
    return Leakage(
        requests=count,
        content_words=round(shared / max(said, 1), 4),
        content_bigrams=round(shared_pairs / max(pairs, 1), 4),
        requests_with_names=len(ids),
        ids=tuple(ids),
    )


class _Document(NamedTuple):
    """The content words of a tool's document, and their neighbouring pairs."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]


@lru_cache(maxsize=1 << 14)
def _document(*fields: str) -> _Document:
    read = [terms(text) for text in fields]
    return _Document(
        words=frozenset(term for each in read for term in each),
        pairs=frozenset(pair for each in read for pair in pairwise(each)),
    )


def _contains_name(text: str, tools: Iterable[Tool]) -> bool:
    """Whether a text contains the id or a name of a tool."""
    lower, spaced = text.casefold(), f" {' '.join(words(text))} "
    for tool in tools:
        for name in (tool.id, tool.name, tool.title):
            if " " not in name and _MACHINE_SPELLING.search(name) and name.casefold() in lower:
                return True
            if len(words(name)) >= _LONG_NAME and f" {' '.join(words(name))} " in spaced:
                return True
    return False
