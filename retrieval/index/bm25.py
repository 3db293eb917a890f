"""BM25 over postings: one index for each field, scores for all tools in one pass. A snapshot's postings are memory-mapped.

Okapi BM25 with ``k1 = 1.5``, ``b = 0.75`` and the non-negative inverse document frequency
``ln(1 + (N - df + 0.5) / (df + 0.5))``. The weight of a term in a document does not depend on the request, so it is
computed once and stored. A score is then a sum of stored weights.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inference.encoder import Floats1d
from ontology.names import expand, noun_lemma, stop_words, verb_lemma, words
from ontology.tool import Tool, tool_text
from ontology.tool_effects import effect_of
from retrieval.index.records import read_columns, write_columns

MAX_NGRAM = 3  # paper, algorithm 2: n_max = 3
_MAX_TOKENS = 4_000
_LONGEST_WORD = 40  # a longer one has no other form, and is not kept

STOP_WORDS = stop_words("index")


@lru_cache(maxsize=200_000)
def _term(word: str) -> str:
    return verb_lemma(noun_lemma(word))


def terms(text: str) -> list[str]:
    """Return the index terms of a text: lower-case words without stop words, lemmatised, in order."""
    return [_term(word) if len(word) <= _LONGEST_WORD else word for word in words(text) if word not in STOP_WORDS]


def name_key(name: str) -> str:
    """Return the n-gram that matches a node's name; empty for a name of more than three words."""
    tokens = words(name)
    return " ".join(map(noun_lemma, tokens)) if 1 <= len(tokens) <= MAX_NGRAM else ""


def ngrams(texts: Sequence[str], abbreviations: Mapping[str, str]) -> list[str]:
    """Return the distinct canonical trigrams, bigrams and unigrams of parts of a request, longest first, then in text
    order. Each n-gram also occurs with its first word as a verb lemma (``sending reminders`` matches ``send
    reminder``). N-grams that consist of stop words and numbers are left out."""
    parts: list[tuple[list[str], list[str]]] = []
    left = _MAX_TOKENS
    for text in texts:
        tokens = expand(words(text), abbreviations)[:left]
        parts.append((tokens, list(map(noun_lemma, tokens))))
        left -= len(tokens)
    found: dict[str, None] = {}
    for size in range(MAX_NGRAM, 0, -1):
        for tokens, nouns in parts:
            for start in range(len(tokens) - size + 1):
                if all(token in STOP_WORDS or token.isdigit() for token in tokens[start : start + size]):
                    continue
                rest = nouns[start + 1 : start + size]
                found[" ".join((nouns[start], *rest))] = None
                found[" ".join((verb_lemma(tokens[start]), *rest))] = None
    return list(found)


_K1 = 1.5
_B = 0.75
SPARSE_FROM = 64  # tools of the index for each tool that is asked for


