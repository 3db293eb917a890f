"""The analysed request: its typed values, vector, weighted terms and n-grams, computed once; and the same of its clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

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
    :param parts: of a request over needs, which is its clauses: its query, where it has one, and each distinct need.
    """

    ngrams: tuple[str, ...]
    clauses: tuple[Clause, ...] = ()
    parts: tuple[Query, ...] = ()


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
    return _query(whole, text, values or (), abbreviations, everything, tuple(rest))


def analyse_needs(
    parts: Sequence[str],
    encoder: Encoder | None,
    abbreviations: Mapping[str, str],
    *,
    values: Sequence[Sequence[TypedValue] | None],
    needs: int,
    decomposed: bool = False,
) -> Query:
    """Analyse a request over needs: each part by itself, a need as one clause, for it is one capability; and all of them as one text.

    :param parts: as in :attr:`retrieval.query.request.Request.parts`; the last ``needs`` of them are needs.
    :param encoder: None for no vectors.
    :param values: the typed values of each part, in order; None matches it as it is, as in :func:`analyse`.
    :param decomposed: whether the clauses of the query are analysed too.
    :raises ModelError: when the encoder is down.
    """
    queries = [
        analyse(part, encoder, abbreviations, values=of_part, decomposed=decomposed)
        for part, of_part in zip(parts[:-needs], values, strict=False)
    ]
    text = ". ".join(parts) + "."
    starts = [0, *accumulate(len(part) + len(". ") for part in parts)]
    spans: list[Spans] = [((at, at + len(part)),) for at, part in zip(starts, parts, strict=False)]
    placed = [
        replace(value, start=start + value.start, end=start + value.end)
        for start, of_part in zip(starts, values, strict=False)
        for value in of_part or ()
    ]

    def part_of(span: Spans, vector_D: Floats1d | None) -> Query:
        clause = _clause(text, None if None in values else placed, span, vector_D)
        return _query(clause, text, placed, abbreviations, span)

    analysed = [*spans[-needs:], ((0, len(text)),)] if len(parts) > 1 else spans
    vectors: Sequence[Floats1d | None] = [None] * len(analysed)
    if encoder is not None:
        vectors = list(encoder.encode([typed_text(text, placed, span) for span in analysed]))
    found = [part_of(span, vector_D) for span, vector_D in zip(analysed, vectors, strict=True)]
    every = (*queries, *found[:needs])
    clauses = tuple(clause for part in every for clause in part.clauses or (part,)) if len(every) > 1 else ()
    return replace(found[-1], clauses=clauses, parts=every)


def _query(
    whole: Clause,
    text: str,
    values: Sequence[TypedValue],
    abbreviations: Mapping[str, str],
    spans: Spans,
    clauses: tuple[Clause, ...] = (),
) -> Query:
    said = [piece for piece, value in split_at_values(text, values, spans) if value is None]
    return Query(
        text=whole.text,
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
