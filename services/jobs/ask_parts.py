"""What questions work with, opened and closed again: the graph, its catalog, the operators, and who plans the steps."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inference.chat import ChatModel
from ontology.errors import InvalidArgumentError
from planners.calls.tool_finder import Finder
from planners.graphseek.adapt import OperatorAdapter
from planners.graphseek.catalog import OWN_SHARE, SemanticCatalog, catalog_for, described_share, read_catalog
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import Operator, known_operators
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts
from planners.graphseek.recorded_question import answer_recorded
from planners.graphseek.results import ResultStore
from planners.graphseek.rules_turns import RulesTurns
from planners.graphseek.turn import AgentEvent, AgentSettings, Question, TurnMaker
from planners.journal.run_journal import RunJournal
from planners.stores.graph_schema import GraphSchema
from services.jobs.cached_store import versions_folder
from services.jobs.question_graph import open_question_graph

__all__ = ["AskPlan", "OpenedGraph", "open_asked_graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPlan:
    """What is asked, and how.

    :param graph: address of the graph, as of :func:`open_question_graph`.
    :param catalog: a file of the user's; the shipped catalog of the graph where None.
    :param operators: all there are.
    :param settings: limits of a question.
    :param chat: the model that plans; rules do where None.
    :param finder: looks operators up for a model's steps; all are offered where None, and to rules, which read no descriptions.
    :param cache: folder where graphs are loaded into; the user's cache folder where None.
    """

    graph: str
    catalog: Path | None = None
    operators: Sequence[Operator] = field(default_factory=lambda: tuple(known_operators().values()))
    settings: AgentSettings = field(default_factory=AgentSettings)
    chat: ChatModel | None = None
    finder: Finder | None = None
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

    :raises EgotoolsError: when the graph or the catalog cannot be opened, or the catalog is a draft, or of another graph.
    """
    own = _accepted(plan.catalog) if plan.catalog else None
    async with open_question_graph(plan.graph, plan.cache) as graph:
        catalog = _chosen(own, await graph.schema(), str(plan.catalog))
        made_for = own.fingerprint if own is not None else ""
        adapter = OperatorAdapter(versions_folder(), plan.chat, accepted=made_for)

        def parts(results: ResultStore) -> QuestionParts:
            return QuestionParts(
                graph=graph,
                catalog=catalog,
                operators=plan.operators,
                results=results,
                turns=plan.turns(),
                finder=plan.finder if plan.chat is not None else None,
                adapter=adapter,
            )

        yield OpenedGraph(plan=plan, parts=parts)


def _accepted(file: Path) -> SemanticCatalog:
    catalog = read_catalog(file)
    if not catalog.accepted:
        remedy = f"Read it, and run `egotools catalog accept {file}`"
        raise InvalidArgumentError("the catalog is a draft", subject=str(file), remedy=remedy)
    return catalog


def _chosen(own: SemanticCatalog | None, schema: GraphSchema, subject: str) -> SemanticCatalog:
    if own is not None and own.fingerprint != schema.fingerprint and described_share(own, schema) < OWN_SHARE:
        raise InvalidArgumentError(
            f"the catalog describes less than {OWN_SHARE:.0%} of the names of this graph",
            subject=subject,
            remedy="Draft one of this graph with `egotools catalog draft`, or leave --catalog out",
        )
    return catalog_for(schema, [own] if own is not None else ())
