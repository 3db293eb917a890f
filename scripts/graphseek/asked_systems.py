"""The five systems that are compared: three ways to plan with operators, and Cypher written directly, with the schema or the catalog."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from egotools import AsyncClient
from inference.chat import ChatModel
from planners.calls.tool_finder import Finder, ToolFinder
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import QuestionParts, answer_question
from planners.graphseek.results import ResultStore
from planners.graphseek.turn import AgentEvent, AgentSettings, Invoked, TurnMaker
from planners.graphseek.turn import Question as AskedQuestion
from scripts.graphseek.account_graph import AccountGraph
from scripts.graphseek.answer_score import Answer
from scripts.graphseek.direct_cypher import ask_directly
from scripts.graphseek.question import Question
from scripts.graphseek.system_answer import SystemAnswer, shown_tables
from services.jobs.cached_store import operator_store
from services.server.process import server_process

__all__ = ["SYSTEMS", "AskedSystem", "ask_graphseek", "operator_finder"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSystem:
    """How a system plans.

    :param is_bound: all operators stand in each step, instead of those that are looked up.
    :param direct: it writes Cypher: with the schema, or with the catalog's text.
    """

    descriptors: bool = True
    is_bound: bool = False
    direct: bool = False

    async def ask(
        self,
        model: ChatModel,
        graph: AccountGraph,
        question: Question,
        finder: Finder,
        *,
        settings: AgentSettings,
        attempts: int,
        told: list[AgentEvent],
    ) -> SystemAnswer:
        """Ask a question.

        :param finder: of operators.
        :param attempts: of a system that writes Cypher.
        :param told: gets the events of the run.
        """
        if self.direct:
            return await ask_directly(
                model,
                graph,
                question,
                with_catalog=self.descriptors,
                attempts=attempts,
                max_tokens=settings.answer_tokens,
            )
        chosen = AgentSettings(
            max_steps=settings.max_steps,
            answer_tokens=settings.answer_tokens,
            max_seconds=settings.max_seconds,
            descriptors="on" if self.descriptors else "off",
        )
        found_by = None if self.is_bound else finder
        turns = LlmTurns(model, settings=chosen)
        return await ask_graphseek(graph, question.text, turns, settings=chosen, finder=found_by, told=told)


SYSTEMS: Mapping[str, AskedSystem] = {
    "basic": AskedSystem(),
    "no descriptors": AskedSystem(descriptors=False),
    "all bound": AskedSystem(is_bound=True),
    "direct": AskedSystem(direct=True, descriptors=False),
    "direct with catalog": AskedSystem(direct=True),
}


@dataclass(slots=True)
class _Heard:
    """Keeps events, and the names of the operators in them."""

    told: list[AgentEvent]
    operators: list[str] = field(default_factory=list)

    def __call__(self, event: AgentEvent) -> None:
        self.told.append(event)
        if isinstance(event, Invoked):
            self.operators.append(event.operator)


async def ask_graphseek(
    graph: AccountGraph,
    text: str,
    turns: TurnMaker,
    *,
    settings: AgentSettings,
    told: list[AgentEvent],
    finder: Finder | None = None,
) -> SystemAnswer:
    """Ask a question of the agent, with results of its own."""
    heard = _Heard(told)
    with tempfile.TemporaryDirectory() as folder:
        results = ResultStore(Path(folder))
        try:
            parts = QuestionParts(
                graph=graph.graph,
                catalog=graph.catalog,
                operators=tuple(known_operators().values()),
                results=results,
                turns=turns,
                finder=finder,
            )
            run = await answer_question(AskedQuestion(text=text), parts, settings, heard)
            tables = await shown_tables(graph, results, run.end.of)
        finally:
            results.close()
    outcome = run.end.outcome + (f": {run.end.missing}" if run.end.missing else "")
    steps = len(run.records) + (run.end.outcome in ("answered", "asked back", "unreadable"))
    is_answer = run.end.outcome in ("answered", "ungrounded")  # what was not read, or is asked back, answers nothing
    answer = Answer(text=run.end.answer, tables=tables) if is_answer else Answer()
    return SystemAnswer(answer=answer, outcome=outcome, steps=steps, last=" ".join(heard.operators))


@contextlib.asynccontextmanager
async def operator_finder(folder: Path) -> AsyncIterator[Finder]:
    """Serve the operators, and yield what finds them."""
    store = operator_store(known_operators().values(), folder)
    with server_process(store) as server:
        async with AsyncClient(server["address"]) as client:
            yield ToolFinder(client, k=AgentSettings().found_operators)
