"""A request and its clauses, encoded in one pass where the encoder can (late chunking, Günther et al., 2024).

The vector of a clause is then the mean of the vectors of its tokens, which have been computed for the request already. Encoding
each clause by itself costs as much again as the request, or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from inference.arrays import Floats2d
from inference.encoder import Encoder

__all__ = ["Span", "SpanEncoder", "encode_clauses", "pooled", "spans_of"]

Span: TypeAlias = tuple[int, int]
"""Start and end of a part of a text, in characters."""


@runtime_checkable
class SpanEncoder(Encoder, Protocol):
    """An encoder that gives the vectors of parts of a text with the vector of the text."""

    def encode_spans(self, text: str, spans: Sequence[Span]) -> Floats2d:
        """Encode a text and parts of it.

        :returns: float32 [1 + spans, dimensions]. The first row is that of the text, as ``encode`` gives it; then one for each
            part, of length 1, or all zeros for a part without content. Never NaN.
        :raises ModelError: as ``encode`` does.
        """
        ...


def encode_clauses(encoder: Encoder, text: str, clauses: Sequence[str]) -> Floats2d:
    """The vectors of a request and of its clauses, float32 [1 + clauses, dimensions].

    One pass where the encoder can and the clauses are parts of the text in its order; else each text is encoded by itself.

    :raises ModelError: as :meth:`inference.encoder.Encoder.encode` does.
    """
    spans = spans_of(text, clauses) if clauses and isinstance(encoder, SpanEncoder) else None
    if spans is None or not isinstance(encoder, SpanEncoder):
        return encoder.encode([text, *clauses])
    return encoder.encode_spans(text, spans)


def spans_of(text: str, clauses: Sequence[str]) -> list[Span] | None:
    """Where the words of each clause begin and end in a text; None where they are not the words of the text in its order."""
    spans: list[Span] = []
    end = 0
    for clause in clauses:
        start = -1
        for word in clause.split():
            at = text.find(word, end)
            if at < 0:
                return None
            start, end = (at if start < 0 else start), at + len(word)
        spans.append((max(start, 0), end if start >= 0 else 0))
    return spans


def pooled(tokens_TD: Floats2d, offsets: Sequence[Span], spans: Sequence[Span]) -> Floats2d:
    """The mean of the tokens of each span, L2-normalised, float32 [spans, D]; zeros where a span has no token.

    :param tokens_TD: vector of each token, float32 [tokens, D].
    :param offsets: where each token stands in the text; empty for a special token.
    """
    starts_T, ends_T = np.asarray(offsets, dtype=np.int64).reshape(-1, 2).T
    starts_S, ends_S = np.asarray(spans, dtype=np.int64).reshape(-1, 2).T
    inside_ST = (starts_T < ends_S[:, None]) & (ends_T > starts_S[:, None]) & (ends_T > starts_T)
    sums_SD = inside_ST.astype(np.float32) @ tokens_TD
    lengths_S = np.linalg.norm(sums_SD, axis=1, keepdims=True)
    return np.asarray(sums_SD / np.maximum(lengths_S, np.float32(1e-12)), dtype=np.float32)
