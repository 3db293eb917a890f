"""Questions over HTTP: a model behind a loopback server that answers from a list, over the small graph in Ladybug."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inference.chat import Budget
from planners.graphseek.catalog import PropertyDescriptor, RelationshipDescriptor, SemanticCatalog
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts, answer_question
from planners.graphseek.results import ResultStore
from planners.graphseek.turn import AgentEvent, AgentSettings
from planners.stores.graph_schema import ReadableGraph
from tests.planners.kgot.run_fakes import StepServer

CATALOG = SemanticCatalog(
    about="Manufacturing of electric vehicles.",
    relationships={
        name: RelationshipDescriptor(
            properties={
                "costClass": PropertyDescriptor(values={"planned": "Plan"}),
                "cost": PropertyDescriptor(unit="EUR"),
            }
        )
        for name in ("ASSEMBLED_AT", "INTEGRATED_IN")
    },
)


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"operator": name, "arguments": arguments} for name, arguments in made]}


def named(type_: str, name: str, operator: str = "=") -> dict[str, Any]:
    """A selection of a type by a name."""
    return {"type": type_, "filters": [{"key": "name", "operator": operator, "value": name}]}


@dataclass
class Ran:
    """A run that has ended, what it told, and what the model was asked."""

    run: AnsweredQuestion
    events: list[AgentEvent]
    prompts: list[str]
    bodies: list[Any] = field(default_factory=list)

    def of(self, kind: type[Any]) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]

    @property
    def seen(self) -> str:
        """The last prompt: it has all steps."""
        return self.prompts[-1]


class Asker:
    """Asks questions of one graph; each run has results of its own."""

    def __init__(self, graph: ReadableGraph, folder: Path) -> None:
        self.graph = graph
        self._folder = folder
        self._count = 0

    def folder(self) -> Path:
        self._count += 1
        return self._folder / str(self._count)

    def parts(self, server: StepServer, budget: Budget | None = None) -> QuestionParts:
        return QuestionParts(
            graph=self.graph,
            catalog=CATALOG,
            operators=tuple(known_operators().values()),
            results=ResultStore(self.folder()),
            turns=LlmTurns(server.chat(budget), fence_key=b"key"),
        )

    async def ask(
        self,
        question: str,
        *turns: Any,
        budget: Budget | None = None,
        observe: Callable[[AgentEvent], None] = lambda event: None,
        **settings: Any,
    ) -> Ran:
        """Ask, with these answers of the model, the last of which stays."""
        events: list[AgentEvent] = []

        def hear(event: AgentEvent) -> None:
            events.append(event)
            observe(event)

        with StepServer(turn=list(turns)) as server:
            parts = self.parts(server, budget)
            run = await answer_question(question, parts, AgentSettings(**settings), hear)
            self.last = parts.results
            return Ran(run=run, events=events, prompts=server.prompts("turn"), bodies=server.of("turn"))
