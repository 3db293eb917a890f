"""The analysed request: its typed values, vector, weighted terms and n-grams, computed once; and the same of its clauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.arrays import Floats1d
from inference.encoder import Encoder
from retrieval.index.analysis import ngrams, terms
from retrieval.query.decompose import Spans, clause_spans
from retrieval.query.term_weights import term_weights
from retrieval.query.typed_text import split_at_values, typed_text
from retrieval.query.typed_values import TypedValue

__all__ = ["Clause", "Query", "analyse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a request, or all of it.

    :param text: as the user wrote it.
    :param vector_D: L2-normalised, float32 [D], or None where there is no encoder.
    :param terms: index terms in order, with repeats, those of values included.
    :param weights: term → how much it counts in lexical matching, > 0: how often the text has it, less where a value has it.
    :param values: its typed values in order; their places are those in the whole request.
    """

    text: str
    vector_D: Floats1d | None
    terms: tuple[str, ...]
    weights: Mapping[str, float] = field(hash=False)
    values: tuple[TypedValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Clause):
    """A whole request.

    :param ngrams: distinct canonical n-grams, longest first; none has a word of a value.
    :param clauses: its clauses in order, where it has several and was decomposed.
    """

    ngrams: tuple[str, ...]
    clauses: tuple[Clause, ...] = ()


def analyse(
    text: str,
    encoder: Encoder | None,
    abbreviations: Mapping[str, str],
    *,
    values: Sequence[TypedValue] = (),
    decomposed: bool = False,
) -> Query:
    """Analyse a request. The request and its clauses are encoded in one call.

    :param encoder: None for no vectors.
    :param values: its typed values in order (:func:`retrieval.query.typed_values.find_values`); without them all of it is words.
    :param decomposed: whether the clauses are analysed too.
    :raises ModelError: when the encoder is down.
    """
    everything: Spans = ((0, len(text)),)
    clauses = clause_spans(text, values) if decomposed else []
    parts = [everything, *clauses] if len(clauses) > 1 else [everything]
    texts = [typed_text(text, values, spans) for spans in parts]
    vectors: Sequence[Floats1d | None] = [None] * len(parts) if encoder is None else list(encoder.encode(texts))
    whole, *rest = (_clause(text, values, spans, vector_D) for spans, vector_D in zip(parts, vectors, strict=True))
    said = [piece for piece, value in split_at_values(text, values, everything) if value is None]
    return Query(
        text=text,
        vector_D=whole.vector_D,
        terms=whole.terms,
        weights=whole.weights,
        values=whole.values,
        ngrams=tuple(ngrams(said, abbreviations)),
        clauses=tuple(rest),
    )


def _clause(text: str, values: Sequence[TypedValue], spans: Spans, vector_D: Floats1d | None) -> Clause:
    said = " ".join(text[start:end] for start, end in spans)
    return Clause(
        text=said,
        vector_D=vector_D,
        terms=tuple(terms(said)),
        weights=term_weights(text, values, spans),
        values=tuple(value for start, end in spans for value in values if start <= value.start and value.end <= end),
    )
