"""What questions work with, opened and closed again: the graph, its catalog, the operators, who plans the steps; and why a question has no answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inference.chat import ChatModel
from ontology.errors import (
    BudgetExceededError,
    DeadlineError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
    StorageError,
)
from planners.graphseek.catalog import SemanticCatalog, catalog_for, read_catalog, unknown_names
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import Operator, known_operators
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts, answer_recorded
from planners.graphseek.results import ResultStore
from planners.graphseek.rules_turns import RulesTurns
from planners.graphseek.turn import AgentEvent, AgentSettings, Ended, Question, TurnMaker
from planners.journal.run_journal import RunJournal
from planners.stores import READABLE_ADDRESSES, open_readable
from planners.stores.graph_schema import GraphSchema, ReadableGraph
from planners.stores.ladybug import open_ladybug_reader
from services.jobs.cached_store import cache_folder
from services.jobs.tool_graph_file import tool_graph_file

__all__ = ["AskPlan", "OpenedGraph", "open_asked_graph", "open_question_graph", "outcome_error"]

_ADDRESSES = ("store:PATH", *READABLE_ADDRESSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPlan:
    """What is asked, and how.

    :param graph: address of the graph, as of :func:`open_question_graph`.
    :param catalog: a file of the user's; the shipped catalog of the graph where None.
    :param operators: all there are.
    :param settings: limits of a question.
    :param chat: the model that plans; rules do where None.
    :param cache: folder where graphs are loaded into; the user's cache folder where None.
    """

    graph: str
    catalog: Path | None = None
    operators: Sequence[Operator] = field(default_factory=lambda: tuple(known_operators().values()))
    settings: AgentSettings = field(default_factory=AgentSettings)
    chat: ChatModel | None = None
    cache: Path | None = None

    def turns(self) -> TurnMaker:
        """Return who plans the steps."""
        return RulesTurns() if self.chat is None else LlmTurns(self.chat, settings=self.settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedGraph:
    """A graph that questions are asked of.

    :param parts: makes the parts of a run, with its results.
    """

    plan: AskPlan
    parts: Callable[[ResultStore], QuestionParts]

    async def answer(
        self, question: Question, journal: RunJournal, results: ResultStore, observe: Callable[[AgentEvent], None]
    ) -> AnsweredQuestion:
        """Ask the question of a turn, or go on with it; one that has ended is told again.

        :param journal: of the turn, as :meth:`services.jobs.conversation.ConversationTurn.opened` opens it.
        :param results: of the turn; they can only be read when it has ended.
        :param observe: gets each event.
        :raises EgotoolsError: as of :func:`answer_recorded`.
        """
        answered = await answer_recorded(question, journal, self.parts(results), self.plan.settings, observe)
        if journal.end is not None:
            await results.close_for_writing()
        return answered


@contextlib.asynccontextmanager
async def open_asked_graph(plan: AskPlan) -> AsyncIterator[OpenedGraph]:
    """Open a graph with its catalog, and close it at the end.

    :raises EgotoolsError: when the graph or the catalog cannot be opened, or the catalog is of another graph.
    """
    own = read_catalog(plan.catalog) if plan.catalog else None
    async with open_question_graph(plan.graph, plan.cache) as graph:
        catalog = _chosen(own, await graph.schema(), str(plan.catalog))

        def parts(results: ResultStore) -> QuestionParts:
            return QuestionParts(
                graph=graph,
                catalog=catalog,
                operators=plan.operators,
                results=results,
                turns=plan.turns(),
            )

        yield OpenedGraph(plan=plan, parts=parts)


@contextlib.asynccontextmanager
async def open_question_graph(address: str, cache: Path | None = None) -> AsyncIterator[ReadableGraph]:
    """Open a graph, and close it at the end.

    :param address: ``store:PATH`` for the tool graph of a store, or one of :data:`READABLE_ADDRESSES`.
    :param cache: folder where graphs are loaded into; the user's cache folder where None.
    :raises EgotoolsError: as of :func:`open_readable`, and of :func:`tool_graph_file`.
    """
    kind, _, rest = address.partition(":")
    if kind not in [each.partition(":")[0] for each in _ADDRESSES] or not rest:
        remedy = f"Use one of {', '.join(_ADDRESSES)}"
        raise InvalidArgumentError(f"no graph has the address {address[:80]!r}", subject="--graph", remedy=remedy)
    if kind == "store":
        path = await asyncio.to_thread(tool_graph_file, Path(rest), cache)
        async with open_ladybug_reader(path) as ladybug:
            yield ladybug
        return
    async with open_readable(address, cache or cache_folder("graphs")) as graph:
        yield graph


def _chosen(own: SemanticCatalog | None, schema: GraphSchema, subject: str) -> SemanticCatalog:
    if own is None:
        return catalog_for(schema)
    if unknown := unknown_names(own, schema):
        problem = f"the graph does not have {', '.join(unknown[:5])}" + (" and others" if len(unknown) > 5 else "")
        raise InvalidArgumentError(problem, subject=subject, remedy="Correct these names, or leave --catalog out")
    return own


def outcome_error(end: Ended, *, by_command: bool = True) -> EgotoolsError | None:
    """Return why a question has no sure answer; None where it has one.

    :param by_command: whether ``egotools ask`` asked, whose options are then named; else the page did.
    """
    again = "With the same journal the command goes on with it" if by_command else "Ask again"
    raise_it = f"Raise it. {again}" if by_command else again
    model = "name a model (--llm-url, --llm-model)" if by_command else "give the server one (serve --query-model)"
    words = f"Ask in words of the graph's types and properties, or {model}"
    more = "; more of them may help (--steps)" if by_command else ""
    why = end.missing.rstrip(".?! ")
    kind, problem, subject, remedy = {
        "answered": (None, "", "", ""),
        "ungrounded": (
            ModelError,
            f"the answer is ungrounded: {why}",
            "",
            "Do not rely on it: read the tables, or ask again",
        ),
        "asked back": (
            InvalidArgumentError,
            "the question has two readings",
            "question",
            "Ask again, and say which one you mean",
        ),
        "unreadable": (InvalidArgumentError, "the question could not be read", "question", words),
        "no answer": (NotFoundError, f"no answer was found: {why}", "question", f"Read its steps{more}"),
        "model": (ModelError, why, "", again),
        "store": (StorageError, why, "graph", f"See whether it is there. {again}"),
        "budget": (BudgetExceededError, why, "budget", raise_it),
        "deadline": (DeadlineError, why, "--max-seconds" if by_command else "question", raise_it),
        "cancelled": (DeadlineError, why, "question", again),
    }[end.outcome]
    return kind(problem, subject=subject, remedy=remedy) if kind is not None else None
