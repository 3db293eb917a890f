"""The shipped questions on the tool graph: their truths are those of the present catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.to_networkx import snapshot_graph
from scripts.graphseek.question import TASKS, Question, write_questions
from scripts.graphseek.tool_graph_questions import _FINANCE_WRITES, _READING, tool_graph_questions
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def questions(company_store: Path) -> list[Question]:
    return tool_graph_questions(open_snapshot(company_store))


def test_the_shipped_questions_are_those_of_the_shipped_catalogue(questions: list[Question], tmp_path: Path) -> None:
    path = tmp_path / "tool_graph.jsonl"
    write_questions(path, questions)
    assert path.read_text(encoding="utf-8") == (TASKS / "tool_graph.jsonl").read_text(encoding="utf-8")
    assert len(questions) >= 20
    assert [each.text for each in questions if not all(each.truth.parts)] == ["Which lines of business only write?"]


def test_truths_agree_with_the_documents_that_the_graph_is_made_of(questions: list[Question]) -> None:
    parts = {question.text: question.truth.parts for question in questions}
    catalog = ROOT / "examples" / "enterprise" / "catalog"
    legal = json.loads((catalog / "legal.json").read_text(encoding="utf-8"))
    names = tuple(sorted(tool["function"]["name"] for tool in legal))
    assert parts["Which tools belong to the line of business Legal?"] == (names,)
    take, both, one = (
        set(parts[f"Which tools {what}?"][0])
        for what in (
            "take the parameter supplierId",
            "both take and return the parameter supplierId",
            "take the parameter supplierId but do not return it",
        )
    )
    assert both | one == take
    assert not both & one
    assert take < set(parts["Which tools break if supplier_id changes?"][0])


def test_what_was_read_by_hand_covers_every_line_of_business_and_names_tools_that_are_there(
    company_store: Path, questions: list[Question]
) -> None:
    graph = snapshot_graph(open_snapshot(company_store))
    lines = {node for node, each in graph.nodes(data=True) if each["type"] == "line_of_business"}
    assert len(_READING) == len(lines)
    assert all(f"tool:{name}" in graph for name in (*_READING, *(f"finance/{each}" for each in _FINANCE_WRITES)))
    (asked,) = (each for each in questions if "Finance only read" in each.text)
    finance = graph.in_degree(next(node for node in lines if graph.nodes[node]["name"] == "Finance"))
    assert len(asked.truth.parts[0]) + len(_FINANCE_WRITES) == finance
