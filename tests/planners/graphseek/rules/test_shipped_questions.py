"""The shipped questions, answered by rules: all of the tool graph, and those of a small graph of electric vehicles."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ev_graph.ev_tables import ev_tables
from retrieval.snapshot.reader import open_snapshot
from scripts.graphseek.answer_score import Answer, Score, score_answer
from scripts.graphseek.load_tables import load_tables
from scripts.graphseek.question import Question
from scripts.graphseek.tool_graph_questions import tool_graph_questions
from scripts.graphseek.write_tasks import all_ev_questions
from services.jobs.tool_graph_file import tool_graph_file
from tests.planners.graphseek.rules.rule_runs import Answered, answer_all

_SCALE = 0.1
"""Of the paper's graph: the smallest round one on which each question has parameters (of 0.07 the sixth has none)."""
_NO_NAME = "what reaches payroll in two steps"
"""Nothing of the shipped company is called so; tools have names that begin alike."""
_BAR = 24 / 30


def _talks(questions: Sequence[Question]) -> list[list[str]]:
    texts = {each.id: each.text for each in questions}
    return [[*([texts[each.follows]] if each.follows else []), each.text] for each in questions]


def _scores(questions: Sequence[Question], answered: dict[str, Answered]) -> dict[str, Score]:
    runs = {each.id: answered[each.text] for each in questions}
    return {
        each.id: score_answer(each.truth, Answer(text=runs[each.id].text, tables=runs[each.id].tables))
        for each in questions
    }


def test_all_questions_on_the_tool_graph_have_the_whole_answer(company_store: Path, tmp_path: Path) -> None:
    questions = tool_graph_questions(open_snapshot(company_store))
    address = f"ladybug:{tool_graph_file(company_store, tmp_path / 'graphs')}"
    answered = asyncio.run(answer_all(address, tmp_path, [*_talks(questions), [_NO_NAME]]))
    assert answered[_NO_NAME].outcome == "asked back"
    assert "“Payslips”" in answered[_NO_NAME].text
    scores = _scores(questions, answered)
    assert [name for name, score in scores.items() if not score.whole] == []
    assert max(len(answered[each.text].operators) for each in questions) <= 4


def test_the_bar_of_the_questions_on_electric_vehicles(tmp_path: Path) -> None:
    load_tables(tmp_path / "ev.lbdb", ev_tables(_SCALE))
    questions = all_ev_questions(_SCALE)
    answered = asyncio.run(answer_all(f"ladybug:{tmp_path / 'ev.lbdb'}", tmp_path, _talks(questions)))
    scores = _scores(questions, answered)
    asked = [name for name in scores if name.startswith("ev-")]
    assert len(asked) == 15
    assert sum(scores[name].whole for name in asked) >= _BAR * len(asked)
    others = [name for name in scores if name not in asked]
    assert sum(scores[name].whole for name in others) >= _BAR * len(others)
