"""The baseline that writes Cypher: it sees what a query gives, and accepts it or writes another one, within its attempts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from datagen.ev_graph.graph_table import ColumnType, table_of_rows
from inference.scripted import ScriptedChat
from scripts.graphseek.account_graph import open_account_graph
from scripts.graphseek.direct_cypher import ask_directly
from scripts.graphseek.load_tables import load_tables
from scripts.graphseek.question import Question, Truth
from scripts.graphseek.system_answer import SystemAnswer

_QUESTION = Question(
    id="q", graph="ev", family="f", text="Which shop is in the north?", truth=Truth(kind="names", parts=(("Quay",),))
)
_ALL = {"query": "MATCH (s:Shop) RETURN s.name AS name ORDER BY name"}
_NORTH = {"query": 'MATCH (s:Shop) WHERE s.side = "north" RETURN s AS shop'}
_EAST = {"query": 'MATCH (s:Shop) WHERE s.side = "east" RETURN s.name AS name'}
_WRONG = {"query": "MATCH (s:Shop RETURN s.name"}
_ACCEPT = {"accept": True}


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shops") / "shops.lbdb"
    columns: dict[str, ColumnType] = dict.fromkeys(("key", "name", "side"), "string")
    rows = [("1", "Mill", "south"), ("2", "Quay", "north")]
    load_tables(path, [table_of_rows("node", "Shop", (), tuple(columns.items()), rows)])
    return path


def _asked(path: Path, *said: Any, attempts: int = 4) -> tuple[SystemAnswer, ScriptedChat]:
    model = ScriptedChat([each if isinstance(each, str) else json.dumps(each) for each in said])

    async def run() -> SystemAnswer:
        async with open_account_graph("ev", path) as graph:
            return await ask_directly(model, graph, _QUESTION, with_catalog=False, attempts=attempts, max_tokens=100)

    return asyncio.run(run()), model


def test_rows_are_shown_and_may_be_rewritten_before_one_is_accepted(shops: Path) -> None:
    given, model = _asked(shops, _ALL, _NORTH, _ACCEPT)
    assert (given.outcome, given.steps, list(given.answer.tables)) == ("answered", 3, [{"shop": ["Quay"]}])
    shown = model.calls[1][-1].content
    assert "rows: 2" in shown and '"Mill"' in shown and '"Quay"' in shown


def test_the_last_query_that_ran_is_the_answer_when_attempts_are_used_up(shops: Path) -> None:
    given, _ = _asked(shops, _NORTH, _ALL, _WRONG, attempts=3)
    assert (given.outcome, given.steps) == ("answered, not accepted", 3)
    assert list(given.answer.tables) == [{"name": ["Mill", "Quay"]}]


def test_that_there_is_none_can_be_accepted(shops: Path) -> None:
    given, model = _asked(shops, _EAST, _ACCEPT)
    assert (given.outcome, list(given.answer.tables)) == ("answered", [{"name": []}])
    assert "rows: 0" in model.calls[1][-1].content


def test_nothing_is_accepted_before_a_query_ran_and_faults_are_told(shops: Path) -> None:
    given, model = _asked(shops, _ACCEPT, "no JSON", [1], _WRONG)
    assert given.outcome.startswith("no answer: The query failed") and not given.answer.is_given
    assert ["not JSON of the form" in told[-1].content for told in model.calls[1:]] == [True, True, True]
