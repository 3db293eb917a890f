"""The verdict: what counts as better, and what speaks against it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from eval.queries import LabelledQuery
from eval.report.markdown import document_to_markdown
from eval.tuning.labels import Labels
from eval.tuning.tuning import tune_weights
from eval.tuning.tuning_report import tuning_document, tuning_to_json
from eval.tuning.verdict import Ranks, RecallChange, changes, cutoffs_for, rejection
from tests.eval.tuning.planted import planted


def of(before: list[int], after: list[int], groups: list[int], classes: str = "") -> tuple[RecallChange, ...]:
    named = classes or "a" * len(before)
    queries = [
        LabelledQuery(id=str(at), text="x", slots=(("t",),), request_class=named[at]) for at in range(len(before))
    ]
    ranks = Ranks(before_Q=np.array(before), after_Q=np.array(after))
    return changes(queries, np.array(groups), ranks, cutoffs=(3, 10), seed=0)


def test_changes_are_counted_by_class_and_cutoff() -> None:
    found = of([1, 5, 20, 20], [1, 2, 10, 11], [0, 1, 2, 3], "aabb")
    rows = [(each.request_class, each.cutoff, each.requests, each.before, each.after) for each in found]
    assert rows == [
        ("", 3, 4, 0.25, 0.5),
        ("", 10, 4, 0.5, 0.75),
        ("a", 3, 2, 0.5, 1.0),
        ("a", 10, 2, 1.0, 1.0),
        ("b", 3, 2, 0.0, 0.0),
        ("b", 10, 2, 0.0, 0.5),
    ]


def test_requests_of_one_group_count_as_one_witness() -> None:
    before, after = [20] * 40, [1] * 8 + [20] * 32
    alone = of(before, after, list(range(40)))[1]
    together = of(before, after, [at // 8 for at in range(40)])[1]
    assert alone.difference == together.difference == 0.2
    assert alone.low > 0
    assert together.low == 0 < together.high > alone.high


def test_a_clear_gain_is_published_and_a_doubtful_one_is_not() -> None:
    groups = list(range(40))
    assert rejection(of([20] * 40, [1] * 12 + [20] * 28, groups), (), k=10) == ""
    doubtful = rejection(of([20] * 40, [1] * 2 + [20] * 38, groups), (), k=10)
    assert doubtful.startswith("on held-out paths CompleteRecall@10 goes from 0.0% to 5.0%, which may be chance: ")
    assert rejection(of([1] * 40, [1] * 40, groups), (), k=3).endswith("from 100.0% to 100.0%: nothing is gained")
    assert rejection(of([1] * 40, [20] * 40, groups), (), k=10).endswith("from 100.0% to 0.0%: nothing is gained")


@pytest.mark.parametrize(("size", "speaks"), [(8, True), (4, False)])
def test_a_class_that_falls_beyond_its_interval_speaks_against(size: int, speaks: bool) -> None:
    classes = "b" * size + "a" * (80 - size)
    found = of([1] * size + [20] * (80 - size), [20] * size + [1] * (80 - size), list(range(80)), classes)
    reason = rejection(found, (), k=10)
    assert bool(reason) is speaks
    assert not speaks or "the class 'b' on held-out paths falls at 10 from 100.0% to 0.0%" in reason


def test_test_requests_can_speak_against_but_not_for() -> None:
    good = of([20] * 40, [1] * 40, list(range(40)))
    bad = of([1] * 40, [20] * 40, list(range(40)))
    assert "the mean of the test requests falls at 10" in rejection(good, bad, k=10)
    assert rejection(bad, good, k=10)


def test_k_is_among_the_cutoffs() -> None:
    assert [cutoffs_for(k) for k in (1, 3, 7, 10, 50)] == [
        (1,),
        (3,),
        (3, 5, 7),
        (3, 5, 10),
        (3, 5, 10, 20, 50),
    ]


@pytest.mark.slow
def test_test_requests_are_reported_under_the_weights_and_never_fitted_on() -> None:
    cases, labels = planted(60, truth="graph_support")
    apart = replace(labels, test_Q=np.arange(60) >= 40, left_out=3)
    tuning = tune_weights(cases, apart, k=5)
    alone = tune_weights(cases.subset(range(40)), _first(labels, 40), k=5)
    assert (tuning.weights, tuning.held_out) == (alone.weights, alone.held_out)
    ranks = cases.completed_at(tuning.weights)[40:]
    assert tuning.test[1].after == round(float((ranks <= 5).mean()), 6)
    said = json.loads(json.dumps(tuning_to_json(tuning, apart), allow_nan=False))
    assert said["requests"] | {"sha256": ""} == {
        "name": "planted",
        "sha256": "",
        "fitted_on": 40,
        "groups": 20,
        "test": 20,
        "test_left_out": 3,
        "not_completable": 0.0,
    }
    assert [row["class"] for row in said["held_out"]] == ["", "", "even", "even", "odd", "odd"]
    page = document_to_markdown(tuning_document(tuning, apart, title="Tuning", outcome="It was published."))
    for words in (
        "It was published.",
        "## Held-out paths",
        "## Test requests",
        "3 share a path",
        "| graph_support | 1",
    ):
        assert words in page


def _first(labels: Labels, count: int) -> Labels:
    queries = replace(labels.queries, queries=labels.queries.queries[:count])
    return replace(labels, queries=queries, groups_Q=labels.groups_Q[:count], test_Q=labels.test_Q[:count])
