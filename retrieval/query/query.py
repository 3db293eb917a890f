"""The analysed request: its vector, its index terms and its n-grams, each made once; and the same of its clauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.arrays import Floats1d
from inference.encoder import Encoder
from ontology.errors import ModelError
from retrieval.index.analysis import ngrams, terms
from retrieval.query.decompose import clauses

__all__ = ["Clause", "Query", "analyse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a request, or all of it.

    :param vector_D: L2-normalised, float32 [D], or None when the encoder is down.
    :param terms: index terms in order, repeats kept.
    """

    text: str
    vector_D: Floats1d | None
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Clause):
    """A request as the stages of retrieval see it.

    :param ngrams: distinct canonical n-grams, longest first.
    :param clauses: its parts in order, where it has several and they were asked for.
    """

    ngrams: tuple[str, ...]
    clauses: tuple[Clause, ...] = ()


def analyse(
    text: str, encoder: Encoder | None, abbreviations: Mapping[str, str], *, split: bool = False
) -> tuple[Query, tuple[str, ...]]:
    """Analyse a request; the second value says what had to be left out and why.

    :param encoder: None where no vector is wanted.
    :param split: whether its clauses are wanted too.
    """
    parts = clauses(text) if split else (text,)
    texts = (text, *parts) if len(parts) > 1 else (text,)
    vectors, fallbacks = _encode(texts, encoder)
    whole, *rest = (
        Clause(text=part, vector_D=vector_D, terms=tuple(terms(part)))
        for part, vector_D in zip(texts, vectors, strict=True)
    )
    query = Query(
        text=text,
        vector_D=whole.vector_D,
        terms=whole.terms,
        ngrams=tuple(ngrams(text, abbreviations)),
        clauses=tuple(rest),
    )
    return query, fallbacks


def _encode(texts: Sequence[str], encoder: Encoder | None) -> tuple[list[Floats1d | None], tuple[str, ...]]:
    if encoder is not None:
        try:
            return list(encoder.encode(list(texts))), ()
        except ModelError as error:
            return [None] * len(texts), (f"no semantic matching: {error.problem}",)
    return [None] * len(texts), ()
