"""A small deterministic Engine in memory, and a server over it, for tests of what stands around engines."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from egotools.values import (
    CatalogInfo,
    EgoGraph,
    EntryMatch,
    GraphEdge,
    GraphNode,
    NamespaceSummary,
    OntologyInfo,
    OpenInput,
    ParameterBinding,
    PlanInput,
    PlanStep,
    Provenance,
    RankedTool,
    Reasons,
    Response,
    ToolPlan,
    TraversedEdge,
)
from inference.encoder import Reranker
from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.tool import Dependency, Parameter, Tool
from retrieval.engine import Engine
from retrieval.query.request import PlanRequest, Request
from retrieval.retriever import Retriever
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.harness.waiting import LIMIT_S

SNAPSHOT_ID = "memory-1"

TOOLS = (
    Tool(
        id="crm/find_customer",
        name="find_customer",
        description="Find a customer by name",
        parameters=(Parameter(name="name", description="words of the name", required=True, location="query"),),
        returns=(Parameter(name="items[].customer_id", format="uuid"),),
        metadata={"namespace": "crm", "title": "Find Customer", "department": "sales", "tags": ["customer", "顧客"]},
    ),
    Tool(
        id="crm/get_customer",
        name="get_customer",
        description="Get the details of a customer",
        parameters=(Parameter(name="customer_id", required=True, format="uuid", location="path"),),
        depends_on=(
            Dependency(
                tool="crm/find_customer",
                parameter="customer_id",
                output="items[].customer_id",
                reason="openapi link FindCustomer",
            ),
        ),
        metadata={"namespace": "crm", "department": "sales"},
    ),
    Tool(
        id="erp/list_orders",
        name="list_orders",
        description="List the orders of a customer. 注文の一覧",
        parameters=(
            Parameter(name="customer_id", required=True),
            Parameter(name="status", enum=("open", "closed")),
            Parameter(name="page.size", type="integer"),
        ),
        metadata={"namespace": "erp", "department": "finance"},
    ),
)


@dataclass(eq=False)  # the server keeps things for each engine
class MemoryEngine(Engine):
    """Ranks by common words.

    :param delays_s: stage → seconds that it takes.
    :param hook: called with the request before anything else; may block or raise.
    """

    tools: tuple[Tool, ...] = TOOLS
    snapshot_id: str = SNAPSHOT_ID
    reranker: Reranker | None = None  # no request is reranked, but each is charged for it
    delays_s: dict[str, float] = field(default_factory=dict)
    hook: Callable[[Request], None] = lambda request: None
    stages: list[str] = field(default_factory=list)
    running: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def retriever(self, preset: str = "") -> Retriever:
        if preset not in ("", "words", "title"):
            raise InvalidArgumentError(
                f"there is no preset {preset!r}", subject="preset", remedy="Use one of title, words"
            )
        return WordRetriever(self, preset or "words")

    def plan(self, request: PlanRequest) -> ToolPlan:
        """Each goal after the tools that its document declares; a required input without one is asked for."""
        steps: list[PlanStep] = []
        asked: list[OpenInput] = []

        def add(tool_id: str, kind: str, *inputs: PlanInput) -> int:
            steps.append(PlanStep(number=len(steps) + 1, tool_id=tool_id, kind=kind, confidence=1.0, inputs=inputs))
            return len(steps)

        for goal in map(self.tool, request.goals or [self.retriever().retrieve(request.retrieval()).tools[0].id]):
            inputs = []
            for each in goal.parameters:
                one = next((found for found in goal.depends_on if found.parameter == each.name), None)
                if one is not None:
                    came: dict[str, Any] = {"source": "step", "step": add(one.tool, "depends_on"), "supplier": one.tool}
                    came |= {"output": one.output, "kind": "depends_on", "confidence": 1.0}
                    inputs.append(PlanInput(parameter=each.name, alternatives=("erp/list_orders",), **came))
                elif each.required:
                    inputs.append(PlanInput(parameter=each.name, source="ask"))
            number = add(goal.id, "goal", *inputs)
            asked += [
                OpenInput(parameter=each.parameter, description="顧客", source="ask", steps=(number,))
                for each in inputs
                if each.source == "ask"
            ]
        return ToolPlan(
            steps=tuple(steps),
            open_inputs=tuple(asked),
            cost=float(len(steps)),
            snapshot_id=self.snapshot_id,
            fallbacks=("made by hand",),
        )

    def tool(self, tool_id: str) -> Tool:
        for tool in self.tools:
            if tool.id == tool_id:
                return tool
        raise NotFoundError("there is no such tool", subject=tool_id, remedy="See the catalogue for the ids")

    def neighbors(self, node: str, *, predicates: Sequence[str] = (), limit: int = 100) -> EgoGraph:
        tool = self.tool(node.removeprefix("tool:"))
        key = f"tool:{tool.id}"
        edges = [
            GraphEdge(
                head=key,
                predicate="has_parameter",
                tail=f"parameter:{parameter.name}",
                phrase="takes",
                provenance=(Provenance(tool_id=tool.id, field=f"parameters.{parameter.name}", extractor="rules.v1"),),
            )
            for parameter in tool.parameters
            if not predicates or "has_parameter" in predicates
        ]
        ends = sorted(edge.tail for edge in edges[:limit])
        return EgoGraph(
            center=GraphNode(key=key, type="tool", name=tool.title, degree=len(tool.parameters), tool_id=tool.id),
            nodes=tuple(
                GraphNode(key=end, type="parameter", name=end.partition(":")[2], degree=1, surface_forms=("x",))
                for end in ends
            ),
            edges=tuple(edges[:limit]),
            total_degree=len(edges),
            snapshot_id=self.snapshot_id,
        )

    def catalog(self) -> CatalogInfo:
        return CatalogInfo(
            snapshot_id=self.snapshot_id,
            format_version=1,
            ontology=OntologyInfo(name="default", version=3, digest="ab" * 32),
            tool_count=len(self.tools),
            presets=("title", "words"),
            default_preset="words",
            models={"encoder": "none"},
            node_counts={"tool": len(self.tools)},
            edge_counts={"has_parameter": 5},
            created_by={"egotools": "0.1.0"},
        )

    def namespaces(self) -> tuple[NamespaceSummary, ...]:
        return (NamespaceSummary(name="", tool_count=len(self.tools), objects=("invoice",)),)

    def tool_ids(self, offset: int, limit: int) -> Sequence[str]:
        return [tool.id for tool in self.tools[offset : offset + limit]]

    def known_terms(self, text: str) -> frozenset[str]:
        return frozenset(_words(text)) & _words(" ".join(f"{tool.name} {tool.description}" for tool in self.tools))

    def check_filters(self, filters: Mapping[str, Sequence[str]]) -> None:
        """It has no metadata to check them against."""

    def restricted(self, filters: Mapping[str, Sequence[str]]) -> Engine:
        seen = [
            tool for tool in self.tools if all(tool.metadata.get(key) in filters[key] for key in filters if key != "id")
        ]
        return replace(self, tools=tuple(seen))


class HeldStage(dict[str, float]):
    """Delays of an engine whose first stage lasts until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def get(self, stage: str, default: Any = 0.0) -> float:
        """Nothing is left to wait for, once the stage may go on."""
        assert stage != "entry" or self.released.wait(LIMIT_S)
        return 0.0


