"""What tests of runs share: a model behind HTTP that answers by the name of the step, and parts that do what a test says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from egotools import Tool
from egotools.calling.invoker import ToolAnswer
from inference import RetryPolicy
from inference.chat import Budget
from inference.openai_client import OpenAIChat
from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.calls.tool_finder import FoundTool, FoundTools
from planners.kgot.kgot_controller import KgotRun, solve_task
from planners.kgot.kgot_task import KgotEvent, KgotSettings, KgotTask
from planners.kgot.steps import LlmSteps
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import GraphState, Language, Operation, QueryLimits, QueryRows
from tests.harness import chat
from tests.harness.http_server import Arrived, Loopback, Reply, as_json
from tests.harness.waiting import LIMIT_S

KEY = b"a key of tests"
SWIFT = RetryPolicy(max_retries=1, base_delay_s=0.001, max_delay_s=0.002)
QUESTION = "Which books did Ann Reed write?"
INSERT = {"query_type": "INSERT", "content": "her books are missing"}


def node(label: str, **properties: Any) -> dict[str, Any]:
    """A node as a model writes it, with all of its properties in the key."""
    return {"label": label, "key": properties, "properties": {}}


def written(*nodes: dict[str, Any], edges: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """What a model writes."""
    return {"nodes": list(nodes), "edges": list(edges)}


def completion(text: str, *, tokens: tuple[int, int] = (11, 5)) -> Reply:
    return chat.Reply(text=text, prompt_tokens=tokens[0], completion_tokens=tokens[1]).served()


class StepServer:
    """A server that answers each step by its name: the next of a list, whose last item stays; or what a function says.

    :ivar steps: the names of the steps that were asked, in order.
    """

    def __init__(self, **answers: Any) -> None:
        self._answers = answers
        self._counts: Counter[str] = Counter()
        self.steps: list[str] = []
        self.bodies: list[Mapping[str, Any]] = []
        self._server = Loopback(self._answer)

    def __enter__(self) -> StepServer:
        return self

    def __exit__(self, *unused: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        return self._server.url

    def chat(self, budget: Budget | None = None) -> OpenAIChat:
        return OpenAIChat("m", base_url=f"{self.url}/v1", api_key="k", policy=SWIFT, budget=budget, timeout_s=LIMIT_S)

    def of(self, step: str) -> list[Mapping[str, Any]]:
        """The bodies of the requests of a step."""
        return [body for name, body in zip(self.steps, self.bodies, strict=True) if name == step]

    def prompts(self, step: str) -> list[str]:
        """The last messages of the requests of a step."""
        return [body["messages"][-1]["content"] for body in self.of(step)]

    def _answer(self, asked: Arrived) -> Reply:
        step = chat.step_of(asked.json)
        self.steps.append(step)
        self.bodies.append(asked.json)
        nth = self._counts[step]
        self._counts[step] += 1
        given = self._answers.get(step)
        if given is None:
            return as_json({"error": f"no answer for {step}"}, status=400)
        answer = given(asked.json, nth) if callable(given) else given[min(nth, len(given) - 1)]
        if isinstance(answer, Reply):
            return answer
        return completion(answer if isinstance(answer, str) else json.dumps(answer))


def tool(name: str, *, effect: str = "read", description: str = "It finds things.") -> Tool:
    schema = {"type": "object", "properties": {"of": {"type": "string"}}}
    return Tool(
        id=f"library/{name}",
        name=name,
        title=name,
        description=description,
        namespace="library",
        effect=effect,
        input_schema_json=json.dumps(schema),
    )


class FakeFinder:
    """Finds the same tools for everything."""

    def __init__(self, *tools: Tool) -> None:
        self._tools = tools
        self.requests: list[str] = []

    async def find(self, request: str) -> FoundTools:
        self.requests.append(request)
        found = [
            FoundTool(rank=rank, score=1.0, explanation="it fits", tool=each)
            for rank, each in enumerate(self._tools, 1)
        ]
        return FoundTools(request=request, tools=tuple(found), snapshot_id="s1")


class FakeInvoker:
    """Answers with what stands for a tool: a value, an error that it raises, an answer, or the next of a list of these."""

    def __init__(self, **answers: Any) -> None:
        self._answers = {name: iter(each) if isinstance(each, list) else each for name, each in answers.items()}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.calls.append((tool.name, dict(arguments)))
        answer = self._answers[tool.name]
        if isinstance(answer, Iterator):
            answer = next(answer)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, ToolAnswer) else ToolAnswer(ok=True, status="200 OK", body=answer)


class FakeSandbox(Sandbox):
    """Prints what a function makes of the code."""

    def __init__(self, run: Callable[[str], str | SandboxResult] = str) -> None:
        super().__init__()
        self._ends = run

    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        ended = self._ends(code)
        return ended if isinstance(ended, SandboxResult) else SandboxResult(ended="ok", stdout=ended, stderr="")


class FakeTextGraph:
    """A graph that knows a few queries by their text; what it does not know it refuses.

    :param queries: text → rows of one column, or the error that it raises.
    """

    language: Language = "cypher"

    def __init__(self, queries: Mapping[str, Sequence[Any] | Exception] | None = None) -> None:
        self._inner = MemoryGraph()
        self._queries = dict(queries or {})
        self.queried: list[str] = []

    async def apply(self, operations: Sequence[Operation]) -> None:
        await self._inner.apply(operations)

    async def query(self, text: str, limits: QueryLimits | None = None) -> QueryRows:
        self.queried.append(text)
        rows = self._queries.get(text, StatementError(f"cannot read {text!r}"))
        if isinstance(rows, Exception):
            raise rows
        return QueryRows(columns=("value",), rows=tuple((row,) for row in rows))

    async def state(self) -> GraphState:
        return await self._inner.state()


@dataclass(kw_only=True)
class Ran:
    """A run, and what it told."""

    run: KgotRun
    events: list[KgotEvent] = field(default_factory=list)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


async def run_task(
    server: StepServer,
    graph: Any = None,
    *,
    finder: Any = None,
    invoker: Any = None,
    sandbox: Sandbox | None = None,
    budget: Budget | None = None,
    files: Sequence[Path] = (),
    **settings: Any,
) -> Ran:
    """Run a task with small settings: one vote, one final answer, two iterations, retries that hardly wait."""
    small = {"num_next_steps_decision": 1, "max_final_solution_parsing": 1, "max_iterations": 2}
    chosen = KgotSettings(**{**small, "tool_retry_delay_s": 0.0, **settings})
    used = graph if graph is not None else FakeTextGraph()
    events: list[KgotEvent] = []
    run = await solve_task(
        KgotTask(question=QUESTION, files=tuple(files)),
        used,
        LlmSteps(server.chat(budget), server.chat(budget), settings=chosen, language=used.language, fence_key=KEY),
        finder or FakeFinder(),
        invoker or FakeInvoker(),
        sandbox or FakeSandbox(),
        settings=chosen,
        observe=events.append,
        fence_key=KEY,
    )
    return Ran(run=run, events=events)
