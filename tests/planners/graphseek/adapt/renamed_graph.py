"""The small graph of vehicles with a property that has another name, and runs of one question over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from planners.calls.tool_finder import Finder
from planners.graphseek.adapt import OperatorAdapter
from planners.graphseek.llm_turns import LlmTurns
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import AnsweredQuestion, QuestionParts, answer_question
from planners.graphseek.results import ResultStore
from planners.graphseek.turn import AgentEvent, AgentSettings, Question
from planners.stores.graph_schema import ReadableGraph
from tests.planners.graphseek.agent.http_run import CATALOG, calls
from tests.planners.graphseek.agent.small_ev import NODES, write_small_ev
from tests.planners.kgot.run_fakes import StepServer

OWN_OPERATORS = Path(__file__).with_name("own_operators")
QUESTION = Question(text="At which site is BM-9001 built?")
CALL = calls(("sites_of_module", {"module_name": "BM-9001"}))
TOLD = {"answer": 'It is built at "Factory Alpha - Northern Division".'}
GIVES_UP = {"ask": "Which module do you mean?"}
WRONG = "MATCH (m:BatteryModule)-[:BUILT_AT]->(s:FactorySite) WHERE m.name = $module_name RETURN s AS factory_site, s.name AS name"
RIGHT = WRONG.replace("m.name", "m.title")


def proposal(template: str = RIGHT, **more: Any) -> dict[str, Any]:
    return {"template": template, **more}


def rename_property(path: Path) -> None:
    """Put a graph whose battery modules have a ``title`` in the place of the one with a ``name``."""
    columns, rows = NODES["BatteryModule"]
    renamed = {**NODES, "BatteryModule": (columns.replace("name STRING", "title STRING"), rows)}
    with patch.dict(NODES, renamed):
        write_small_ev(path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


@dataclass
class Ran:
    """A run that has ended, what it told, and what the model was asked for versions."""

    run: AnsweredQuestion
    events: list[AgentEvent]
    asked: list[Mapping[str, Any]]

    def of(self, kind: type[Any]) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]


@dataclass
class Service:
    """A running service: one graph, one folder of versions.

    :ivar accepted: fingerprint of the catalog.
    """

    graph: ReadableGraph
    folder: Path
    accepted: str = ""
    results: int = 0

    @property
    def versions(self) -> Path:
        return self.folder / "versions"

    def parts(self, server: StepServer, *, proposes: bool, finder: Finder | None = None) -> QuestionParts:
        self.results += 1
        model = server.chat()
        return QuestionParts(
            graph=self.graph,
            catalog=replace(CATALOG, fingerprint=self.accepted),
            operators=tuple(known_operators([OWN_OPERATORS]).values()),
            results=ResultStore(self.folder / f"results-{self.results}"),
            turns=LlmTurns(model, fence_key=b"key"),
            finder=finder,
            adapter=OperatorAdapter(self.versions, model if proposes else None),
        )

    async def ask(self, *turns: Any, versions: tuple[Any, ...] = (), finder: Finder | None = None) -> Ran:
        """Ask the question, with these answers of the model; without versions it proposes none."""
        events: list[AgentEvent] = []
        with StepServer(turn=list(turns), operator_version=list(versions)) as server:
            parts = self.parts(server, proposes=bool(versions), finder=finder)
            run = await answer_question(QUESTION, parts, AgentSettings(), events.append)
            return Ran(run=run, events=events, asked=server.of("operator_version"))
