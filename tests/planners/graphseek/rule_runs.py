"""Questions answered by rules, each in a run of its own."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from planners.graphseek.catalog import SemanticCatalog, catalog_for
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts, answer_question
from planners.graphseek.results import Cell, ResultStore
from planners.graphseek.rules_turns import RulesTurns
from planners.stores import open_readable


@dataclass(frozen=True)
class Answered:
    """A run, and the tables that its answer rests on: name of a column → values."""

    run: AnsweredQuestion
    tables: list[dict[str, list[Cell]]]

    @property
    def text(self) -> str:
        return self.run.end.answer

    @property
    def outcome(self) -> str:
        return self.run.end.outcome


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
                found[text] = Answered(run, [await _table(store, each) for each in run.end.of])
    return found


async def _table(store: ResultStore, handle: str) -> dict[str, list[Cell]]:
    result = store.result(handle)
    if result.kind != "table":
        return {}
    rows = await store.rows(handle, limit=100_000)
    return {column.name: [row[at] for row in rows] for at, column in enumerate(result.columns)}
