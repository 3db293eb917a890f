"""What the prompts show runs: the statements and queries of their examples, on the real stores; a whole run on each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from planners.calls.fence_marks import FenceMarks
from planners.calls.sandbox import Sandbox
from planners.kgot.asking import prompt_messages
from planners.kgot.kgot_events import Dropped, Queried, Written
from planners.kgot.steps import read_operations
from planners.stores.open_graph import open_graph
from planners.stores.property_graph import GraphState, Operation, Statement
from tests.planners.kgot.run_fakes import INSERT, FakeFinder, FakeInvoker, StepServer, run_task, tool

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

STORES = {"neo4j": "cypher", "rdf": "sparql", "memory": "python"}
PARAMS = [pytest.param(name, marks=pytest.mark.slow if name == "neo4j" else [], id=name) for name in STORES]
CALL = {"calls": [{"tool": "library/list_books", "arguments": {"of": "Ann Reed"}}]}


def shown(prompt: str, language: str) -> list[Any]:
    """The answers that the examples of a prompt show."""
    system = prompt_messages(prompt, {}, form="xml", marks=FenceMarks(b"k"), language=language)[0].content
    return [json.loads(each) for each in re.findall(r"<answer>\n(.*?)\n</answer>", system, re.DOTALL)]


def writes(language: str) -> Mapping[str, Any]:
    [answer] = shown("write_graph", "operations" if language == "python" else language)
    written: Mapping[str, Any] = answer
    return written


def operations(answer: Mapping[str, Any]) -> tuple[Operation, ...]:
    if "statements" in answer:
        return tuple(Statement(text=text) for text in answer["statements"])
    return read_operations(answer)


def store(name: str, request: pytest.FixtureRequest) -> Any:
    if name == "memory":
        request.getfixturevalue("needs_sandbox")
    if name == "rdf":
        pytest.importorskip("pyoxigraph", reason="the extra 'rdf' is not installed")
    if name == "neo4j":
        pytest.importorskip("neo4j", reason="the extra 'neo4j' is not installed")
        return open_graph(f"neo4j:{request.getfixturevalue('neo4j_address')}")
    return open_graph(name, Sandbox())


def named(state: GraphState) -> list[Any]:
    return sorted((node.label, *sorted(node.properties.items())) for node in state.nodes)


@pytest.mark.parametrize("name", PARAMS)
async def test_the_examples_of_the_prompts_run(name: str, request: pytest.FixtureRequest) -> None:
    language = STORES[name]
    async with store(name, request) as graph:
        assert graph.language == language
        await graph.apply(operations(writes(language)))
        state = await graph.state()
        assert named(state) == [("Author", ("name", "Ann Reed")), ("Book", ("pages", 210), ("title", "Tides"))]
        assert [edge.type for edge in state.edges] == ["WROTE"]
        queries = [each["query"] for each in shown("write_query", language)]
        queries += [each["content"] for each in shown("next_step", language) if each["query_type"] == "RETRIEVE"]
        for query in queries:
            assert [list(row) for row in (await graph.query(query)).rows] == [["Tides"]]
        assert len(queries) == 2


@pytest.mark.parametrize("name", PARAMS)
async def test_a_run_on_a_real_store(name: str, request: pytest.FixtureRequest) -> None:
    language = STORES[name]
    [query] = [each["query"] for each in shown("write_query", language)]
    vote = {"query_type": "RETRIEVE", "content": query}
    steps = {
        "next_step": lambda body, nth: vote if "Tides" in body["messages"][-1]["content"] else INSERT,
        "tool_calls": [CALL],
        "write_graph": [writes(language)],
        "maths_needed": [{"needed": False}],
        "final_answer": [{"answer": "Tides"}],
    }
    invoker = FakeInvoker(list_books={"books": [{"title": "Tides", "pages": 210}]})
    async with store(name, request) as graph:
        with StepServer(**steps) as server:
            ran = await run_task(server, graph, finder=FakeFinder(tool("list_books")), invoker=invoker)
        assert (ran.run.answer, ran.run.outcome) == ("Tides", "solved")
        assert ran.run.state == await graph.state()
    assert not ran.of(Dropped)


HOSTILE = [
    "MATCH (n) DETACH DELETE n",
    "LOAD FROM '/etc/passwd' RETURN *",
    "COPY Book FROM '/etc/passwd'",
    "MATCH (b:Book) SET b.title = 'x' RETURN",
]


@pytest.mark.slow
async def test_hostile_statements_are_left_out_and_the_graph_is_kept(request: pytest.FixtureRequest) -> None:
    [good] = writes("cypher")["statements"]
    steps = {
        "next_step": [INSERT],
        "tool_calls": [CALL],
        "write_graph": [{"statements": [good, *HOSTILE]}],
        "fix_query": lambda body, nth: {"query": HOSTILE[nth % 2]},
        "forced_query": [{"query": "MATCH (n) DETACH DELETE n"}],
        "forced_answer": [{"found": False, "answer": ""}],
    }
    invoker = FakeInvoker(list_books={"books": []})
    async with store("neo4j", request) as graph:
        with StepServer(**steps) as server:
            ran = await run_task(
                server, graph, finder=FakeFinder(tool("list_books")), invoker=invoker, max_iterations=1
            )
        assert len((await graph.state()).nodes) == 2
    [written] = ran.of(Written)
    assert written.operations == (Statement(text=good),)
    assert len(written.dropped) == len(HOSTILE)
    assert len(ran.run.state.nodes) == 2
    assert all(each.fault for each in ran.of(Queried))
    assert ran.run.outcome == "no solution"
