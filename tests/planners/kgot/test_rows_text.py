"""Rows as a partial answer: one line of JSON, bounded by whole rows."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from planners.graphs.property_graph import QueryRows
from planners.kgot.graph_queries import rows_text

SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters(min_codepoint=32), max_size=9)


def test_rows_are_objects_by_column() -> None:
    rows = QueryRows(columns=("title", "pages"), rows=(("Tides", 210), ("Dunes\nand sea", None)))
    assert json.loads(rows_text(rows, 1_000)) == [
        {"title": "Tides", "pages": 210},
        {"title": "Dunes\nand sea", "pages": None},
    ]


def test_two_columns_of_one_name_give_lists() -> None:
    assert rows_text(QueryRows(columns=("a", "a"), rows=((1, 2),)), 1_000) == "[[1, 2]]"


def test_what_is_left_out_is_said() -> None:
    rows = QueryRows(columns=("n",), rows=tuple((at,) for at in range(100)))
    line, note = rows_text(rows, 60).split("\n")
    kept = json.loads(line)
    assert kept == [{"n": at} for at in range(len(kept))] and len(line) <= 62
    assert note == f"({100 - len(kept)} more rows are left out)"
    assert rows_text(QueryRows(columns=("n",), rows=((1,),), cut=True), 60).endswith("(more rows are left out)")


def test_a_row_that_is_too_long_is_cut_in_its_values() -> None:
    rows = QueryRows(columns=("a", "b"), rows=(("x" * 500, [1, 2]), ("y", 3)))
    line, note = rows_text(rows, 80).split("\n")
    assert json.loads(line) == [{"a": "x" * 40 + "…", "b": [1, 2]}]
    assert note == "(1 more rows are left out)"


@given(st.lists(st.tuples(SCALARS, SCALARS), max_size=8), st.integers(50, 200))
def test_the_first_line_is_json_of_the_first_rows(rows: list[tuple[object, object]], most: int) -> None:
    first = rows_text(QueryRows(columns=("a", "b"), rows=tuple(rows)), most).partition("\n")[0]
    kept = json.loads(first)
    assert kept == [{"a": a, "b": b} for a, b in rows[: len(kept)]]
    assert bool(kept) == bool(rows)
