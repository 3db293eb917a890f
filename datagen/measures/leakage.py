"""Leakage: the share of a request's words that also occur in the documents of its gold tools.

A request in the words of its own tools is easy for word matching, and does not show how people write requests.
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
_LONG_NAME = 3  # words: a shorter title may be an everyday phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage:
    """The overlap of a set of requests with the names, titles and descriptions of its gold tools.

    :param content_words: share of the requests' content words that occur there, compared as lemmas, in [0, 1].
    :param content_bigrams: share of the requests' bigrams of content words that occur there, in [0, 1].
    :param requests_with_names: number of requests with the id of a gold tool, or with its name if that is in machine
        spelling or has three words or more; ``ids`` are their ids.
    """

    requests: int
    content_words: float
    content_bigrams: float
    requests_with_names: int
    ids: tuple[str, ...]


def measure_leakage(requests: Iterable[tuple[str, str, Sequence[Tool]]]) -> Leakage:
    """Measure the leakage of requests, each given as its id, its text and its gold tools."""
    total = shared = pairs = shared_pairs = count = 0
    ids: list[str] = []
    for request_id, text, tools in requests:
        content = terms(text)
        bigrams = list(pairwise(content))
        documents = [_document(tool.name, tool.title, tool.description) for tool in tools]
        count += 1
        total += len(content)
        shared += sum(any(term in document.words for document in documents) for term in content)
        pairs += len(bigrams)
        shared_pairs += sum(any(pair in document.pairs for document in documents) for pair in bigrams)
        if _contains_name(text, tools):
            ids.append(request_id)
    return Leakage(
        requests=count,
        content_words=round(shared / max(total, 1), 4),
        content_bigrams=round(shared_pairs / max(pairs, 1), 4),
        requests_with_names=len(ids),
        ids=tuple(ids),
    )


class _Document(NamedTuple):
    """The content words of a tool's document, and their bigrams."""

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
