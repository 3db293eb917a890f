"""The terms of a request for lexical matching, and how much each counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from retrieval.index.analysis import terms
from retrieval.query.decompose import Spans
from retrieval.query.everyday_verbs import formal_terms
from retrieval.query.typed_text import noun_of, split_at_values
from retrieval.query.typed_values import TypedValue

__all__ = ["term_weights"]

# Chosen, not tuned: a word inside a value may name a thing, but was not said to.
_OWN_WEIGHT = 0.5
_NOUN_WEIGHT = 1.0
_EVERYDAY_WEIGHT = 0.3


def term_weights(text: str, values: Sequence[TypedValue], spans: Spans) -> Mapping[str, float]:
    """Term → how much it counts, > 0, in parts of a request: how often they have it, half where a value has it.

    A value adds the terms of its noun; of its own terms those with a digit do not count. Everyday phrases add the terms that they stand
    for. Abbreviations are not expanded: that gained nothing on thirteen sets and cost 2 points on the fourteenth.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for piece, value in split_at_values(text, values, spans):
        for term, weight in _of_words(piece) if value is None else _of_value(value):
            weights[term] += weight
    for start, end in spans:
        for term in formal_terms(text[start:end]):
            weights.setdefault(term, _EVERYDAY_WEIGHT)
    return dict(weights)


def _of_words(text: str) -> Iterator[tuple[str, float]]:
    return ((term, 1.0) for term in terms(text))


def _of_value(value: TypedValue) -> Iterator[tuple[str, float]]:
    yield from ((term, _OWN_WEIGHT) for term in terms(value.text) if not any(map(str.isdigit, term)))
    yield from ((term, _NOUN_WEIGHT) for term in terms(noun_of(value)))
