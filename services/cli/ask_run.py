"""One question of ``egotools ask``: graph and journal are opened, the question is answered or its run told again, its results are read."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ontology.errors import InvalidArgumentError
from planners.calls.tool_finder import ToolFinder
from planners.graphseek.question_run import AnsweredQuestion
from planners.graphseek.recorded_question import replay_question
from planners.graphseek.turn import AgentEvent
from services.cli.tools_client import tools_client
from services.jobs.ask_parts import AskPlan, OpenedGraph, open_asked_graph
from services.jobs.cached_store import operator_store
from services.jobs.conversation import conversation_turns, next_turn
from services.jobs.result_page import ShownResults

__all__ = ["Asked", "Told", "ask", "ask_opened", "replay", "with_lookup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and how it goes on from a journal.

    :param journal: of the first turn; in a temporary folder where None.
    :param branch: the step after which the last turn is branched.
    :param rows: of each table that are shown.
    """

    text: str
    journal: Path | None = None
    refine: bool = False
    branch: int | None = None
    rows: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of it.

    :param pages: the results that the answer rests on, and those that are to be shown.
    """

    answered: AnsweredQuestion
    pages: Sequence[dict[str, Any]]


@contextlib.asynccontextmanager
async def with_lookup(plan: AskPlan) -> AsyncIterator[AskPlan]:
    """Serve the store of operators meanwhile, and return the plan with what looks them up there."""
    store = operator_store(plan.operators)
    async with tools_client("", store) as client:
        yield replace(plan, finder=ToolFinder(client, k=plan.settings.found_operators))


async def ask(plan: AskPlan, asked: Asked, observe: Callable[[AgentEvent], None], *, lookup: bool = False) -> Told:
    """Ask a question, or go on with its run.

    :param lookup: whether operators are looked up for each step.
    :raises EgotoolsError: when something cannot be opened, or the journal is of another run.
    """
    async with contextlib.AsyncExitStack() as stack:
        if lookup:
            plan = await stack.enter_async_context(with_lookup(plan))
        graph = await stack.enter_async_context(open_asked_graph(plan))
        return await ask_opened(graph, asked, observe)


async def ask_opened(graph: OpenedGraph, asked: Asked, observe: Callable[[AgentEvent], None]) -> Told:
    """Ask a question of a graph that is open."""
    with _journal(asked.journal) as journal:
        question, turn = next_turn(journal, asked.text, refine=asked.refine, branch=asked.branch)
        shown = ShownResults()
        with turn.opened() as (written, results):
            answered = await graph.answer(question, written, results, shown.also(observe))
            return Told(answered=answered, pages=await shown.pages(results, answered.end.of, count=asked.rows))


async def replay(journal: Path, rows: int, observe: Callable[[AgentEvent], None]) -> Told:
    """Tell the last turn of a journal again; nobody is asked, and the graph is not opened.

    :raises InvalidArgumentError: when there is none, or it has not ended.
    """
    turns = conversation_turns(journal)
    if not turns:
        raise InvalidArgumentError("there is no such journal", subject=str(journal), remedy="Name that of a question")
    shown = ShownResults()
    answered = await replay_question(turns[-1].read(), shown.also(observe))
    with turns[-1].results() as results:
        return Told(answered=answered, pages=await shown.pages(results, answered.end.of, count=rows))


@contextlib.contextmanager
def _journal(path: Path | None) -> Iterator[Path]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="egotools-ask-") as folder:
        yield Path(folder) / "question.jsonl"
