"""Enlarging the graph over HTTP: reasons, the search for tools, calls, writes, and what is left out of them."""

from __future__ import annotations

from typing import Any

import pytest

from egotools import UnavailableError
from ontology.errors import StorageError
from planners.calls.consent import ConsentingInvoker, never
from planners.calls.tool_access import CallPolicy
from planners.kgot.kgot_events import CallMade, Dropped, GraphChanged, ToolsFound, Written
from planners.stores.property_graph import InsertNode, Statement
from tests.planners.kgot.run_fakes import (
    INSERT,
    FakeFinder,
    FakeInvoker,
    FakeTextGraph,
    Ran,
    StepServer,
    run_task,
    tool,
)

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

FORCED = {"forced_query": [{"query": "NOTHING"}], "forced_answer": [{"found": False, "answer": ""}]}
BOOKS = {"books": [{"title": "Tides"}]}
WRITE = InsertNode(label="Book", properties={"title": "Tides"})


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"tool": name, "arguments": arguments} for name, arguments in wanted]}


ONE_CALL = calls(("library/list_books", {"of": "Ann Reed"}))


def text_graph(**statements: Any) -> FakeTextGraph:
    return FakeTextGraph({"WRITE": [WRITE], **statements}, {"NOTHING": []})


async def enhanced(server: StepServer, graph: Any = None, *, invoker: Any = None, **options: Any) -> Ran:
    finder = options.pop("finder", FakeFinder(tool("list_books"), tool("list_authors")))
    options = {"max_iterations": 1, **options}
    invoker = invoker or FakeInvoker(list_books=BOOKS, list_authors={"authors": []})
    return await run_task(server, graph or text_graph(), finder=finder, invoker=invoker, **options)


async def test_one_step_from_the_missing_to_the_graph() -> None:
    finder = FakeFinder(tool("list_books"), tool("list_authors"))
    answers = {"next_step": [INSERT], "tool_calls": [ONE_CALL], "write_graph": [{"statements": ["WRITE"]}]}
    with StepServer(**answers, **FORCED) as server:
        ran = await enhanced(server, finder=finder)
    assert server.steps[:3] == ["next_step", "tool_calls", "write_graph"]
    assert finder.requests == ["her books are missing"]
    assert ran.of(ToolsFound)[0].tool_ids == ("library/list_books", "library/list_authors")
    assert [(each.call.tool_id, each.call.ok, each.call.body) for each in ran.of(CallMade)] == [
        ("library/list_books", True, BOOKS)
    ]
    assert ran.of(Written)[0].operations == (Statement(text="WRITE"),)
    states = [len(each.state.nodes) for each in ran.of(GraphChanged)]
    assert states == [0, 1]
    assert ran.run.state == ran.of(GraphChanged)[-1].state


async def test_no_call_is_made_twice_over_the_whole_run() -> None:
    twice = calls(("library/list_books", {"of": "x"}), ("library/list_books", {"of": "x"}))
    invoker = FakeInvoker(list_books=BOOKS)
    with StepServer(next_step=[INSERT], tool_calls=[twice], write_graph=[{"statements": []}], **FORCED) as server:
        ran = await enhanced(server, invoker=invoker, max_iterations=3)
    assert invoker.calls == [("list_books", {"of": "x"})]
    assert [each.problem for each in ran.of(Dropped) if each.step == "call"] == [
        "library/list_books: the same call was made before"
    ] * 2


async def test_an_unknown_tool_is_asked_again_with_the_names_that_are_known() -> None:
    answers = [calls(("library/sing", {})), ONE_CALL]
    with StepServer(
        next_step=[INSERT], tool_calls=answers, write_graph=[{"statements": ["WRITE"]}], **FORCED
    ) as server:
        ran = await enhanced(server)
    assert len(ran.of(CallMade)) == 1
    again = server.of("tool_calls")[1]["messages"][-1]["content"]
    assert "there is no tool 'library/sing'; the tools are library/list_books, library/list_authors" in again


@pytest.mark.parametrize(("effect", "attempts"), [("read", 7), ("idempotent", 7), ("change", 1)])
async def test_transient_faults_of_safe_calls_are_tried_six_times_more(effect: str, attempts: int) -> None:
    error = UnavailableError("gone", code="UNAVAILABLE")
    invoker = FakeInvoker(list_books=error)
    with StepServer(next_step=[INSERT], tool_calls=[ONE_CALL], **FORCED) as server:
        ran = await enhanced(server, invoker=invoker, finder=FakeFinder(tool("list_books", effect=effect)))
    assert len(invoker.calls) == attempts
    [made] = ran.of(CallMade)
    assert (made.call.ok, made.call.status) == (False, "UNAVAILABLE")
    assert "write_graph" not in server.steps  # there is nothing new to write


