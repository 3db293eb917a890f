"""Questions over HTTP: a model behind a loopback server that answers from a list, over the small graph in Ladybug."""

from __future__ import annotations

from dataclasses import dataclass
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
    """A run that has ended, what it told, its results, and the server of its model."""

    run: AnsweredQuestion
    events: list[AgentEvent]
    results: ResultStore
    server: StepServer

    def of(self, kind: type[Any]) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]


async def ask(
    graph: ReadableGraph, folder: Path, question: str, *turns: Any, budget: Budget | None = None, **settings: Any
) -> Ran:
    """Ask a question of a graph, with these answers of the model, the last of which stays; results are kept in a new folder."""
    events: list[AgentEvent] = []
    results, operators = ResultStore(folder), tuple(known_operators().values())
    with StepServer(turn=list(turns)) as server:
        llm = LlmTurns(server.chat(budget), fence_key=b"key")
        parts = QuestionParts(graph=graph, catalog=CATALOG, operators=operators, results=results, turns=llm)
        run = await answer_question(question, parts, AgentSettings(**settings), events.append)
    return Ran(run, events, results, server)
