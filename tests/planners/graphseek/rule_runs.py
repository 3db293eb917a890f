"""Questions answered by rules, each in a run of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planners.graphseek.agent.invocation_executor import QuestionParts
from planners.graphseek.agent.question_run import AnsweredQuestion, answer_question
from planners.graphseek.catalog.catalog import SemanticCatalog, catalog_for
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.results.result import Cell
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.rules_turns import RulesTurns
from planners.graphseek.turn import Question
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

    @property
    def operators(self) -> list[str]:
        return [each.operator for record in self.run.records for each in record.invocations]


async def answer_all(
    address: str, folder: Path, talks: Sequence[Sequence[str]], catalog: SemanticCatalog | None = None
) -> dict[str, Answered]:
    """Answer questions; those of one talk share their results."""
    found: dict[str, Answered] = {}
    turns = RulesTurns()
    async with open_readable(address, folder) as graph:
        known = catalog or catalog_for(await graph.schema())
        for number, talk in enumerate(talks):
            store = ResultStore(folder / f"results-{number}")
            parts = QuestionParts(
                graph=graph, catalog=known, operators=tuple(known_operators().values()), results=store, turns=turns
            )
            earlier: tuple[tuple[str, str], ...] = ()
            for text in talk:
                run = await answer_question(Question(text=text, earlier=earlier), parts)
                found[text] = Answered(run, [await _table(store, each) for each in run.end.of])
                earlier = (*earlier, (text, run.end.answer))
            store.close()
    return found


async def _table(store: ResultStore, handle: str) -> dict[str, list[Cell]]:
    result = store.result(handle)
    if result.kind != "table":
        return {}
    rows = await store.rows(handle, limit=100_000)
    return {column.name: [row[at] for row in rows] for at, column in enumerate(result.columns)}