@pytest.mark.parametrize("error", [RuntimeError("it broke"), StorageError("disk full"), ValueError("x" * 9_000)])
async def test_whatever_a_tool_raises_is_an_answer_that_says_so(error: Exception) -> None:
    with StepServer(next_step=[INSERT], tool_calls=[ONE_CALL], **FORCED) as server:
        ran = await enhanced(server, invoker=FakeInvoker(list_books=error), max_iterations=2)
    assert [each.call.ok for each in ran.of(CallMade)] == [False]
    assert len(ran.of(CallMade)[0].call.body) <= 2_000
    assert str(error)[:100] in server.prompts("tool_calls")[1]
    assert ran.run.outcome == "no solution"


async def test_a_denied_call_is_told_to_the_model_and_not_repeated() -> None:
    inner = FakeInvoker(list_books=BOOKS)
    invoker = ConsentingInvoker(inner, never, CallPolicy())
    finder = FakeFinder(tool("list_books", effect="change"))
    with StepServer(next_step=[INSERT], tool_calls=[ONE_CALL], **FORCED) as server:
        ran = await enhanced(server, invoker=invoker, finder=finder, max_iterations=3)
    assert inner.calls == []
    assert [each.call.status for each in ran.of(CallMade)] == ["denied"]
    for prompt in server.prompts("tool_calls")[1:]:
        assert "denied" in prompt and "This call was not allowed. Do not make it again" in prompt


async def test_a_dead_service_is_a_dropped_step() -> None:
    finder = FakeFinder(error=UnavailableError("no replica answers", code="UNAVAILABLE"))
    with StepServer(next_step=[INSERT], **FORCED) as server:
        ran = await enhanced(server, finder=finder)
    assert [(each.step, "no replica answers" in each.problem) for each in ran.of(Dropped)] == [("find", True)]
    assert ran.run.outcome == "no solution"


WRITES = {
    "right at once": (["WRITE"], [], 0),
    "fixed once": (["BAD"], ["WRITE"], 1),
    "fixed at the third attempt": (["BAD"], ["WORSE", "WORST", "WRITE"], 3),
}


@pytest.mark.parametrize("case", WRITES)
async def test_a_failing_write_is_fixed(case: str) -> None:
    written, fixes, count = WRITES[case]
    with StepServer(
        next_step=[INSERT],
        tool_calls=[ONE_CALL],
        write_graph=[{"statements": written}],
        fix_query=[{"query": each} for each in fixes],
        **FORCED,
    ) as server:
        ran = await enhanced(server)
    assert ran.of(Written)[0].operations == (Statement(text="WRITE"),)
    assert server.steps.count("fix_query") == count
    assert [len(each.state.nodes) for each in ran.of(GraphChanged)] == [0, 1]
    if fixes:
        assert "BAD" in server.prompts("fix_query")[0] and "cannot read" in server.prompts("fix_query")[0]


async def test_a_write_that_cannot_be_fixed_is_dropped_and_the_others_stand() -> None:
    answers = {"tool_calls": [ONE_CALL], "write_graph": [{"statements": ["BAD", "WRITE"]}]}
    fixes = [{"query": f"BAD {at}"} for at in range(9)]
    with StepServer(next_step=[INSERT], **answers, fix_query=fixes, **FORCED) as server:
        ran = await enhanced(server)
    [written] = ran.of(Written)
    assert written.operations == (Statement(text="WRITE"),)
    assert [each.operation for each in written.dropped] == [Statement(text="BAD 2")]
    assert server.steps.count("fix_query") == 3
    assert [each.step for each in ran.of(Dropped)] == ["write"]
    assert len(ran.run.state.nodes) == 1


async def test_the_second_model_defines_the_calls_and_the_first_does_the_rest() -> None:
    answers = {"next_step": [INSERT], "write_graph": [{"statements": ["WRITE"]}], **FORCED}
    with StepServer(**answers) as graph_server, StepServer(tool_calls=[ONE_CALL]) as tool_server:
        await enhanced(graph_server, tool_server=tool_server)
    assert tool_server.steps == ["tool_calls"]
    assert graph_server.steps == ["next_step", "write_graph", "forced_query", "forced_query", "forced_answer"]
