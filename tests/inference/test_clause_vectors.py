"""Where the clauses of a request stand in it, and the mean of their tokens."""

from __future__ import annotations

import numpy as np
import pytest

from inference.clause_vectors import Span, pooled, spans_of


@pytest.mark.parametrize(
    ("text", "clauses", "spans"),
    [
        ("find Acme, then pay it", ["find Acme", "pay it"], [(0, 9), (16, 22)]),
        ("pay it and pay  it", ["pay it", "pay it"], [(0, 6), (11, 18)]),  # the second of two equal clauses
        ("find Acme, Ltd. then pay", ["find Acme Ltd.", "pay"], [(0, 15), (21, 24)]),  # joined over a separator
        ("pay it", ["", "pay it"], [(0, 0), (0, 6)]),
        ("pay it, find Acme", ["find Acme", "pay it"], None),
        ("pay it", ["pay them"], None),
        ("", [], []),
    ],
)
def test_spans_of_clauses(text: str, clauses: list[str], spans: list[Span] | None) -> None:
    assert spans_of(text, clauses) == spans


def test_pooled_is_the_mean_of_the_tokens_inside() -> None:
    tokens_TD = np.array([[9, 9], [3, 0], [0, 4], [1, 0], [9, 9]], dtype=np.float32)
    offsets = [(0, 0), (0, 4), (4, 6), (7, 9), (0, 0)]
    rows = pooled(tokens_TD, offsets, [(0, 6), (7, 9), (5, 7), (9, 12)])
    np.testing.assert_allclose(rows, np.array([[0.6, 0.8], [1, 0], [0, 1], [0, 0]], dtype=np.float32), atol=1e-6)