@dataclass
class WordRetriever:
    """Scores a tool by the share of the request's words that it has; of ``words`` that is its probability too, and half of
    the words are needed."""

    engine: MemoryEngine
    name: str

    def retrieve(self, request: Request) -> Response:
        engine = self.engine
        with engine.lock:
            engine.running += 1
        try:
            engine.hook(request)
            for stage in ("entry", "rank"):
                request.check(stage)
                engine.stages.append(stage)
                time.sleep(engine.delays_s.get(stage, 0.0))
            return self._answer(request)
        finally:
            with engine.lock:
                engine.running -= 1

    def _answer(self, request: Request) -> Response:
        asked = _words(request.query)
        scores = {
            tool.id: len(asked & _words(f"{tool.name} {tool.description}")) / max(1, len(asked))
            for tool in self.engine.tools
            if all(tool.metadata.get(key) in values for key, values in request.filters.items())
        }
        best = sorted(scores, key=lambda tool_id: (-scores[tool_id], tool_id))[: request.k]
        fit = max(scores.values(), default=0.0) if self.name == "words" else None
        if request.auto_k and fit is not None:
            best = [tool_id for tool_id in best if scores[tool_id] >= 0.5] or best[:1]
        if request.abstain and fit is not None and fit < 0.5:
            best = []
        reasons = Reasons(
            entries=(EntryMatch(node="business_object:customer", kind="ngram", text="customer", score=2.5),),
            edges=(
                TraversedEdge(head="tool:x", predicate="has_entity", tail="business_object:customer", confidence=0.5),
            ),
            features={"words": 0.25},
            bindings=(
                ParameterBinding(
                    parameter="customer_id", supplier="crm/find_customer", kind="supplies", confidence=0.75
                ),
            ),
        )
        return Response(
            tools=tuple(
                RankedTool(
                    id=tool_id,
                    rank=rank,
                    score=scores[tool_id],
                    reasons=reasons,
                    probability=None if fit is None else scores[tool_id],
                )
                for rank, tool_id in enumerate(best, start=1)
            ),
            snapshot_id=self.engine.snapshot_id,
            preset=self.name,
            timings_ms={"total": 1.0},
            fallbacks=("no reranker", "auto_k: nobody knows")[: 1 + request.auto_k] if self.name == "title" else (),
            answerable_probability=fit,
            unanswerable=fit is not None and fit < 0.5,
        )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+|[^\W_a-z]", text.lower()))


def small_settings(**changed: object) -> ServerSettings:
    """Settings on a free loopback port, two workers, two places to wait."""
    values = {"port": 0, "workers": 2, "queue": 2, "grace_s": 5.0, **changed}
    return ServerSettings(**values)  # type: ignore[arg-type]


@asynccontextmanager
async def serving(
    engine: Engine | None = None, settings: ServerSettings | None = None, *, outcomes: Mapping[str, Path] | None = None
) -> AsyncIterator[Server]:
    """A server that answers from ``engine``; ``Server.address`` says where.

    :param outcomes: tenant → the log of its outcomes.
    """
    server = Server(settings or small_settings(), outcomes=outcomes or {})
    await server.start()
    try:
        await server.load(lambda: engine if engine is not None else MemoryEngine())
        yield server
    finally:
        await server.stop(0)
