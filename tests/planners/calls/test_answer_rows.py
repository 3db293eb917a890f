"""Entities out of answers: shapes that documents of tools describe, and random ones against a loop that is written for its shape."""

from __future__ import annotations

from typing import Any

import pytest

from ontology.errors import ToolCallError
from planners.calls.bindings import answer_rows


def rows(body: Any, path: str, source: str = "") -> list[tuple[str, str]]:
    return [(row.source, row.id) for row in answer_rows(body, path, source=source)]


@pytest.mark.parametrize(
    ("body", "path", "source", "expected"),
    [
        ({"messages": [{"id": "m1"}, {"id": 7}]}, "messages[].id", "", [("", "m1"), ("", "7")]),
        ([{"id": "m1"}], "[].id", "", [("", "m1")]),
        ([{"id": "m1"}], "result[].id", "", [("", "m1")]),
        ({"result": [{"id": "m1"}]}, "result[].id", "", [("", "m1")]),  # as MCP wraps a list
        ({"urls": ["a", "b"]}, "urls[]", "", [("", "a"), ("", "b")]),
        ({"supplierId": "s1"}, "supplierId", "", [("", "s1")]),
        ({"owner": {"employeeId": "e"}}, "owner.employeeId", "", [("", "e")]),
        ({"owner": None}, "owner.employeeId", "", []),  # nobody
        ({"rows": [{"a": {"id": 1}}, {"a": None}, {}]}, "rows[].a.id", "", [("", "1")]),
        ({"d": {"list": [{"id": "x"}]}}, "d.list[].id", "", [("", "x")]),
        ([{"source_id": "s", "entity": {"id": "x"}}], "[].entity.id", "[].source_id", [("s", "x")]),
        (
            {"orders": [{"id": "o", "items": [{"p": 1}, {"p": 2}]}]},
            "orders[].items[].p",
            "orders[].id",
            [("o", "1"), ("o", "2")],
        ),
        ({"n": [{"id": 2.0}, {"id": True}]}, "n[].id", "", [("", "2"), ("", "true")]),
        ({"messages": []}, "messages[].id", "", []),
        ({}, "messages[].id", "", []),
        ({"resultSizeEstimate": 0}, "messages[].id", "", []),  # Gmail leaves an empty list out
    ],
)
def test_shapes(body: Any, path: str, source: str, expected: list[tuple[str, str]]) -> None:
    assert rows(body, path, source) == expected


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"items": [{"id": 1}]}, "messages[].id"),
        ({"error": "no"}, "messages[].id"),
        ({"messages": {"id": 1}}, "messages[].id"),
        ({"messages": ["m1"]}, "messages[].id"),
        ({"messages": [{"key": 1}]}, "messages[].id"),
        ("prose", "messages[].id"),
        ([1, 2], "messages[].id"),
        (7, "[].id"),
        ({"supplier": "s"}, "supplier.id"),
    ],
)
def test_other_shapes_are_errors(body: Any, path: str) -> None:
    with pytest.raises(ToolCallError, match="another shape"):
        answer_rows(body, path, subject="tool")
