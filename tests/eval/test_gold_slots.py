"""Slots: how a gold set with alternatives is written, read back and shown."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eval.analysis.compare import compare, comparison_to_json
from eval.gold_slots import gold_slots, row_tools, slot_name
from eval.measured_set import SET_FILE, MeasuredSet, read_measured, write_measured
from eval.queries import LabelledQuery
from eval.report.write import per_query_rows
from tests.eval.planted import query_set, run_of

TOOL = st.sampled_from("abcdef")
ROW = st.lists(TOOL | st.lists(TOOL, min_size=1, max_size=4), min_size=1, max_size=5)


@given(ROW)
def test_slots_are_read_back_as_they_are_written(row: list[str | list[str]]) -> None:
    slots = gold_slots(row)
    assert gold_slots(row_tools(slots)) == slots
    assert len({frozenset(slot) for slot in slots}) == len(slots)
    assert {frozenset(slot) for slot in slots} == {frozenset(one) for one in row}


@given(ROW)
def test_no_fewer_tools_than_the_least_fill_every_slot(row: list[str | list[str]]) -> None:
    query = LabelledQuery(id="q", text="x", slots=gold_slots(row))
    chosen: set[str] = set()
    for slot in query.slots:  # any choice of one tool for each slot
        chosen.add(slot[-1])
    assert 1 <= query.least_tools <= len(chosen)


def test_a_measured_set_keeps_its_alternatives_and_plain_gold_sets_stay_as_they_were(tmp_path: Path) -> None:
    queries = query_set({"q1": [["a", "b"], "c"], "q2": ["a", "c"]})
    run = run_of(queries, {"q1": ["b", "c"]})
    measured = MeasuredSet(queries=queries, runs=(run,), tools=9, snapshot_id=run.snapshot_id)
    write_measured(tmp_path, measured)
    assert read_measured(tmp_path) == measured
    written = json.loads((tmp_path / SET_FILE).read_text(encoding="utf-8"))["queries"]["queries"]
    assert [query["tools"] for query in written] == [[["a", "b"], "c"], ["a", "c"]]
    first, _ = per_query_rows([measured])
    assert first["gold"] == [["a", "b"], "c"]
    assert first["systems"]["a"] == {"ranks": {"a": None, "b": 1, "c": 2}, "complete_at": 2}


def test_another_tool_of_the_same_slot_is_no_change() -> None:
    gold: dict[str, list[str | list[str]]] = {"q1": [["a", "b"]], "q2": [["a", "b"], "c"]}
    queries = query_set(dict(gold))
    before, after = (
        MeasuredSet(queries=queries, runs=(run_of(queries, answers),), tools=9, snapshot_id="s1")
        for answers in ({"q1": ["a"], "q2": ["a"]}, {"q1": ["b"], "q2": ["b", "c"]})
    )
    [compared] = comparison_to_json(compare([before], [after], cutoffs=(3,), resamples=200))["sets"]
    [point] = compared["systems"][0]["points"]
    assert (point["lost"], [one["id"] for one in point["gained"]]) == ([], ["q2"])
    assert point["gained"][0]["before"] == {"a or b": 1, "c": None}
    other = query_set({"q1": ["a"], "q2": gold["q2"]})
    relabelled = MeasuredSet(queries=other, runs=(run_of(other, {}),), tools=9, snapshot_id="s1")
    assert compare([before], [relabelled], cutoffs=(3,), resamples=200).sets[0].altered == ("q1",)


def test_a_slot_is_shown_with_all_its_tools() -> None:
    assert (slot_name(("a",)), slot_name(("a", "b"))) == ("a", "a or b")
