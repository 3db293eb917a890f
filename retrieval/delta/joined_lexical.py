"""Lexical indexes of a snapshot and of a segment under one numbering.

Frequencies, and so the inverse document frequency of every term, are those of the joined catalogue. The mean length of a field, by
which BM25 judges the length of a tool's text, is that of the snapshot: it is stored in the weights only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ontology.tool import Tool
from retrieval.delta.numbering import Numbering
from retrieval.index.analysis import terms
from retrieval.index.bm25 import Bm25Index, Postings, hash_text, mean_length, term_weight
from retrieval.index.name_coverage import name_terms

__all__ = ["joined_fields", "joined_names"]

_Documents = Sequence[Sequence[str]]
_SAMPLED = 5  # tools of a snapshot from which a mean length is found


def joined_fields(
    fields: Mapping[str, Bm25Index],
    texts: Mapping[str, Callable[[Tool], str]],
    numbering: Numbering,
    tools: Sequence[Tool],
    tool_of_base: Callable[[int], Tool],
) -> dict[str, Bm25Index]:
    """Return the BM25 indexes of the joined catalogue.

    :param texts: field → the function that returns its text.
    :param tools: the added tools.
    :param tool_of_base: a tool of the snapshot by its number there.
    """
    return {
        name: _joined_field(
            index, numbering, [terms(texts[name](tool)) for tool in tools], partial(_terms, tool_of_base, texts[name])
        )
        for name, index in fields.items()
    }


def joined_names(base: Bm25Index, numbering: Numbering, tools: Sequence[Tool]) -> Bm25Index:
    """Return the index of name coverage of the joined catalogue, as a build makes it: a tool's postings are the terms of its name."""
    joined = _Joined.of(base, numbering, [sorted(set(name_terms(tool))) for tool in tools])
    idf = np.log1p(numbering.tool_count / (1 + joined.after))
    places, numbers, _ = joined.kept
    added_places, added_numbers = joined.added
    of_names = np.bincount(
        np.concatenate((numbers, added_numbers)),
        weights=idf[np.concatenate((places, added_places))],
        minlength=numbering.tool_count,
    )
    return joined.index(idf[places] / of_names[numbers], idf[added_places] / of_names[added_numbers])


def _joined_field(
    base: Bm25Index,
    numbering: Numbering,
    documents: _Documents,
    document_of_base: Callable[[int], Sequence[str]],
) -> Bm25Index:
    counted = [Counter(document) for document in documents]
    joined = _Joined.of(base, numbering, [list(counts) for counts in counted])
    mean = _mean_length(base, document_of_base) or sum(map(len, documents)) / max(1, len(documents))
    weights = [
        term_weight(joined.idf(term), count, len(document), mean)
        for document, counts in zip(documents, counted, strict=True)
        for term, count in counts.items()
    ]
    places, _, kept = joined.kept
    factors = _idf(numbering.tool_count, joined.after) / _idf(base.size, joined.before)
    return joined.index(kept * factors[places], np.asarray(weights))


def _terms(tool_of_base: Callable[[int], Tool], text_of: Callable[[Tool], str], number: int) -> list[str]:
    return terms(text_of(tool_of_base(number)))


def _mean_length(base: Bm25Index, document: Callable[[int], Sequence[str]]) -> float:
    """The mean length of a field in a snapshot, from the weights of some tools; 0 where no tool has a term."""
    docs = base.postings.docs
    tools = {int(docs[place]) for place in np.linspace(0, len(docs) - 1, _SAMPLED, dtype=np.int64)} if len(docs) else ()
    found = [mean_length(base, tool, document(tool)) for tool in sorted(tools)]
    return float(np.median(found)) if found else 0.0


def _idf(size: int, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.log(1.0 + (size - frequencies + 0.5) / (frequencies + 0.5))


def _with_terms(terms: NDArray[np.uint64], added: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The union of distinct ascending terms with a few others, ascending; no sort of them all."""
    wanted = np.unique(added)
    at = np.searchsorted(terms, wanted)
    new = at == np.searchsorted(terms, wanted, side="right")
    return np.insert(terms, at[new], wanted[new])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joined:
    """The postings of a snapshot without its dropped tools, beside those of the added tools.

    :param terms: hashes of all terms, ascending, uint64 [terms].
    :param before: number of tools of the snapshot with each term, int64 [terms]; 1 for a term that it does not have.
    :param after: the same of the joined catalogue.
    :param kept: position in ``terms``, new tool number and weight of each kept posting.
    :param added: position in ``terms`` and new tool number of each added posting.
    """

    terms: NDArray[np.uint64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    kept: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]
    added: tuple[NDArray[np.int64], NDArray[np.int64]]
    size: int

    @classmethod
    def of(cls, base: Bm25Index, numbering: Numbering, documents: _Documents) -> _Joined:
        """Join the postings of a field with the distinct terms of each added tool."""
        postings = base.postings
        hashes = np.asarray([hash_text(term) for words in documents for term in words], dtype=np.uint64)
        known = _with_terms(postings.terms, hashes)
        frequencies = np.diff(postings.pointers)
        places = np.searchsorted(known, postings.terms)
        before = np.ones(len(known), dtype=np.int64)
        before[places] = frequencies
        numbers = numbering.of_base[postings.docs]
        stay = numbers >= 0
        kept = np.repeat(places, frequencies)[stay]
        added = np.searchsorted(known, hashes)
        tools = np.repeat(numbering.of_added[: len(documents)], [len(words) for words in documents])
        return cls(
            terms=known,
            before=before,
            after=np.bincount(kept, minlength=len(known)) + np.bincount(added, minlength=len(known)),
            kept=(kept, numbers[stay], postings.weights[stay]),
            added=(added, tools),
            size=numbering.tool_count,
        )

    def idf(self, term: str) -> float:
        """The inverse document frequency of a term of the joined catalogue."""
        return float(_idf(self.size, self.after[np.searchsorted(self.terms, np.uint64(hash_text(term)))]))

    def index(self, kept: NDArray[np.float64], added: NDArray[np.float64]) -> Bm25Index:
        """The joined index with the weights of the kept and of the added postings, float64."""
        places, tools, _ = self.kept
        added_places, added_tools = self.added
        order = np.lexsort((added_tools, added_places))
        at = np.searchsorted(places * self.size + tools, added_places[order] * self.size + added_tools[order])
        pointers = np.zeros(len(self.terms) + 1, dtype=np.int64)
        np.cumsum(self.after, out=pointers[1:])
        used = self.after > 0
        return Bm25Index(
            Postings(
                terms=self.terms[used],
                pointers=np.append(pointers[:-1][used], pointers[-1]),
                docs=np.insert(tools, at, added_tools[order]).astype(np.int32),
                weights=np.insert(kept, at, added[order]).astype(np.float32),
            ),
            self.size,
        )
