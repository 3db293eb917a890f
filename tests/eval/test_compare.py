"""Comparing: what was gained and lost, exactly; what else differs, said first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from eval.compare import Comparison, Point, compare
from eval.measured_set import Answer, MeasuredSet
from eval.queries import LabelledQuery
from eval.report import comparison_to_markdown
from ontology.errors import InvalidArgumentError
from tests.eval.planted import query_set, run_of

GOLD = {"q1": ["a"], "q2": ["a", "b"], "q3": ["c"], "q4": ["d"]}
BEFORE = {"q1": ["a"], "q2": ["a", "x", "y", "b"], "q3": ["c"], "q4": ["x"]}
AFTER = {"q1": ["a"], "q2": ["a", "b"], "q3": ["x", "y", "z", "w", "c"], "q4": ["d"]}


def measured(
    answers: Mapping[str, Sequence[str]], gold: Mapping[str, Sequence[str]] = GOLD, name: str = "hr", **facts: Any
) -> MeasuredSet:
    queries = query_set(gold, name)
    run = run_of(queries, answers, "default", **facts)
    return MeasuredSet(queries=queries, runs=(run,), tools=100, snapshot_id=run.snapshot_id)


def points_of(comparison: Comparison) -> dict[int, Point]:
    [compared] = comparison.sets
    [system] = compared.systems
    return {point.k: point for point in system.points}


def ids(point: Point) -> tuple[list[str], list[str]]:
    return [one.query.id for one in point.gained], [one.query.id for one in point.lost]


def top(page: str) -> str:
    """What stands above the first section."""
    return page.partition("\n## ")[0]


def test_gained_and_lost_requests_by_k_with_their_ranks() -> None:
    found = points_of(compare([measured(BEFORE)], [measured(AFTER)], resamples=500))
    assert {k: ids(point) for k, point in found.items()} == {
        3: (["q2", "q4"], ["q3"]),
        5: (["q4"], []),
        10: (["q4"], []),
    }
    assert {k: (point.before, point.after, point.difference) for k, point in found.items()} == {
        3: (0.5, 0.75, 0.25),
        5: (0.75, 1.0, 0.25),
        10: (0.75, 1.0, 0.25),
    }
    [gained, _], [lost] = found[3].gained, found[3].lost
    assert (gained.before, gained.after) == ((1, 4), (1, 2))
    assert (lost.before, lost.after) == ((1,), (5,))
    # Of four requests one was gained at 5: three draws in ten lack it, and none of the draws is below 0.
    assert (found[5].low, found[5].high) == (0.0, 0.75)
    assert found[5].p == pytest.approx(2 * 0.75**4, abs=0.1)


def test_the_page_names_every_request_that_changed() -> None:
    page = comparison_to_markdown(compare([measured(BEFORE)], [measured(AFTER)], resamples=500))
    assert "Attention" not in page
    assert "| default | 3 | 50.0 | 75.0 | +25.0 " in page
    assert page.count("| 2 | 1 |") == 1  # gained and lost at 3
    assert "| q2 |  | request q2 | @3 | 4 → 2 | a 1 → 1, b 4 → 2 |" in page
    assert "| q4 |  | request q4 | @3 @5 @10 | – → 1 | d – → 1 |" in page
    assert (
        page.index("Gained: 2 requests.") < page.index("| q4 |") < page.index("Lost: 1 request.") < page.index("| q3 |")
    )
    assert "| q1 |" not in page
    assert "Snapshot s1." in page and "### default, 000000000000" in page


def test_other_snapshots_and_configurations_are_said_on_top() -> None:
    before = measured(BEFORE, config={"preset": "default", "snapshot_id": "s1", "k": 1}, config_hash="b" * 12)
    after = measured(AFTER, snapshot_id="s2", config={"preset": "default", "snapshot_id": "s2"}, config_hash="c" * 12)
    said = top(comparison_to_markdown(compare([before], [after], resamples=100)))
    assert "hr: the snapshots differ: s1 → s2" in said
    assert "hr: configurations of default differ in k, snapshot_id (bbbbbbbbbbbb → cccccccccccc)." in said
    assert said.index("snapshots differ") < said.index("configurations of")


def test_requests_that_are_not_the_same_in_both_are_named_and_left_out() -> None:
    gold = {"q1": ["a"], "q2": ["a", "OTHER"], "q4": ["d"], "new": ["e"]}
    after = measured({"q1": ["a"], "q2": ["a", "OTHER"], "q4": ["d"], "new": ["e"]}, gold)
    comparison = compare([measured(BEFORE)], [after], resamples=100)
    [compared] = comparison.sets
    assert (compared.paired, compared.only_before, compared.only_after, compared.altered) == (
        ("q1", "q4"), ("q3",), ("new",), ("q2",),
    )  # fmt: skip
    point = points_of(comparison)[3]
    assert (point.before, point.after, ids(point)) == (0.5, 1.0, (["q4"], []))
    said = top(comparison_to_markdown(comparison))
    assert "hr: the requests differ; figures are over the 2 that are the same in both." in said
    assert "Only before (1): q3. Only after (1): new. With another text or gold set (1): q2." in said


def test_the_same_requests_with_other_needs_are_not_said_to_differ() -> None:
    after = replace(measured(AFTER), queries=replace(measured(AFTER).queries, sha256="0" * 64))
    said = top(comparison_to_markdown(compare([measured(BEFORE)], [after], resamples=100)))
    assert "the requests are the same; their needs" in said and "the requests differ" not in said


def test_systems_and_sets_of_one_side_are_left_out_by_name() -> None:
    before, after = measured(BEFORE), measured(AFTER)
    extra = replace(before, runs=(*before.runs, replace(before.runs[0], system="paper")))
    it = measured(BEFORE, name="it")
    comparison = compare([extra, it], [measured(BEFORE, name="fin"), after], resamples=100)
    assert [one.names for one in comparison.sets] == [("hr", "hr")]
    said = top(comparison_to_markdown(comparison))
    assert "hr: systems measured only before, left out: paper." in said
    assert "Sets measured only before, left out: it." in said
    assert "Sets measured only after, left out: fin." in said


def test_a_request_without_an_answer_is_lost_and_said() -> None:
    after = measured(BEFORE)
    failed = Answer(query_id="q1", tools=("a",), error="DeadlineError: too late.")
    run = replace(after.runs[0], answers={**after.runs[0].answers, "q1": failed})
    comparison = compare([measured(BEFORE)], [replace(after, runs=(run,))], resamples=100)
    assert ids(points_of(comparison)[3]) == ([], ["q1"])
    assert "left requests without an answer, 0 before and 1 after; each scores 0" in comparison_to_markdown(comparison)


def test_what_has_nothing_in_common_is_refused() -> None:
    before = measured(BEFORE)
    with pytest.raises(InvalidArgumentError, match="no set of requests in common"):
        compare([before], [measured(AFTER, name="it"), measured(AFTER, name="fin")])
    with pytest.raises(InvalidArgumentError, match="no answerable request in common"):
        compare([before], [measured({"z": ["a"]}, {"z": ["a"]})])
    with pytest.raises(InvalidArgumentError, match="no system in common"):
        compare([before], [replace(before, runs=(replace(before.runs[0], system="paper"),))])
    with pytest.raises(InvalidArgumentError, match="no cutoff in common"):
        compare([before], [measured(AFTER, k=2)])


def test_hostile_texts_stay_texts() -> None:
    query = LabelledQuery(id="<script>|", text="<img src=x> " * 50, slots=(("a|b",),))
    before = measured(BEFORE)
    queries = replace(before.queries, queries=(query,))
    sets = [
        replace(before, queries=queries, runs=(run_of(queries, {"<script>|": tools}, "default"),))
        for tools in (["x"], ["a|b"])
    ]
    page = comparison_to_markdown(compare(sets[:1], sets[1:], resamples=50))
    assert r"| \<script>\| |" in page and "…" in page and r"a\|b – → 1" in page
