"""One question of ``egotools ask``: graph and journal are opened, the question is answered or its run told again, its results are read."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ontology.errors import EgotoolsError, InvalidArgumentError
from planners.finding.tool_finder import ToolFinder
from planners.graphseek.agent.agent_events import AgentEvent, ResultKept
from planners.graphseek.agent.question_run import AnsweredQuestion
from planners.graphseek.agent.recorded_question import replay_question
from planners.graphseek.operators.operator_registry import known_operators
from planners.graphseek.results.result_store import ResultStore
from services.cli.tools_client import tools_client
from services.jobs.ask_parts import AskPlan, open_asked_graph
from services.jobs.conversation import conversation_turns, next_turn
from services.jobs.operator_store import operator_store
from services.jobs.result_page import result_page

__all__ = ["Asked", "Told", "ask", "replay", "with_lookup"]


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
async def with_lookup(plan: AskPlan, operators: int, cache: Path | None = None) -> AsyncIterator[AskPlan]:
    """Serve the store of operators meanwhile, and return the plan with what looks them up there.

    :param operators: that a step is given at most, beside the core.
    :param cache: folder of the store; the user's cache folder where None.
    """
    store = operator_store(known_operators().values(), cache)
    async with tools_client("", store) as client:
        yield replace(plan, finder=ToolFinder(client, k=operators))


async def ask(plan: AskPlan, asked: Asked, observe: Callable[[AgentEvent], None], *, lookup: bool = False) -> Told:
    """Ask a question, or go on with its run.

    :param lookup: whether operators are looked up for each step.
    :raises EgotoolsError: when something cannot be opened, or the journal is of another run.
    """
    async with contextlib.AsyncExitStack() as stack:
        journal = stack.enter_context(_journal(asked.journal))
        if lookup:
            plan = await stack.enter_async_context(with_lookup(plan, plan.settings.found_operators))
        graph = await stack.enter_async_context(open_asked_graph(plan))
        question, turn = next_turn(journal, asked.text, refine=asked.refine, branch=asked.branch)
        results = stack.enter_context(turn.results())
        shown = _Shown(observe)
        answered = await graph.answer(question, turn, results, shown.tell)
        return Told(answered=answered, pages=await shown.pages(results, answered.end.of, asked.rows))


async def replay(journal: Path, rows: int, observe: Callable[[AgentEvent], None]) -> Told:
    """Tell the last turn of a journal again; nobody is asked, and the graph is not opened.

    :raises InvalidArgumentError: when there is none, or it has not ended.
    """
    turns = conversation_turns(journal)
    if not turns:
        raise InvalidArgumentError("there is no such journal", subject=str(journal), remedy="Name that of a question")
    shown = _Shown(observe)
    answered = await replay_question(turns[-1].read(), shown.tell)
    with turns[-1].results() as results:
        return Told(answered=answered, pages=await shown.pages(results, answered.end.of, rows))


@dataclass(slots=True)
class _Shown:
    """Hears which presentations a run makes."""

    observe: Callable[[AgentEvent], None]
    presentations: list[str] = field(default_factory=list)

    def tell(self, event: AgentEvent) -> None:
        if isinstance(event, ResultKept) and event.kind == "presentation":
            self.presentations.append(event.handle)
        self.observe(event)

    async def pages(self, results: ResultStore, of: Sequence[str], rows: int) -> list[dict[str, Any]]:
        """Return presentations, and the results of the answer that none of them shows."""
        pages = []
        for handle in dict.fromkeys([*self.presentations, *of]):
            with contextlib.suppress(EgotoolsError):  # of a replay: the folder may be gone, or rows evicted
                pages.append(await result_page(results, handle, count=rows))
        presented = {page["of"]["handle"] for page in pages if "of" in page}
        return [page for page in pages if page["handle"] not in presented]


@contextlib.contextmanager
def _journal(path: Path | None) -> Iterator[Path]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="egotools-ask-") as folder:
        yield Path(folder) / "question.jsonl"
