"""Clause fusion: every clause has one unit of score, and shares it among the tools that match it."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from inference import Floats1d, Floats2d
from retrieval.ranking.features import fuse_clauses

z_score = st.floats(-6, 6, width=32)


@st.composite
def scored(draw: st.DrawFn) -> tuple[Floats2d, Floats1d]:
    clauses, tools = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    answered = draw(arrays.arrays(np.float32, (clauses, tools), elements=z_score))
    return answered, draw(arrays.arrays(np.float32, tools, elements=z_score))


@settings(max_examples=150)
@given(scores=scored())
def test_shares_are_what_a_loop_counts_and_sum_to_the_number_of_clauses(scores: tuple[Floats2d, Floats1d]) -> None:
    clauses_CT, whole_T = scores
    counted = [0.0] * len(whole_T)
    for answered_T in clauses_CT.tolist():
        weights = [
            math.exp(2.0 * said + 1.25 * whole) for said, whole in zip(answered_T, whole_T.tolist(), strict=True)
        ]
        for tool, weight in enumerate(weights):
            counted[tool] += weight / sum(weights)
    found = fuse_clauses(clauses_CT, whole_T)
    assert found.dtype == np.float32
    assert found == pytest.approx(counted, abs=1e-4)
    assert (found >= 0).all()
    assert float(found.sum()) == pytest.approx(len(clauses_CT), abs=1e-4)


@settings(max_examples=60)
@given(scores=scored(), random=st.randoms(use_true_random=False))
def test_the_order_of_tools_and_clauses_does_not_matter(scores: tuple[Floats2d, Floats1d], random: Random) -> None:
    clauses_CT, whole_T = scores
    tools, clauses = list(range(len(whole_T))), list(range(len(clauses_CT)))
    random.shuffle(tools)
    random.shuffle(clauses)
    turned = fuse_clauses(clauses_CT[clauses][:, tools], whole_T[tools])
    assert turned == pytest.approx(fuse_clauses(clauses_CT, whole_T)[tools], abs=1e-5)


def test_the_best_for_one_clause_is_not_outdone_by_one_that_is_fair_for_all() -> None:
    clauses_CT = np.array([[2.0, -1.0, 0.9, -1.0], [-1.0, 2.0, 0.9, -1.0]], dtype=np.float32)
    whole_T = np.array([0.3, 0.3, 0.6, -1.2], dtype=np.float32)
    assert clauses_CT.mean(axis=0).argmax() == 2, "by the mean, the fair one wins"
    first, second, fair, none = fuse_clauses(clauses_CT, whole_T).tolist()
    assert min(first, second) > 0.75 > 0.5 > fair > none


def test_the_whole_request_decides_where_a_clause_says_nothing() -> None:
    silent = np.zeros((1, 3), dtype=np.float32)
    found = fuse_clauses(silent, np.array([0.0, 1.0, -1.0], dtype=np.float32))
    assert found.argsort().tolist() == [2, 0, 1]
