"""The terms of a request for lexical matching, and how much each counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from retrieval.index.analysis import terms
from retrieval.query.decompose import Spans
from retrieval.query.typed_text import noun_of, split_at_values
from retrieval.query.typed_values import TypedValue

__all__ = ["term_weights"]

# Chosen, not tuned: a word inside a value may name a thing, but was not said to.
_OWN_WEIGHT = 0.5
_NOUN_WEIGHT = 1.0


def term_weights(text: str, values: Sequence[TypedValue], spans: Spans) -> Mapping[str, float]:
    """Term → how much it counts, > 0, in parts of a request: how often they have it, half where a value has it.

    A value adds the terms of its noun; of its own terms those with a digit do not count.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for piece, value in split_at_values(text, values, spans):
        if value is None:
            for term in terms(piece):
                weights[term] += 1.0
            continue
        for term in terms(piece):
            if not any(map(str.isdigit, term)):
                weights[term] += _OWN_WEIGHT
        for term in terms(noun_of(value)):
            weights[term] += _NOUN_WEIGHT
    return dict(weights)
