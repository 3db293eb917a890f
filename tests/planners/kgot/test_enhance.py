"""Enlarging the graph over HTTP: reasons, the search for tools, calls, writes, and what is left out of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from egotools import PermissionDeniedError, UnavailableError
from egotools.calling.tool_answer import ToolAnswer
from ontology.errors import StatementError, StorageError
from planners.calling.call_policy import CallPolicy
from planners.calling.consent import ConsentingInvoker, never
from planners.graphs.memory_graph import MemoryGraph
from planners.graphs.property_graph import GraphState, InsertNode, MergeNode, NodeRef, Statement
from planners.kgot.kgot_events import CallMade, Dropped, GraphChanged, Missing, ToolsFound, Written
from tests.planners.kgot.run_fakes import (
    INSERT,
    QUESTION,
    FakeFinder,
    FakeInvoker,
    FakeSandbox,
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


async def test_the_prompts_of_a_step() -> None:
    answers = {"next_step": [INSERT], "tool_calls": [ONE_CALL], "write_graph": [{"statements": ["WRITE"]}]}
    with StepServer(**answers, **FORCED) as server:
        await enhanced(server, max_iterations=2)
    first, second = server.prompts("tool_calls")
    assert f"<initial_problem>\n{QUESTION}\n</initial_problem>" in first
    assert "her books are missing" in first and "The graph is empty." in first
    assert [name for name in ("library/list_books", "library/list_authors") if f'"tool":"{name}"' in first] == [
        "library/list_books",
        "library/list_authors",
    ]
    assert "tool_calls_made" not in first
    assert '- library/list_books {"of": "Ann Reed"}: answered' in second
    assert '{"title": "Tides"}' in second  # of the graph
    [new] = server.prompts("write_graph")
    assert json.dumps(BOOKS) in new and 'Answer of the tool "library/list_books"' in new


async def test_reasons_are_merged_into_one() -> None:
    finder = FakeFinder()

    def vote(body: Any, nth: int) -> dict[str, str]:
        return {"query_type": "INSERT", "content": f"reason {body['seed'] % 2}"}

    with StepServer(next_step=vote, merge_reasons=[{"missing": "both"}], **FORCED) as server:
        ran = await enhanced(server, finder=finder, num_next_steps_decision=4)
    assert [each.text for each in ran.of(Missing)] == ["both"]
    assert finder.requests == ["both"]
    [prompt] = server.prompts("merge_reasons")
    assert prompt.count("- reason 0") == prompt.count("- reason 1") == 1


async def test_reasons_that_cannot_be_merged_stand_side_by_side() -> None:
    def vote(body: Any, nth: int) -> dict[str, str]:
        return {"query_type": "INSERT", "content": f"reason {body['seed'] % 1_000}"}

    with StepServer(next_step=vote, merge_reasons=["prose"], **FORCED) as server:
        ran = await enhanced(server, num_next_steps_decision=2)
    assert [each.text for each in ran.of(Missing)] == ["reason 0\nreason 1"]
    assert ran.of(Dropped)[0].step == "missing"


async def test_no_call_is_made_twice_over_the_whole_run() -> None:
    twice = calls(("library/list_books", {"of": "x"}), ("library/list_books", {"of": "x"}))
    invoker = FakeInvoker(list_books=BOOKS)
    with StepServer(next_step=[INSERT], tool_calls=[twice], write_graph=[{"statements": []}], **FORCED) as server:
        ran = await enhanced(server, invoker=invoker, max_iterations=3)
    assert invoker.calls == [("list_books", {"of": "x"})]
    assert [each.problem for each in ran.of(Dropped) if each.step == "call"] == [
        "library/list_books: the same call was made before"
    ] * 2


async def test_calls_that_more_than_half_of_the_answers_want_are_made() -> None:
    books: tuple[str, dict[str, Any]] = ("library/list_books", {"of": "x"})
    authors: tuple[str, dict[str, Any]] = ("library/list_authors", {})
    votes = [calls(books), calls(authors, books), calls(books), calls(authors)]
    invoker = FakeInvoker(list_books=BOOKS, list_authors=BOOKS)
    answers = {"next_step": [INSERT], "write_graph": [{"statements": []}]}
    with StepServer(tool_calls=lambda body, nth: votes[body["seed"] % 1_000], **answers, **FORCED) as server:
        await enhanced(server, invoker=invoker, tool_call_votes=4)
    assert invoker.calls == [("list_books", {"of": "x"})]
    assert len({body["seed"] for body in server.of("tool_calls")}) == 4


async def test_calls_of_one_step_run_at_once_and_are_told_in_order() -> None:
    running: list[int] = [0, 0]

    class Slow(FakeInvoker):
        async def invoke(self, tool: Any, arguments: Any) -> ToolAnswer:
            running[0] += 1
            running[1] = max(running)
            await asyncio.sleep(0.05 if tool.name == "list_books" else 0.01)
            running[0] -= 1
            return await super().invoke(tool, arguments)

    both = calls(("library/list_books", {}), ("library/list_authors", {}))
    answers = {"next_step": [INSERT], "tool_calls": [both], "write_graph": [{"statements": []}]}
    with StepServer(**answers, **FORCED) as server:
        ran = await enhanced(server, invoker=Slow(list_books=BOOKS, list_authors=[{"late": 1}]))
    assert running[1] == 2
    assert [each.call.tool_id for each in ran.of(CallMade)] == ["library/list_books", "library/list_authors"]


async def test_more_calls_than_allowed_are_left_out() -> None:
    many = calls(*(("library/list_books", {"of": str(at)}) for at in range(5)))
    invoker = FakeInvoker(list_books=BOOKS)
    with StepServer(next_step=[INSERT], tool_calls=[many], write_graph=[{"statements": []}], **FORCED) as server:
        ran = await enhanced(server, invoker=invoker, max_calls_per_step=3)
    assert len(invoker.calls) == 3
    assert len([each for each in ran.of(Dropped) if "more than 3 calls" in each.problem]) == 2


async def test_an_unknown_tool_is_asked_again_with_the_names_that_are_known() -> None:
    answers = [calls(("library/sing", {})), ONE_CALL]
    with StepServer(
        next_step=[INSERT], tool_calls=answers, write_graph=[{"statements": ["WRITE"]}], **FORCED
    ) as server:
        ran = await enhanced(server)
    assert len(ran.of(CallMade)) == 1
    again = server.of("tool_calls")[1]["messages"][-1]["content"]
    assert "there is no tool 'library/sing'; the tools are library/list_books, library/list_authors" in again


async def test_an_unknown_tool_beside_a_known_one_is_left_out() -> None:
    mixed = calls(("library/sing", {}), ("list_books", {}))
    with StepServer(
        next_step=[INSERT], tool_calls=[mixed], write_graph=[{"statements": ["WRITE"]}], **FORCED
    ) as server:
        ran = await enhanced(server)
    assert [each.call.tool_id for each in ran.of(CallMade)] == ["library/list_books"]
    assert any("library/sing: no tool of this id" in each.problem for each in ran.of(Dropped))


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


async def test_a_transient_fault_that_passes_is_not_seen() -> None:
    invoker = FakeInvoker(list_books=[ToolAnswer(ok=False, status="503 Service Unavailable"), BOOKS])
    with StepServer(
        next_step=[INSERT], tool_calls=[ONE_CALL], write_graph=[{"statements": ["WRITE"]}], **FORCED
    ) as server:
        ran = await enhanced(server, invoker=invoker)
    assert ran.of(CallMade)[0].call.body == BOOKS


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


async def test_the_operator_s_refusal_ends_no_run() -> None:
    denied = PermissionDeniedError("no", code="PERMISSION_DENIED", reason="CALL_DENIED")
    with StepServer(next_step=[INSERT], tool_calls=[ONE_CALL], **FORCED) as server:
        ran = await enhanced(server, invoker=FakeInvoker(list_books=denied))
    assert ran.of(CallMade)[0].call.status == "denied"


async def test_a_dead_service_is_a_dropped_step() -> None:
    finder = FakeFinder(error=UnavailableError("no replica answers", code="UNAVAILABLE"))
    with StepServer(next_step=[INSERT], **FORCED) as server:
        ran = await enhanced(server, finder=finder)
    assert [(each.step, "no replica answers" in each.problem) for each in ran.of(Dropped)] == [("find", True)]
    assert ran.run.outcome == "no solution"


async def test_without_a_tool_that_fits_no_model_is_asked_for_calls() -> None:
    with StepServer(next_step=[INSERT], **FORCED) as server:
        ran = await enhanced(server, finder=FakeFinder())
    assert "tool_calls" not in server.steps
    assert [each.problem for each in ran.of(Dropped)] == ["no tool fits what is missing"]


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


async def test_a_fix_that_changes_nothing_ends_the_fixing() -> None:
    answers = {"tool_calls": [ONE_CALL], "write_graph": [{"statements": ["BAD"]}], "fix_query": [{"query": "BAD"}]}
    with StepServer(next_step=[INSERT], **answers, **FORCED) as server:
        await enhanced(server)
    assert server.steps.count("fix_query") == 1


class Full(FakeTextGraph):
    """A graph whose disk is full."""

    async def apply(self, operations: Any) -> None:
        raise StorageError("the disk is full", subject="graph")


class Gone(FakeTextGraph):
    """A graph that is gone after its first state."""

    reads = 0

    async def state(self) -> GraphState:
        self.reads += 1
        if self.reads > 1:
            raise StorageError("the store cannot be reached", subject="graph")
        return await super().state()


async def test_a_full_disk_drops_the_writes_without_a_fix() -> None:
    answers = {"tool_calls": [ONE_CALL], "write_graph": [{"statements": ["WRITE"]}]}
    with StepServer(next_step=[INSERT], **answers, **FORCED) as server:
        ran = await enhanced(server, Full(queries={"NOTHING": []}))
    assert "fix_query" not in server.steps
    assert [each.fault for each in ran.of(Written)[0].dropped] == ["graph: the disk is full."]
    assert ran.run.outcome == "no solution"


async def test_the_graph_of_the_last_good_step_is_kept() -> None:
    graph = Gone({"WRITE": [WRITE]}, {"NOTHING": []})
    await graph.apply([WRITE])
    answers = {"tool_calls": [ONE_CALL], "write_graph": [{"statements": ["WRITE"]}]}
    with StepServer(next_step=[INSERT], **answers, **FORCED) as server:
        ran = await enhanced(server, graph)
    assert len(ran.run.state.nodes) == 1
    assert [each.step for each in ran.of(Dropped)] == ["state"]


async def test_a_long_graph_is_cut_at_a_line_and_a_long_value_at_a_length() -> None:
    graph = text_graph()
    await graph.apply([InsertNode(label="Book", properties={"title": f"{at} {'x' * 100}"}) for at in range(40)])
    await graph.apply([InsertNode(label="Page", properties={"text": "y" * 5_000})])
    with StepServer(next_step=[INSERT], **FORCED) as server:
        await enhanced(server, graph, finder=FakeFinder(), max_graph_chars=1_000)
        await enhanced(server, graph, finder=FakeFinder())
    short, whole = server.prompts("next_step")
    lines = short.partition("--- data ")[2].splitlines()[1:-2]
    assert sum(map(len, lines[:-1])) < 1_000
    assert lines[-2].endswith('"}') and lines[-1].endswith("more lines are left out)")
    assert "… (5000 characters)" in whole and "y" * 2_001 not in whole


async def test_nodes_and_edges_as_json_run_in_chains() -> None:
    def ref(label: str, name: str) -> dict[str, Any]:
        return {"label": label, "key": {"name": name}}

    written = {
        "nodes": [
            {**ref("Author", "Ann"), "properties": {"age": 40, "gone": None}},
            {**ref("Town", "Bath"), "properties": {}},
        ],
        "edges": [{"type": "WROTE", "from": ref("Author", "Ann"), "to": ref("Author", "Ann"), "properties": {}}],
    }
    graph = MemoryGraph()
    with StepServer(next_step=[INSERT], tool_calls=[ONE_CALL], write_graph=[written]) as server:
        ran = await enhanced(server, graph, sandbox=FakeSandbox(), max_iterations=1)
    [told] = ran.of(Written)
    assert told.operations[0] == MergeNode(node=NodeRef(label="Author", key={"name": "Ann"}), properties={"age": 40})
    assert told.chains == 2
    assert (len(ran.run.state.nodes), len(ran.run.state.edges)) == (2, 1)


async def test_a_failing_write_as_json_is_fixed_as_json() -> None:
    node = {"label": "Author", "key": {"name": "Ann"}, "properties": {}}
    good = {"nodes": [node], "edges": []}

    class Strict(MemoryGraph):
        async def apply(self, operations: Any) -> None:
            if any(isinstance(each, MergeNode) and each.node.label == "Bad" for each in operations):
                raise StatementError("no such label")
            await super().apply(operations)

    bad = {"nodes": [{**node, "label": "Bad"}], "edges": []}
    answers = {"write_graph": [bad], "fix_query": [{"query": json.dumps(good)}]}
    with StepServer(next_step=[INSERT], tool_calls=[ONE_CALL], **answers) as server:
        ran = await enhanced(server, Strict(), sandbox=FakeSandbox())
    assert [node.label for node in ran.run.state.nodes] == ["Author"]
    assert "no such label" in server.prompts("fix_query")[0]


async def test_the_second_model_defines_the_calls_and_the_first_does_the_rest() -> None:
    answers = {"next_step": [INSERT], "write_graph": [{"statements": ["WRITE"]}], **FORCED}
    with StepServer(**answers) as graph_server, StepServer(tool_calls=[ONE_CALL]) as tool_server:
        await enhanced(graph_server, tool_server=tool_server)
    assert tool_server.steps == ["tool_calls"]
    assert graph_server.steps == ["next_step", "write_graph", "forced_query", "forced_query", "forced_answer"]
