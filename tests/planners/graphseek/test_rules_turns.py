"""Questions without a model: what is answered is right, and what is not understood is refused by the word."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.planners.questions import Answer, score_answer, shipped_questions
from services.jobs.tool_graph_file import tool_graph_file
from tests.planners.graphseek.library_graph import CATALOG, write_library
from tests.planners.graphseek.rule_runs import Answered, answer_all

TABLE: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))
_LEAST = 24
"""Of the 26 shipped questions on the tool graph."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    folder = tmp_path_factory.mktemp("library")
    write_library(folder / "library.lbdb")
    asked = [text for questions in TABLE.values() for text in questions]
    return asyncio.run(answer_all(f"ladybug:{folder / 'library.lbdb'}", folder, asked, CATALOG))


@pytest.mark.parametrize("question", TABLE["names"])
def test_a_set_of_names(answers: dict[str, Answered], question: str) -> None:
    answered, names = answers[question], TABLE["names"][question]
    assert answered.outcome == "answered", answered.text
    columns = [set(column) for table in answered.tables for column in table.values()]
    assert set(names) in columns, answered.text
    assert all(name in answered.text for name in names)


@pytest.mark.parametrize("question", TABLE["says"])
def test_a_number_a_value_or_pairs(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome == "answered", answers[question].text
    assert TABLE["says"][question] in answers[question].text


@pytest.mark.parametrize("question", TABLE["refused"])
def test_what_is_not_understood_is_refused_by_the_word(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].outcome in ("unreadable", "asked back"), answers[question].text
    assert TABLE["refused"][question] in answers[question].text


def test_the_shipped_questions_are_right_or_refused(company_store: Path, tmp_path: Path) -> None:
    questions = shipped_questions("tool_graph")
    address = f"ladybug:{tool_graph_file(company_store, tmp_path / 'graphs')}"
    answered = asyncio.run(answer_all(address, tmp_path, [each.text for each in questions]))
    right = []
    for each in questions:
        run = answered[each.text]
        if run.outcome == "answered":
            assert score_answer(each.truth, Answer(text=run.text, tables=run.tables)).whole, each.text
            right.append(each.id)
    assert len(right) >= _LEAST
