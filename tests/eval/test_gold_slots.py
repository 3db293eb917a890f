"""Slots: how a gold set with alternatives is written, read back and shown."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eval.measured_set import SET_FILE, MeasuredSet, read_measured, write_measured
from eval.queries import gold_slots, row_tools
from eval.report.page import per_query_rows
from tests.eval.planted import query_set, run_of

TOOL = st.sampled_from("abcdef")
ROW = st.lists(TOOL | st.lists(TOOL, min_size=1, max_size=4), min_size=1, max_size=5)


@given(ROW)
def test_slots_are_read_back_as_they_are_written(row: list[str | list[str]]) -> None:
    slots = gold_slots(row)
    assert gold_slots(row_tools(slots)) == slots
    assert len({frozenset(slot) for slot in slots}) == len(slots)
    assert {frozenset(slot) for slot in slots} == {frozenset(one) for one in row}


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
