"""The analysed request: its vector, its index terms and its n-grams, each made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inference.arrays import Floats1d
from inference.encoder import Encoder
from ontology.errors import ModelError
from retrieval.analysis import ngrams, terms

__all__ = ["Query", "analyse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A request as the stages of retrieval see it.

    :param vector_D: L2-normalised, float32 [D], or None when the encoder is down.
    :param terms: index terms in order, repeats kept.
    :param ngrams: distinct canonical n-grams, longest first.
    """

    text: str
    vector_D: Floats1d | None
    terms: tuple[str, ...]
    ngrams: tuple[str, ...]


def analyse(text: str, encoder: Encoder | None, abbreviations: Mapping[str, str]) -> tuple[Query, tuple[str, ...]]:
    """Analyse a request; the second value says what had to be left out and why.

    :param encoder: None where no vector is wanted.
    """
    degraded: tuple[str, ...] = ()
    vector_D: Floats1d | None = None
    try:
        vector_D = encoder.encode([text])[0] if encoder else None
    except ModelError as error:
        degraded = (f"no semantic matching: {error.problem}",)
    query = Query(text=text, vector_D=vector_D, terms=tuple(terms(text)), ngrams=tuple(ngrams(text, abbreviations)))
    return query, degraded
