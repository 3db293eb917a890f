"""Fitting: a planted truth is found, noise is not taken for one, and nothing leaks from the paths held out."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.tuning.cases import NEVER, Cases, soft_complete
from eval.tuning.fit import GENERATED_STRENGTH, HELD, STRENGTH, fit_weights
from eval.tuning.labels import folds
from eval.tuning.tuning import Tuning, tune_weights
from eval.tuning.weight_search import ORIGIN, Point, choose, distance, moves, weights_at
from inference import Floats2d
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import SHIPPED
from tests.eval.tuning.planted import TOOLS, planted, without_clauses


def gaining(gains: dict[Point, float], requests: int = 8) -> tuple[list[Point], Floats2d]:
    """All moves, and what each gains on each request: the same on all of them."""
    points = moves()
    gains_PQ = np.zeros((len(points), requests), dtype=np.float32)
    for point, gain in gains.items():
        gains_PQ[points.index(point)] = gain
    return points, gains_PQ


def moved(**levels: int) -> Point:
    return tuple(levels.get(name, 0) for name in SHIPPED)


PARTS = [np.array([0, 1, 2, 3]), np.array([4, 5, 6, 7])]


def test_moves_are_of_one_weight_each_and_held_weights_stay() -> None:
    assert weights_at(ORIGIN) == SHIPPED
    assert distance(ORIGIN) == 0
    assert weights_at(moved(bm25_text=2, cosine_name=-4)) == SHIPPED.replace(
        bm25_text=SHIPPED["bm25_text"] * 2, cosine_name=SHIPPED["cosine_name"] / 4
    )
    points = moves(["graph_support"])
    assert len(points) == len(set(points)) == 4 * (len(SHIPPED) - 1)
    assert all(sum(map(bool, point)) == 1 and not point[list(SHIPPED).index("graph_support")] for point in points)


@pytest.mark.parametrize(
    ("gains", "strength", "expected"),
    [
        ({}, 0.01, {}),
        ({"bm25_text": (2, 0.02)}, 0.01, {"bm25_text": 2}),
        ({"bm25_text": (2, 0.009)}, 0.01, {}),
        ({"bm25_text": (4, 0.05), "cosine_text": (-2, 0.02)}, 0.01, {"bm25_text": 4, "cosine_text": -2}),
        ({"bm25_text": (4, 0.03)}, 0.01, {}),
    ],
)
def test_moves_that_pay_their_distance_are_made_together(
    gains: dict[str, tuple[int, float]], strength: float, expected: dict[str, int]
) -> None:
    points, gains_PQ = gaining({moved(**{name: level}): gain for name, (level, gain) in gains.items()})
    whole = sum(gain for _, gain in gains.values())
    found = choose(points, gains_PQ, PARTS, strength, lambda point: whole if point != ORIGIN else 0.0)
    # Together they are worth the same by half, which costs less.
    assert found in (moved(**expected), moved(**{name: level // 2 for name, level in expected.items()}))
    assert (found == ORIGIN) is not bool(expected)


def test_a_move_that_one_part_does_not_support_is_not_made() -> None:
    points, gains_PQ = gaining({moved(bm25_text=2): 0.5})
    gains_PQ[:, PARTS[1]] = 0.0
    assert choose(points, gains_PQ, PARTS, 0.003, lambda point: 1.0) == ORIGIN


def test_moves_that_gain_nothing_together_are_not_made() -> None:
    points, gains_PQ = gaining({moved(bm25_text=2): 0.5, moved(cosine_text=2): 0.5})
    assert choose(points, gains_PQ, PARTS, 0.003, lambda point: 0.0) == ORIGIN
    by_half = moved(bm25_text=1, cosine_text=1)
    assert choose(points, gains_PQ, PARTS, 0.003, lambda point: 0.3 if point == by_half else 0.1) == by_half


def test_soft_complete_falls_with_the_rank_and_is_0_for_what_is_never_complete() -> None:
    soft = soft_complete(np.array([1, 3, 4, 10, 11, 12, 40, NEVER]), (3, 5, 10))
    assert (np.diff(soft) < 0).all()
    assert soft[0] == pytest.approx(1.0, abs=0.01)
    assert soft[-1] == 0


def test_a_case_is_complete_at_the_rank_of_its_last_gold_tool() -> None:
    features = {name: np.array([0, 3, 1, 2], dtype=np.float32) for name in ("bm25_text", "cosine_text")}
    case = without_clauses(np.array([2, 5, 7, 9]), features)
    empty = without_clauses(np.array([], dtype=np.int64), {"bm25_text": np.zeros(0, dtype=np.float32)})
    known = [np.array(slots) for slots in ([[5]], [[5], [7]], [[2], [5]], [[5], [6]])]
    gold = [*known, None, np.array([[5]])]
    cases = Cases([replace(one, gold=tools) for one, tools in zip([case] * 5 + [empty], gold, strict=True)])
    assert cases.completed_at(SHIPPED).tolist() == [1, 3, 4, NEVER, NEVER, NEVER]
    assert cases.subset([2, 0]).completed_at(SHIPPED).tolist() == [4, 1]


def test_a_gold_tool_that_only_completion_brings_in_is_found_where_it_ends() -> None:
    features = {"bm25_text": np.array([3, 1, 2], dtype=np.float32)}
    alone = without_clauses(np.array([2, 5, 7]), features, np.array([[2], [9]]))

    def complete(ranking: Ranking, *, margin: float) -> Ranking:
        joined = np.append(ranking.scores, ranking.scores.max() - np.float32(margin))
        return Ranking(tools=np.append(ranking.tools, 9), scores=joined, features={})

    cases = Cases([alone, replace(alone, complete=complete)])
    weights = SHIPPED.replace(bm25_text=1.0)
    assert cases.completed_at(weights.replace(resolver_margin=0.5)).tolist() == [NEVER, 2]
    assert cases.completed_at(weights.replace(resolver_margin=1.5)).tolist() == [NEVER, 3]
    assert cases.completed_at(weights.replace(resolver_margin=9.0)).tolist() == [NEVER, 4]


@settings(max_examples=150)
@given(
    scores=st.lists(st.integers(0, 4), min_size=1, max_size=12),
    gold=st.lists(st.lists(st.integers(0, 14), min_size=3, max_size=3), min_size=1, max_size=4),
)
def test_the_rank_at_which_a_case_is_complete_is_that_of_the_ranking(scores: list[int], gold: list[list[int]]) -> None:
    """Many scores are equal, gold tools may be no candidates, and slots may have tools in common."""
    features = {"bm25_text": np.asarray(scores, dtype=np.float32)}
    case = without_clauses(np.arange(len(scores)), features, np.array(gold))
    ranked = case.ranked(SHIPPED).tolist()
    complete = [k for k in range(1, len(ranked) + 1) if all(set(slot) & set(ranked[:k]) for slot in gold)]
    expected = min(complete, default=NEVER)
    assert Cases([case]).completed_at(SHIPPED).tolist() == [expected]


def test_cases_are_ranked_together_as_each_alone_and_only_those_asked_for() -> None:
    cases, _ = planted(6)
    other = without_clauses(np.array([2, 5]), {"bm25_text": np.array([1, 0], dtype=np.float32)}, np.array([[5]]))
    clauses_CT = np.ones((1, 2), dtype=np.float32)
    asked = []

    def complete(ranking: Ranking, *, margin: float) -> Ranking:
        asked.append(margin)
        return ranking

    completed = replace(other, complete=complete)
    fused = replace(other, matrix=replace(other.matrix, clauses_CT=clauses_CT))
    alone = [*cases._cases, other, completed, fused, replace(other, gold=None)]
    weights = SHIPPED.replace(bm25_text=2.0)
    expected = [case.completed_at(weights) for case in alone]
    together, asked[:] = Cases(alone), []
    assert together.completed_at(weights, [0, 5, 9])[[0, 5, 9]].tolist() == [expected[0], expected[5], NEVER]
    assert asked == []
    assert together.completed_at(weights).tolist() == expected
    assert together.completed_at(weights, range(10)).tolist() == expected
    assert asked == [weights.resolver_margin], "what is known is not found again"


@cache
def tuned(truth: str) -> Tuning:
    """Weights fitted to sixty planted cases, for the tests that look at them."""
    return tune_weights(*planted(60, truth=truth), k=5)


@pytest.mark.parametrize("truth", ["bm25_params", "graph_support"])
def test_a_planted_truth_is_found_and_helps_on_paths_held_out(truth: str) -> None:
    tuning = tuned(truth)
    assert tuning.reason == ""
    proportions = {name: weight / SHIPPED.features[name] for name, weight in tuning.weights.features.items()}
    assert max(proportions, key=lambda name: proportions[name]) == truth
    (whole,) = (change for change in tuning.held_out if change.cutoff == 5 and not change.request_class)
    assert whole.after > whole.before + 0.2
    assert 0 < whole.low <= whole.difference <= whole.high
    assert (whole.requests, whole.groups) == (60, 30)
    assert [change.cutoff for change in tuning.held_out] == [3, 5] * 3
    assert len(tuning.fold_weights) == 5


@pytest.mark.parametrize("seed", range(2))
def test_labels_of_noise_are_refused(seed: int) -> None:
    cases, labels = planted(48, seed=seed)
    tuning = tune_weights(cases, labels, k=10, seed=seed)
    assert tuning.reason
    assert "which may be chance" in tuning.reason or "nothing is gained" in tuning.reason or tuning.weights == SHIPPED


def test_the_same_seed_gives_the_same_and_requests_in_another_order_do_not_matter() -> None:
    cases, labels = planted(40, truth="graph_support")
    first, again = (fit_weights(cases, labels.groups_Q, cutoffs=(3, 5), seed=3) for _ in range(2))
    assert (first.weights, first.fold_weights, first.strength) == (again.weights, again.fold_weights, again.strength)
    assert first.held_out_Q.tolist() == again.held_out_Q.tolist()
    turned = np.arange(40)[::-1]
    other = fit_weights(cases.subset(turned), labels.groups_Q[turned], cutoffs=(3, 5), seed=3)
    assert other.held_out_Q[::-1].tolist() == first.held_out_Q.tolist()


def test_the_weights_of_a_fold_know_nothing_of_the_labels_in_it() -> None:
    """Other gold tools for a group change the weights of the other folds, perhaps; never those it is measured under."""
    cases, labels = planted(40, truth="graph_support")
    other, _ = planted(40, truth="graph_support", relabelled=2)
    before = fit_weights(cases, labels.groups_Q, cutoffs=(3, 5), seed=0)
    after = fit_weights(other, labels.groups_Q, cutoffs=(3, 5), seed=0)
    (its,) = (at for at, fold in enumerate(folds(labels.groups_Q, 5, 0)) if 0 in fold)
    assert before.fold_weights[its] == after.fold_weights[its]
    assert before.held_out_Q[0] != after.held_out_Q[0]


def test_generated_requests_may_say_less() -> None:
    cases, labels = planted(40, truth="graph_support")
    free, bound = (
        fit_weights(cases, labels.groups_Q, cutoffs=(3, 5), seed=0, generated=generated) for generated in (False, True)
    )
    assert (free.strength, bound.strength) == (STRENGTH, GENERATED_STRENGTH)
    assert all(weights[name] == SHIPPED[name] for weights in bound.fold_weights for name in HELD)


def test_where_all_is_complete_nothing_is_fitted() -> None:
    cases, labels = planted(60)
    tuning = tune_weights(cases, labels, k=TOOLS)
    assert (tuning.weights, tuning.fold_weights) == (SHIPPED, ())
    assert tuning.reason == f"every request is complete at {TOOLS} already"
    assert math.isinf(tuning.strength)


def test_weights_that_the_snapshot_has_already_are_not_published_again() -> None:
    fitted = tuned("graph_support")
    again = tune_weights(*planted(60, truth="graph_support"), k=5, before=fitted.weights)
    assert again.weights == fitted.weights
    assert again.reason == "the weights that the snapshot has are the best that were found"
