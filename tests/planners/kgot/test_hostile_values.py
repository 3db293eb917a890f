"""Values that no JSON and no UTF-8 can say, values of any depth, and errors that nobody foresaw: none of them ends a run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from egotools import Tool
from egotools.calling.tool_answer import TOO_DEEP, ToolAnswer
from inference.chat import Completion
from planners.calls.sandbox import Sandbox, SandboxResult
from planners.journal.run_journal import open_run_journal, read_run_journal
from planners.kgot.kgot_events import CallMade, Dropped, Ended, KgotEvent
from planners.kgot.recorded_run import replay_recorded, solve_recorded
from planners.kgot.step_makers import Insert
from planners.stores.property_graph import GraphState, Operation
from tests.planners.kgot.recorded_events import event_lines
from tests.planners.kgot.run_fakes import INSERT, FakeFinder, FakeInvoker, FakeTextGraph, StepServer, run_task, tool
from tests.planners.kgot.warehouse_solve import TASK, OneFinder, WarehouseModel, make, parts

ERRORS = [RecursionError("too deep"), ValueError("no \ud800"), "\ud800".encode, KeyError("x"), TimeoutError()]
ERROR_IDS = ["recursion", "value", "unicode", "key", "timeout"]


def strict(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def deep(levels: int, within: Any = 1) -> Any:
    for _ in range(levels):
        within = [within]
    return within


BAD = {"deep": deep(600), "nan": math.nan, "high": 1e999, "text\ud800": "a\udfff", "raw": b"\xff", "big": 10**5_000}


async def test_hostile_arguments_and_answers_are_told_and_do_not_end_the_run() -> None:
    nested = "[" * 900 + "]" * 900
    calls = (
        '{"calls": [{"tool": "list_books", "arguments": {"of": "\\ud800"}},'
        ' {"tool": "list_books", "arguments": {"of": NESTED}}]}'.replace("NESTED", nested)
    )
    with StepServer(
        next_step=[{"query_type": "INSERT", "content": "books \ud800"}],
        tool_calls=[calls],
        write_graph=[{"statements": ["WRITE \ud800"]}],
        forced_query=[{"query": "MATCH \udc00"}],
        forced_answer=[{"found": True, "answer": "Tides \ud800"}],
        maths_needed=[{"needed": False}],
        final_answer=[{"answer": "Tides \ud800"}],
    ) as server:
        ran = await run_task(
            server,
            FakeTextGraph(queries={"MATCH ?": [BAD]}),
            finder=FakeFinder(tool("list_books")),
            invoker=FakeInvoker(list_books=BAD),
            question="Which books? \ud800",
            max_iterations=1,
        )
    for event in ran.events:
        strict(event.to_json())
    assert isinstance(ran.events[-1], Ended) and ran.run.outcome in ("forced query", "forced answer")
    assert all(TOO_DEEP not in json.dumps(dict(each.call.arguments)) for each in ran.of(CallMade))


async def test_too_deep_arguments_are_not_sent() -> None:
    chosen = {"calls": [{"tool": "list_books", "arguments": {"of": deep(300)}}]}
    invoker = FakeInvoker(list_books={})
    with StepServer(next_step=[INSERT], tool_calls=[chosen], merge_reasons=[{"missing": "x"}]) as server:
        ran = await run_task(server, finder=FakeFinder(tool("list_books")), invoker=invoker, max_iterations=1)
    assert invoker.calls == []
    assert any("nested too deeply" in each.problem for each in ran.of(Dropped))


def fail(error: Any) -> Any:
    if isinstance(error, Exception):
        raise error
    return error()  # raises UnicodeEncodeError


class FailingGraph(FakeTextGraph):
    def __init__(self, error: Any, *failing: str) -> None:
        super().__init__()
        self._error, self._failing = error, failing

    async def state(self) -> GraphState:
        return fail(self._error) if "state" in self._failing else await super().state()

    async def apply(self, operations: Sequence[Operation]) -> None:
        if "apply" in self._failing:
            fail(self._error)
        await super().apply(operations)

    async def query(self, *given: Any, **options: Any) -> Any:
        return fail(self._error)


class FailingMakers:
    """Fails at every step but the first vote."""

    def __init__(self, error: Any) -> None:
        self._error = error

    async def vote(self, view: Any, nth: int) -> Insert:
        return Insert(reason="more") if view.iteration == 1 else fail(self._error)

    def __getattr__(self, name: str) -> Any:
        async def step(*given: Any, **options: Any) -> Any:
            return fail(self._error)

        return step


class FailingFinder:
    def __init__(self, error: Any) -> None:
        self._error = error

    async def find(self, request: str) -> Any:
        return fail(self._error)


class Added(Sandbox):
    async def run(self, code: str, *, stdin: bytes = b"", files: Mapping[str, Path] | None = None) -> SandboxResult:
        return SandboxResult(ended="ok", stdout="8\n", stderr="")


class FailingModel(WarehouseModel):
    def __init__(self, error: Any) -> None:
        super().__init__()
        self._fails = error

    def complete(self, messages: Any, *, schema_name: str = "answer", **options: Any) -> Completion:
        if schema_name == "merge_reasons":
            fail(self._fails)
        return super().complete(messages, schema_name=schema_name, **options)


class HostileInvoker:
    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        return ToolAnswer(ok=True, status="200 \ud800", body=BAD)


@pytest.mark.parametrize("error", ERRORS, ids=ERROR_IDS)
async def test_an_error_of_any_part_is_a_dropped_step(error: Any) -> None:
    with StepServer(next_step=[INSERT], write_graph=[{"statements": ["WRITE"]}]) as server:
        for failing in (("state",), ("apply",)):
            ran = await run_task(
                server,
                FailingGraph(error, *failing),
                finder=FakeFinder(tool("list_books")),
                invoker=FakeInvoker(list_books={}),
                max_iterations=1,
            )
            assert ran.run.outcome == "no solution"
        ran = await run_task(server, finder=FailingFinder(error))
        assert ran.run.outcome == "no solution"
        name = type(error).__name__ if isinstance(error, Exception) else "UnicodeEncodeError"
        assert any(name in each.problem for each in ran.of(Dropped))


@pytest.mark.parametrize("error", ERRORS, ids=ERROR_IDS)
@pytest.mark.parametrize("part", ["graph", "makers", "finder", "model", "invoker"])
async def test_a_recorded_run_of_failing_parts_ends_and_its_replay_is_the_same(
    tmp_path: Path, part: str, error: Any
) -> None:
    given = replace(parts(), sandbox=Added(), invoker=HostileInvoker())
    changed: dict[str, Any] = {
        "graph": {"graph": FailingGraph(error, "apply"), "make": given.make},
        "makers": {
            "make": lambda models, key: replace(make(models, key), **dict.fromkeys(_SEAMS, FailingMakers(error)))
        },
        "finder": {"finder": FailingFinder(error)},
        "model": {"models": {"graph": FailingModel(error)}},
        "invoker": {"finder": OneFinder()},
    }
    given = replace(given, **changed[part])
    path = tmp_path / "run"
    events: list[KgotEvent] = []
    with open_run_journal(path) as journal:
        run = await solve_recorded(TASK, journal, given, observe=events.append)
    for event in events:
        strict(event.to_json())
    journal = read_run_journal(path)
    again = await replay_recorded(journal, given.make)
    assert (again.answer, again.outcome) == (run.answer, run.outcome)
    event_lines(journal).decode()


_SEAMS = ("next_step", "chooser", "writer", "reader", "answerer")
