"""The shipped questions on the tool graph: their truths are those of the present catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval.snapshot.reader import open_snapshot
from scripts.graphseek.question import TASKS, Question, read_questions, write_questions
from scripts.graphseek.tool_graph_questions import tool_graph_questions
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def questions(company_store: Path) -> list[Question]:
    return tool_graph_questions(open_snapshot(company_store))


def test_the_shipped_questions_are_those_of_the_shipped_catalogue(questions: list[Question], tmp_path: Path) -> None:
    path = tmp_path / "tool_graph.jsonl"
    write_questions(path, questions)
    assert path.read_text(encoding="utf-8") == (TASKS / "tool_graph.jsonl").read_text(encoding="utf-8")
    assert read_questions(path) == questions
    assert len(questions) >= 20
    assert all(part for question in questions for part in question.truth.parts)


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
