"""Questions without a model: what is answered is right, and what is not understood is refused by the word."""

import asyncio
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from benchmarks.planners.questions import Answer, score_answer, shipped_questions
from planners.graphseek.catalog import SemanticCatalog, catalog_for, read_catalog
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import QuestionParts, answer_question
from planners.graphseek.results import Cell, ResultStore
from planners.graphseek.rules_turns import RulesTurns
from planners.graphseek.turn import Ended
from planners.stores import open_readable
from planners.stores.ladybug import load_graph
from services.jobs.tool_graph_file import tool_graph_file
from tests.planners.stores.reading_tables import read_tables

TABLE: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))
_LEAST = 24
"""Of the 26 shipped questions on the tool graph."""


class Answered(NamedTuple):
    """How a run ended, and the tables that its answer rests on: name of a column → values."""

    end: Ended
    tables: list[dict[str, list[Cell]]]


async def answer_all(
    address: str, folder: Path, questions: Iterable[str], catalog: SemanticCatalog | None = None
) -> dict[str, Answered]:
    """Answer questions."""
    found: dict[str, Answered] = {}
    turns, operators = RulesTurns(), tuple(known_operators().values())
    async with open_readable(address, folder) as graph:
        known = catalog or catalog_for(await graph.schema())
        for number, text in enumerate(questions):
            with closing(ResultStore(folder / f"results-{number}")) as store:
                parts = QuestionParts(graph=graph, catalog=known, operators=operators, results=store, turns=turns)
                run = await answer_question(text, parts)
                found[text] = Answered(run.end, [await _table(store, each) for each in run.end.of])
    return found


async def _table(store: ResultStore, handle: str) -> dict[str, list[Cell]]:
    result = store.result(handle)
    if result.kind != "table":
        return {}
    rows = await store.rows(handle, limit=100_000)
    return {column.name: [row[at] for row in rows] for at, column in enumerate(result.columns)}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answered]:
    folder = tmp_path_factory.mktemp("library")
    load_graph(folder / "library.lbdb", *read_tables(Path(__file__).with_name("library_tables.yaml")))
    catalog = read_catalog(Path(__file__).with_name("library.yaml"))
    asked = [text for questions in TABLE.values() for text in questions]
    return asyncio.run(answer_all(f"ladybug:{folder / 'library.lbdb'}", folder, asked, catalog))


def test_a_set_of_names(answers: dict[str, Answered], subtests: pytest.Subtests) -> None:
    for question in TABLE["names"]:
        with subtests.test(ascii(question)):
            answered, names = answers[question], TABLE["names"][question]
            assert answered.end.outcome == "answered", answered.end.answer
            columns = [set(column) for table in answered.tables for column in table.values()]
            assert set(names) in columns, answered.end.answer
            assert all(name in answered.end.answer for name in names)


@pytest.mark.parametrize("question", TABLE["says"])
def test_a_number_a_value_or_pairs(answers: dict[str, Answered], question: str) -> None:
    assert answers[question].end.outcome == "answered", answers[question].end.answer
    assert TABLE["says"][question] in answers[question].end.answer


def test_what_is_not_understood_is_refused_by_the_word(answers: dict[str, Answered], subtests: pytest.Subtests) -> None:
    for question in TABLE["refused"]:
        with subtests.test(ascii(question)):
            assert answers[question].end.outcome in ("unreadable", "asked back"), answers[question].end.answer
            assert TABLE["refused"][question] in answers[question].end.answer


def test_the_shipped_questions_are_right_or_refused(company_store: Path, tmp_path: Path) -> None:
    questions = shipped_questions("tool_graph")
    address = f"ladybug:{tool_graph_file(company_store, tmp_path / 'graphs')}"
    answered = asyncio.run(answer_all(address, tmp_path, [each.text for each in questions]))
    right = []
    for each in questions:
        run = answered[each.text]
        if run.end.outcome == "answered":
            assert score_answer(each.truth, Answer(text=run.end.answer, tables=run.tables)).whole, each.text
            right.append(each.id)
    assert len(right) >= _LEAST
