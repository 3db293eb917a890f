"""The analysed request: its vector, its index terms and its n-grams, computed once; and the same of its clauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.arrays import Floats1d
from inference.clause_vectors import encode_clauses
from inference.encoder import Encoder
from retrieval.index.analysis import ngrams, terms
from retrieval.query.decompose import decompose

__all__ = ["Clause", "Query", "analyse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a request, or all of it.

    :param vector_D: L2-normalised, float32 [D], or None where there is no encoder.
    :param terms: index terms in order, with repeats.
    """

    text: str
    vector_D: Floats1d | None
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Clause):
    """A whole request.

    :param ngrams: distinct canonical n-grams, longest first.
    :param clauses: its clauses in order, where it has several and was decomposed.
    """

    ngrams: tuple[str, ...]
    clauses: tuple[Clause, ...] = ()


def analyse(text: str, encoder: Encoder | None, abbreviations: Mapping[str, str], *, decomposed: bool = False) -> Query:
    """Analyse a request. The request and its clauses are encoded in one call, in one pass where the encoder can.

    :param encoder: None for no vectors.
    :param decomposed: whether the clauses are analysed too.
    :raises ModelError: when the encoder is down.
    """
    clauses = decompose(text) if decomposed else (text,)
    texts = (text, *clauses) if len(clauses) > 1 else (text,)
    vectors: Sequence[Floats1d | None] = [None] * len(texts)
    if encoder is not None:
        vectors = list(encode_clauses(encoder, text, texts[1:]))
    whole, *parts = (
        Clause(text=part, vector_D=vector_D, terms=tuple(terms(part)))
        for part, vector_D in zip(texts, vectors, strict=True)
    )
    return Query(
        text=text,
        vector_D=whole.vector_D,
        terms=whole.terms,
        ngrams=tuple(ngrams(text, abbreviations)),
        clauses=tuple(parts),
    )
