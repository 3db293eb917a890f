"""The analysed request: its typed values, vector, weighted terms and n-grams, computed once; and the same of its clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inference.arrays import Floats1d
from inference.clause_vectors import encode_clauses
from inference.encoder import Encoder
from retrieval.index.analysis import ngrams, terms
from retrieval.query.decompose import Spans, clause_spans
from retrieval.query.term_weights import term_weights
from retrieval.query.typed_text import split_at_values, typed_text
from retrieval.query.typed_values import TypedValue

__all__ = ["Clause", "Query", "analyse", "analyse_needs"]


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
    values: Sequence[TypedValue] | None = None,
    decomposed: bool = False,
) -> Query:
    """Analyse a request. The request and its clauses are encoded in one call, in one pass where the encoder can.

    :param encoder: None for no vectors.
    :param values: its typed values in order (:func:`retrieval.query.typed_values.find_values`); None matches the request as it is, all
        of it words, for baselines.
    :param decomposed: whether the clauses are analysed too.
    :raises ModelError: when the encoder is down.
    """
    everything: Spans = ((0, len(text)),)
    clauses = clause_spans(text, values or ()) if decomposed else []
    parts = [everything, *clauses] if len(clauses) > 1 else [everything]
    vectors: Sequence[Floats1d | None] = [None] * len(parts)
    if encoder is not None:
        request, *rest_texts = (typed_text(text, values or (), spans) for spans in parts)
        vectors = list(encode_clauses(encoder, request, rest_texts))
    whole, *rest = (_clause(text, values, spans, vector_D) for spans, vector_D in zip(parts, vectors, strict=True))
    return _query(whole, text, values or (), abbreviations, tuple(rest))


def analyse_needs(
    needs: Sequence[str],
    encoder: Encoder | None,
    abbreviations: Mapping[str, str],
    *,
    values: Sequence[Sequence[TypedValue] | None],
) -> list[Query]:
    """Analyse the needs of a request, each by itself and as one clause: a need is one capability. They are encoded in one call.

    :param encoder: None for no vectors.
    :param values: the typed values of each need, in order; None matches it as it is, as in :func:`analyse`.
    :raises ModelError: when the encoder is down.
    """
    vectors: Sequence[Floats1d | None] = [None] * len(needs)
    if encoder is not None:
        texts = [typed_text(need, found or (), ((0, len(need)),)) for need, found in zip(needs, values, strict=True)]
        vectors = list(encoder.encode(texts))
    return [
        _query(_clause(need, found, ((0, len(need)),), vector_D), need, found or (), abbreviations)
        for need, found, vector_D in zip(needs, values, vectors, strict=True)
    ]


def _query(
    whole: Clause,
    text: str,
    values: Sequence[TypedValue],
    abbreviations: Mapping[str, str],
    clauses: tuple[Clause, ...] = (),
) -> Query:
    said = [piece for piece, value in split_at_values(text, values, ((0, len(text)),)) if value is None]
    return Query(
        text=text,
        vector_D=whole.vector_D,
        terms=whole.terms,
        weights=whole.weights,
        values=whole.values,
        ngrams=tuple(ngrams(said, abbreviations)),
        clauses=clauses,
    )


def _clause(text: str, values: Sequence[TypedValue] | None, spans: Spans, vector_D: Floats1d | None) -> Clause:
    said = " ".join(text[start:end] for start, end in spans)
    plain = tuple(terms(said))
    return Clause(
        text=said,
        vector_D=vector_D,
        terms=plain,
        weights=Counter(plain) if values is None else term_weights(text, values, spans),
        values=tuple(_within(values or (), spans)),
    )


def _within(values: Sequence[TypedValue], spans: Spans) -> Iterator[TypedValue]:
    """Yield the values in these parts of the request; both are in its order."""
    others = iter(values)
    value = next(others, None)
    for start, end in spans:
        while value is not None and value.start < end:
            if start <= value.start:
                yield value
            value = next(others, None)
