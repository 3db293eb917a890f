"""Figures of planted systems whose scores are known."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from eval.measured_set import MeasuredSet, Run
from eval.queries import QuerySet
from eval.summary import Figure, Summary, summarise, summary_to_json
from ontology.errors import InvalidArgumentError
from tests.eval.planted import query_set, run_of


def _set(name: str = "one", size: int = 90) -> QuerySet:
    """Request n needs the tools ``a-n`` and ``b-n``; every second is of class even."""
    gold = {f"q{number}": [f"a-{number}", f"b-{number}"] for number in range(size)}
    return query_set(gold, name, ["odd" if number % 2 else "even" for number in range(size)])


def _answering(queries: QuerySet, which: Callable[[int], bool], system: str) -> Run:
    """Answers the requests that are chosen with their gold sets, all others with something else."""
    answers = {query.id: query.tools if which(number) else ("x", "y") for number, query in enumerate(queries.queries)}
    return run_of(queries, answers, system)


def _measured(queries: QuerySet, *runs: Run, tools: int = 500) -> MeasuredSet:
    return MeasuredSet(queries=queries, runs=runs, tools=tools, snapshot_id="s1")


def _figure(summary: Summary, scope: str, system: str, measure: str, group: str = "", set_name: str = "") -> Figure:
    found = summary.figure((scope, set_name or (group if scope == "set" else ""), group), system, measure)
    assert found is not None
    return found


def _third(number: int) -> bool:
    return number % 3 == 0


def _all(number: int) -> bool:
    return True


def test_differences_to_the_baseline_are_paired() -> None:
    queries = _set()
    runs = (
        _answering(queries, _third, "base"),
        _answering(queries, _third, "same"),
        _answering(queries, lambda number: number % 3 < 2, "better"),
        _answering(queries, lambda number: number == 3, "worse"),
    )
    summary = summarise([_measured(queries, *runs)], baseline="base", resamples=1_000)
    for scope, group in [("set", "one"), ("macro", "")]:
        base, same, better, worse = (
            _figure(summary, scope, name, "CompleteRecall@10", group) for name in ("base", "same", "better", "worse")
        )
        assert (base.difference, base.difference_low, base.difference_high, base.p) == (None,) * 4
        assert (same.difference, same.difference_low, same.difference_high, same.p) == (0, 0, 0, 1)
        assert better.difference == 0.333333
        assert better.difference_low is not None
        assert better.difference_low > 0.2
        assert better.p is not None
        assert better.p < 0.01
        assert worse.difference == pytest.approx(1 / 90 - 1 / 3, abs=1e-6)
        assert worse.difference_high is not None
        assert worse.difference_high < 0


def test_the_mean_is_over_sets() -> None:
    """1 of 1 in 10 requests, 0 in 30: 1/2; gold sets of two tools, too large at a cutoff of 1."""
    small, large = _set("small", 10), _set("large", 30)
    sets = [
        _measured(small, _answering(small, _all, "a")),
        _measured(large, _answering(large, lambda number: False, "a")),
    ]
    summary = summarise(sets, baseline="a", cutoffs=(1, 2), resamples=100)
    mean = _figure(summary, "macro", "a", "CompleteRecall@2")
    assert (mean.value, mean.queries, mean.too_large) == (0.5, 40, 0)
    # Within each set all requests are alike and draws are within sets: nothing varies.
    assert (mean.low, mean.high) == (0.5, 0.5)
    assert _figure(summary, "macro", "a", "CompleteRecall@1").too_large == 1
    assert [figure.scope for figure in summary.figures][-1] == "macro"
    assert list(summary.sets) == ["small", "large"]


def _refused(sets: Sequence[MeasuredSet], **changed: Any) -> InvalidArgumentError:
    options: dict[str, Any] = {"baseline": "a", "resamples": 10, **changed}
    with pytest.raises(InvalidArgumentError) as caught:
        summarise(sets, **options)
    return caught.value


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"queries_sha256": "f" * 64}, "other requests"),
        ({"snapshot_id": "s2"}, "snapshot 's2', the set to 's1'"),
        ({"k": 10}, "end after 10 tools"),
    ],
)
def test_a_run_that_is_not_of_its_set_is_refused(others: Mapping[str, Any], problem: str) -> None:
    queries = query_set({"q": ["b"]})
    error = _refused([_measured(queries, run_of(queries, {"q": ["b"]}, **others))])
    assert problem in error.problem
    assert error.subject == "a on planted"


def test_other_sets_that_cannot_be_measured_are_refused() -> None:
    queries = query_set({"q": ["b"]})
    run = run_of(queries, {"q": ["b"]})
    assert "a, c" in _refused([_measured(queries, run, replace(run, system="c"))], baseline="zzz").remedy
    assert "ran on no set" in _refused([]).problem
    assert "ran on no set" in _refused([_measured(queries)]).problem
    assert _refused([_measured(queries, run), _measured(queries, run)]).subject == "planted"
    assert _refused([_measured(queries, run, run)]).subject == "planted: a"
    assert "no request" in _refused([_measured(query_set({}), run)]).problem
    assert "such as 'r'" in _refused([_measured(queries, run_of(queries, {"r": ["b"]}))]).problem
    assert _refused([_measured(queries, run)], resamples=0).subject == "resamples"
    assert _refused([_measured(queries, run)], cutoffs=()).subject == "cutoffs"


def test_in_json_figures_are_rows_with_one_list_of_columns() -> None:
    one, two = _set("one", 12), _set("two/é", 8)
    sets = [
        _measured(each, _answering(each, _third, "base"), _answering(each, _all, "grpc:h:1/a")) for each in (one, two)
    ]
    summary = summarise(sets, baseline="base", resamples=100)
    text = json.dumps(summary_to_json(summary), allow_nan=False)
    value = json.loads(text)
    assert [Figure(**dict(zip(value["figure_columns"], row, strict=True))) for row in value["figures"]] == [
        *summary.figures
    ]
    assert (value["format"], value["baseline"], list(value["sets"])) == (
        "egotools.summary.v2",
        "base",
        ["one", "two/é"],
    )
    assert len(text) < 140 * len(summary.figures)