def hash_text(text: str) -> int:
    """Return a stable 64-bit hash of a text (BLAKE2b): the key of every lookup table in a snapshot."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def hash_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """The hashes of several texts, as :func:`hash_text` gives them, uint64 [texts]."""
    digests = b"".join([hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, dtype="<u8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """The inverted index of one field of all tools."""

    terms: NDArray[np.uint64]  # hashes of the terms, ascending, uint64 [terms]
    pointers: NDArray[np.int64]  # start and end of the postings of each term, int64 [terms + 1]
    docs: NDArray[np.int32]  # tool numbers, ascending for each term, int32 [postings]
    weights: NDArray[np.float32]  # score that the term adds to the tool, > 0, float32 [postings]


_COUNTED = np.dtype([("term", "<u8"), ("count", "<u4")])


def count_terms(document: Iterable[str]) -> NDArray[np.void]:
    """Return how often a document has each of its terms: records of ``term``, its hash, and ``count``."""
    counts = Counter(document)
    counted = np.empty(len(counts), dtype=_COUNTED)
    counted["term"], counted["count"] = hash_texts(counts), list(counts.values())
    return counted


def make_postings(documents: Iterable[Sequence[str]]) -> Postings:
    """Return the BM25 postings of one field; ``documents`` are the index terms of each tool, in tool order."""
    return postings_of([count_terms(document) for document in documents])


def postings_of(counted: Sequence[NDArray[np.void]]) -> Postings:
    """Return the BM25 postings of one field of tools whose terms are counted, by :func:`count_terms`, in tool order."""
    docs = np.repeat(np.arange(len(counted), dtype=np.int32), np.fromiter(map(len, counted), dtype=np.int64))
    found = np.concatenate([np.empty(0, dtype=_COUNTED), *counted])
    lengths = np.bincount(docs, weights=found["count"], minlength=len(counted))
    mean = float(lengths.mean()) if lengths.any() else 1.0
    order = np.lexsort((docs, found["term"]))
    terms, sizes = np.unique(found["term"], return_counts=True)
    idf = np.repeat(np.asarray([_idf(len(counted), size) for size in sizes.tolist()]), sizes)
    docs, counts = docs[order], found["count"][order].astype(np.float64)
    weights = idf * counts * (_K1 + 1.0) / (counts + _K1 * (1.0 - _B + _B * lengths[docs] / mean))
    return Postings(
        terms=terms,
        pointers=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        docs=docs,
        weights=weights.astype(np.float32),
    )


def write_postings(folder: Path, field: str, postings: Postings) -> None:
    """Write the postings of one field."""
    write_columns(folder, f"bm25.{field}", postings)


def read_postings(folder: Path, field: str) -> Postings:
    """Open the memory-mapped postings of one field."""
    return read_columns(folder, f"bm25.{field}", Postings)


class Bm25Index:
    """Scores all ``size`` tools by the postings of one field."""

    def __init__(self, postings: Postings, size: int) -> None:
        self.size = size
        self._postings = postings
        self._visible: NDArray[np.bool_] | None = None
        self._counted = size
        self._rescaled = False

    def restricted(self, visible: NDArray[np.bool_], *, rescaled: bool = True) -> Bm25Index:
        """Return the index of some of the tools alone, under the same numbers: the others have no terms. Frequencies
        are those among these tools; the mean length of the field stays that of all. ``visible``: these tools, bool
        [size]. ``rescaled``: whether the weights follow the frequencies; False for weights that are not made of them.
        """
        index = copy.copy(self)
        index._visible, index._counted, index._rescaled = visible, int(np.count_nonzero(visible)), rescaled
        return index

    @property
    def mean_terms(self) -> float:
        """Mean number of distinct terms in the field of a tool, of all tools, >= 0."""
        return len(self._postings.docs) / max(1, self.size)

    def frequency(self, term: str) -> int:
        """Return the number of tools that have a term."""
        postings, key = self._postings, np.uint64(hash_text(term))
        at = int(np.searchsorted(postings.terms, key))
        if at >= len(postings.terms) or postings.terms[at] != key:
            return 0
        docs = postings.docs[int(postings.pointers[at]) : int(postings.pointers[at + 1])]
        return len(docs) if self._visible is None else int(np.count_nonzero(self._visible[docs]))

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term, > 0."""
        return _idf(self._counted, self.frequency(term))

    def scores(self, query_terms: Sequence[str] | Mapping[str, float]) -> Floats1d:
        """Return the BM25 score of every tool, float32 [size], >= 0. ``query_terms``: terms, of which a repeated one
        counts each time; or term → how much it counts, > 0."""
        scores = np.zeros(self.size, dtype=np.float32)
        for docs, weights in self._found(query_terms):
            scores[docs] += weights
        return scores

    def scores_of(self, tools: NDArray[np.int64], query_terms: Sequence[str] | Mapping[str, float]) -> Floats1d:
        """Return the BM25 scores of these tools, float32 [tools]; the same bits as :meth:`scores` gives. A few of many
        tools are looked up in the postings, which takes no time for the tools that are not asked for."""
        if self.size <= SPARSE_FROM * len(tools):
            return self.scores(query_terms)[tools]
        scores = np.zeros(len(tools), dtype=np.float32)
        for docs, weights in self._found(query_terms):
            places = np.minimum(np.searchsorted(docs, tools.astype(docs.dtype)), len(docs) - 1)
            having = np.flatnonzero(docs[places] == tools)
            scores[having] += weights[places[having]]
        return scores

    def best(
        self, query_terms: Sequence[str] | Mapping[str, float], count: int, *, allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Return the ``count`` tools with the highest scores, ascending by number, int64; fewer where fewer have any
        term. Of equal scores at the end, those of the lower numbers. ``allowed``: the tools that may be returned, bool,
        at least [size]; None allows all."""
        scores = self.scores(query_terms)
        if allowed is not None:
            scores[~allowed[: self.size]] = 0.0
        having = np.flatnonzero(scores > 0)
        if len(having) <= count:
            return having
        found = scores[having]
        last = np.partition(found, -count)[-count]
        above, equal = having[found > last], having[found == last]
        return np.sort(np.concatenate((above, equal[: count - len(above)])))

    def _found(self, query_terms: Sequence[str] | Mapping[str, float]) -> Iterator[tuple[NDArray[np.int32], Floats1d]]:
        """Yield for each known term of a request, in its order, the tools that have it and what it adds to their scores."""
        postings = self._postings
        counts: Mapping[str, float] = query_terms if isinstance(query_terms, Mapping) else Counter(query_terms)
        keys = hash_texts(counts)
        if not len(keys) or not len(postings.terms):
            return
        positions = np.minimum(np.searchsorted(postings.terms, keys), len(postings.terms) - 1)
        known = postings.terms[positions] == keys
        starts, stops = postings.pointers[positions[known]], postings.pointers[positions[known] + 1]
        for start, stop, count in zip(
            starts.tolist(), stops.tolist(), compress(counts.values(), known.tolist()), strict=True
        ):
            docs, weights = postings.docs[start:stop], count * postings.weights[start:stop]
            if self._visible is not None:
                having = np.flatnonzero(self._visible[docs])
                if self._rescaled:
                    weights = weights * np.float32(_idf(self._counted, len(having)) / _idf(self.size, len(docs)))
                docs, weights = docs[having], weights[having]
            if len(docs):
                yield docs, weights


def _idf(tools: int, having: int) -> float:
    return math.log(1.0 + (tools - having + 0.5) / (having + 0.5))


_FILTER_CHARS = 200


def params_text(tool: Tool) -> str:
    """Return the text of the parameters: names and descriptions of inputs (200 characters each), names of outputs."""
    inputs = " ".join(f"{parameter.name} {parameter.description[:_FILTER_CHARS]}" for parameter in tool.parameters)
    return f"{inputs} {' '.join(output.name for output in tool.returns)}"


def whole_text(tool: Tool) -> str:
    """Return title, description and parameters of a tool as one document."""
    return f"{tool_text(tool)} {params_text(tool)}"


# Map from each field with a BM25 index to the function that returns its text; descriptions of outputs have 200 characters.
FIELDS: Mapping[str, Callable[[Tool], str]] = {
    "text": tool_text,
    "params": params_text,
    "returns": lambda tool: " ".join(f"{each.name} {each.description[:_FILTER_CHARS]}" for each in tool.returns),
    "values": lambda tool: " ".join(str(value) for parameter in tool.parameters for value in parameter.enum),
    "whole": whole_text,
}
NAMES = "names"  # Name of the index of :mod:`retrieval.index.bm25`

EFFECT_KEY = "effect"  # Key of filters: what a call does, see :mod:`ontology.tool_effects`


def filter_pairs(tool: Tool) -> Iterator[tuple[str, str]]:
    """Yield the keys and values by which a tool can be filtered: its effect, scalars of its metadata, and items of lists."""
    yield EFFECT_KEY, effect_of(tool)
    for key, value in tool.metadata.items():
        # no document says that its tools only read; a key with = would be a value of another key in the table of filters
        if key == EFFECT_KEY or "=" in key:
            continue
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, (str, int, float)):
                text = str(one).lower() if isinstance(one, bool) else str(one)
                if len(text) <= _FILTER_CHARS:
                    yield key, text


def name_terms(tool: Tool) -> list[str]:
    """Return the index terms of a tool's title, and of its name where the two differ."""
    return terms(tool.title) + (terms(tool.name) if tool.title != tool.name else [])


def field_terms(tool: Tool) -> bytes:
    """Return the counted terms of all :data:`FIELDS` of a tool; :func:`field_postings` reads them."""
    counted = [count_terms(terms(text_of(tool))) for text_of in FIELDS.values()]
    sizes = np.asarray([len(each) for each in counted], dtype="<u4")
    return sizes.tobytes() + b"".join(each.tobytes() for each in counted)


def field_postings(tools: Sequence[bytes]) -> Iterator[tuple[str, Postings]]:
    """Yield each of the :data:`FIELDS` with its postings."""
    head = 4 * len(FIELDS)
    found = [np.frombuffer(each[head:], dtype=_COUNTED) for each in tools]
    sizes = np.frombuffer(b"".join(each[:head] for each in tools), dtype="<u4")
    ends_TF = np.cumsum(sizes.reshape(len(tools), len(FIELDS)), axis=1, dtype=np.int64)
    for number, name in enumerate(FIELDS):
        starts = ends_TF[:, number - 1] if number else np.zeros(len(tools), dtype=np.int64)
        ends = ends_TF[:, number]
        yield name, postings_of([rows[start:end] for rows, start, end in zip(found, starts, ends, strict=True)])


def make_coverage_postings(names: Sequence[Sequence[str]]) -> Postings:
    """Return for each term the tools with it in their name; the weight is the term's share of the name's IDF, in (0, 1]."""
    frequency = Counter(term for name in names for term in set(name))
    idf = {term: math.log1p(len(names) / (1 + count)) for term, count in frequency.items()}
    entries: dict[str, list[tuple[int, float]]] = {}
    for number, name in enumerate(names):
        distinct = sorted(set(name))
        total = sum(idf[term] for term in distinct)
        for term in distinct:
            entries.setdefault(term, []).append((number, idf[term] / total))
    keyed = sorted((hash_text(term), rows) for term, rows in entries.items())
    flat = [row for _, rows in keyed for row in rows]
    return Postings(
        terms=np.asarray([key for key, _ in keyed], dtype=np.uint64),
        pointers=np.cumsum([0, *(len(rows) for _, rows in keyed)], dtype=np.int64),
        docs=np.asarray([number for number, _ in flat], dtype=np.int32),
        weights=np.asarray([weight for _, weight in flat], dtype=np.float32),
    )


def coverage_scores(
    index: Bm25Index, query_terms: Sequence[str] | Mapping[str, float], tools: NDArray[np.int64] | None = None
) -> Floats1d:
    """Return the share of each tool's name that the query terms cover, float32 [tools], in [0, 1]. ``query_terms``:
    terms; or term → how much it counts, > 0, where more than 1 is 1. ``tools``: the tools in question; None for all."""
    weights = query_terms if isinstance(query_terms, Mapping) else dict.fromkeys(query_terms, 1.0)
    distinct = {term: min(weights[term], 1.0) for term in sorted(weights)}
    return index.scores(distinct) if tools is None else index.scores_of(tools, distinct)
