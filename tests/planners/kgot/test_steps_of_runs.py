"""What a run does at each step, by a model behind HTTP: votes, tools, calls, writes, tables, noise, queries, computations, final answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from egotools import UnavailableError
from planners.calls.sandbox import SandboxResult
from planners.kgot.kgot_task import (
    CallMade,
    Computed,
    Decided,
    Dropped,
    GraphChanged,
    NoiseRemoved,
    Parsed,
    Queried,
    Retrieve,
    Written,
)
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import MergeNode, NodeRef, ReplaceGraph
from tests.planners.kgot.run_fakes import (
    INSERT,
    FakeFinder,
    FakeInvoker,
    FakeSandbox,
    FakeTextGraph,
    Ran,
    StepServer,
    node,
    run_task,
    tool,
    written,
)

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

BOOK = node("Book", title="Tides")
WRITE = MergeNode(node=NodeRef(label="Book", key={"title": "Tides"}))
BOOKS: dict[str, Any] = {"GOOD": ["Tides"], "OTHER": ["Dunes"], "EMPTY": [], "NOTHING": []}
TITLES = {"books": [{"title": "Tides"}]}


def retrieve(query: str) -> dict[str, str]:
    return {"query_type": "RETRIEVE", "content": query}


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"tool": name, "arguments": arguments} for name, arguments in wanted]}


def end(label: str, **key: str) -> dict[str, Any]:
    return {"label": label, "key": key}


def queries(*texts: str) -> list[dict[str, str]]:
    return [{"query": text} for text in texts]


def by_seed(*answers: Any) -> Any:
    """Answers by the seed of the request: those of one iteration arrive in any order."""
    return lambda body, nth: answers[body["seed"] % 1_000]


def as_told(body: Any, nth: int) -> dict[str, str]:
    """A final answer that says what the partial one does."""
    return {"answer": "Dunes" if "Dunes" in body["messages"][-1]["content"] else "Tides"}


ONE_CALL = calls(("library/list_books", {"of": "Ann Reed"}))
ANSWERS: dict[str, Any] = {
    "next_step": [INSERT],
    "merge_reasons": [{"missing": "books"}],
    "tool_calls": [ONE_CALL],
    "write_graph": [written(BOOK)],
    "forced_query": queries("NOTHING"),
    "forced_answer": [{"found": False, "answer": ""}],
    "maths_needed": [{"needed": False}],
    "final_answer": [{"answer": "Tides"}],
}


async def run(graph: Any = None, *, options: Any = None, **answers: Any) -> tuple[Ran, StepServer]:
    """Run a task of one iteration whose model answers as it is said, else as in ``ANSWERS``."""
    given = {
        "finder": FakeFinder(tool("list_books"), tool("list_authors")),
        "invoker": FakeInvoker(list_books=TITLES, list_authors={"authors": []}),
        "max_iterations": 1,
        **(options or {}),
    }
    with StepServer(**{**ANSWERS, **answers}) as server:
        return await run_task(server, graph or FakeTextGraph(BOOKS), **given), server


# Decisions


MAJORITIES: dict[str, tuple[list[Any], str]] = {
    "three of five retrieve": ([retrieve("GOOD")] * 3 + [INSERT] * 2, "solve"),
    "two of five retrieve": ([retrieve("GOOD")] * 2 + [INSERT] * 3, "enhance"),
    "a tie enhances": ([retrieve("GOOD")] * 2 + [INSERT] * 2, "enhance"),
    "unusable ones do not count": ([retrieve("GOOD"), "prose", retrieve(" "), "prose"], "solve"),
}


@pytest.mark.parametrize("case", MAJORITIES)
async def test_the_majority_of_the_usable_votes_decides(case: str) -> None:
    votes, decision = MAJORITIES[case]
    ran, _ = await run(next_step=by_seed(*votes), options={"num_next_steps_decision": len(votes)})
    decided = ran.of(Decided)[0]
    assert decided.decision == decision
    assert [vote is None for vote in decided.votes] == [vote in ("prose", retrieve(" ")) for vote in votes]
    assert ("solved" if decision == "solve" else "no solution") == ran.run.outcome


async def test_a_model_that_never_keeps_the_form_is_given_up_after_the_first_decision() -> None:
    ran, server = await run(next_step=["prose"], options={"num_next_steps_decision": 5, "max_iterations": 7})
    assert (ran.run.outcome, ran.run.iterations) == ("model", 1)
    assert server.steps == ["next_step"] * 20, "each vote is asked for four times"
    assert "rejected 4 times: it is not one JSON object" in ran.run.missing
    fault = server.prompts("next_step")[-1]
    assert "it is not one JSON object" in fault and "--- data" in fault


async def test_a_judge_chooses_among_the_votes() -> None:
    graph = FakeTextGraph(queries=BOOKS)
    votes = by_seed(retrieve("BAD"), INSERT, retrieve("GOOD"))
    options = {"num_next_steps_decision": 3, "next_step": "judge"}
    ran, server = await run(graph, next_step=votes, judge=[{"best": 3}], options=options)
    assert ran.of(Decided)[0].judged == Retrieve(query="GOOD") and graph.queried == ["GOOD"]
    assert "1. RETRIEVE: BAD\n2. INSERT: her books are missing\n3. RETRIEVE: GOOD" in server.prompts("judge")[0]


async def test_the_files_of_a_task_stand_in_the_deciding_prompt() -> None:
    _, server = await run(options={"files": [Path("orders.csv")]})
    system, user = (message["content"] for message in server.of("next_step")[0]["messages"])
    assert "- orders.csv" in user and "content names the file" in system
    _, server = await run()
    assert not any("file" in message["content"] for message in server.of("next_step")[0]["messages"])


# Enlarging the graph


async def test_no_call_is_made_twice_over_the_whole_run() -> None:
    invoker, twice = FakeInvoker(list_books=TITLES), calls(*[("library/list_books", {"of": "x"})] * 2)
    ran, _ = await run(tool_calls=[twice], options={"invoker": invoker, "max_iterations": 3})
    assert invoker.calls == [("list_books", {"of": "x"})]
    made_before = "library/list_books: the same call was made before"
    assert [each.problem for each in ran.of(Dropped) if each.step == "call"] == [made_before] * 2


async def test_an_unknown_tool_is_asked_again_with_the_names_that_are_known() -> None:
    ran, server = await run(tool_calls=[calls(("library/sing", {})), ONE_CALL])
    assert len(ran.of(CallMade)) == 1
    again = server.of("tool_calls")[1]["messages"][-1]["content"]
    assert "there is no tool 'library/sing'; the tools are library/list_books, library/list_authors" in again


@pytest.mark.parametrize(("effect", "attempts"), [("read", 7), ("idempotent", 7), ("change", 1)])
async def test_transient_faults_of_safe_calls_are_tried_six_times_more(effect: str, attempts: int) -> None:
    invoker = FakeInvoker(list_books=UnavailableError("gone", code="UNAVAILABLE"))
    ran, server = await run(options={"invoker": invoker, "finder": FakeFinder(tool("list_books", effect=effect))})
    assert len(invoker.calls) == attempts
    assert [(each.call.ok, each.call.status) for each in ran.of(CallMade)] == [(False, "UNAVAILABLE")]
    assert "write_graph" not in server.steps  # there is nothing new to write


BAD = [node("B" * 300, n=n) for n in range(4)]
WRITES: dict[str, tuple[list[Any], list[Any]]] = {
    "right at once": ([BOOK], []),
    "fixed once": ([BAD[0]], [BOOK]),
    "fixed at the third attempt": ([BAD[0]], [BAD[1], BAD[2], BOOK]),
    "never right, beside one that is": ([BAD[0], BOOK], BAD[1:]),
}


@pytest.mark.parametrize("case", WRITES)
async def test_a_failing_write_is_fixed_or_dropped(case: str) -> None:
    first, fixes = WRITES[case]
    corrected = queries(*(json.dumps(written(fix)) for fix in fixes))
    ran, server = await run(write_graph=[written(*first)], fix_query=corrected)
    assert ran.of(Written)[0].operations == (WRITE,) and len(ran.run.state.nodes) == 1
    assert server.steps.count("fix_query") == len(fixes)
    dropped = [BAD[-1]["key"]] if BAD[-1] in fixes else []
    assert [each.operation.node.key for each in ran.of(Written)[0].dropped] == dropped
    assert [each.step for each in ran.of(Dropped)] == ["write"] * len(dropped)
    if fixes:
        assert "BBB" in server.prompts("fix_query")[0] and "more than 256 characters" in server.prompts("fix_query")[0]


ORDERS = [{"Order No.": n, "customer": ("Lumière", "O'Hara", "Lumière")[n % 3], "note": None} for n in range(500)]
TABLES: dict[str, tuple[Any, str]] = {
    "a list": (ORDERS, "ListBooksRow"),
    "the rows of a file": ({"file": "my orders.csv", "kind": "csv", "row_count": 500, "rows": ORDERS}, "MyOrdersRow"),
}


@pytest.mark.parametrize("case", TABLES)
async def test_a_large_table_is_loaded_whole_and_a_prompt_has_its_columns_and_counts(case: str) -> None:
    body, label = TABLES[case]
    twice = [calls(("library/list_books", {"of": str(n)})) for n in range(2)]
    options = {"invoker": FakeInvoker(list_books=[body, body]), "max_iterations": 3}
    ran, server = await run(MemoryGraph(), tool_calls=twice, options=options)
    sizes = [len(each.state.nodes) for each in ran.of(GraphChanged)]
    assert sizes == [0, 500, 500, 500], "the second has the same rows"
    assert {node.label for node in ran.run.state.nodes} == {label}
    assert sum(node.properties["customer"] == "O'Hara" for node in ran.run.state.nodes) == 167
    assert "write_graph" not in server.steps
    assert f"All 500 rows stand in the graph already, each as a node with the label {label}" in ran.run.calls[0].text
    prompt = server.prompts("next_step")[1]
    assert f"- 500 nodes {label}: Order_No (500 values), customer (2 values: " in prompt and len(prompt) < 13_000
    assert all(customer in prompt for customer in ("Lumière", "O'Hara"))


WROTE = {"type": "WROTE", "from": end("Author", name="Ann Reed"), "to": end("Book", title="Tides"), "properties": {}}
NOISY = written(node("Author", name="Ann Reed"), node("Author", name="ann  reed"), BOOK, edges=[WROTE])
LEFT = {"keep": ["Author", "Author", "Book"], "duplicates": ["Author", "Book"]}


@pytest.mark.parametrize("noise", LEFT)
async def test_noise_goes_by_setting_and_what_was_told_takes_it_back(noise: str) -> None:
    ran, _ = await run(write_graph=[NOISY], options={"noise": noise})
    states = [each.state for each in ran.of(GraphChanged)]
    assert [node.label for node in ran.run.state.nodes] == LEFT[noise]
    assert [len(state.nodes) for state in states] == [0, 3, 2][: 2 + len(ran.of(NoiseRemoved))]
    for state in states:
        again = MemoryGraph()
        await again.apply([ReplaceGraph(state=state)])
        assert await again.state() == state


# Asking the graph


REPAIRS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a refused query is fixed": ({"fix_query": queries("WORSE", "GOOD")}, ["BAD", "WORSE", "GOOD"]),
    "one that gives nothing is written anew": ({"rewrite_query": queries("GOOD")}, ["EMPTY", "GOOD"]),
}


@pytest.mark.parametrize("case", REPAIRS)
async def test_a_query_is_mended(case: str) -> None:
    answers, tried = REPAIRS[case]
    graph = FakeTextGraph(queries=BOOKS)
    ran, _ = await run(graph, next_step=[retrieve(tried[0])], **answers)
    assert (graph.queried, ran.run.answer) == (tried, "Tides")


async def test_the_kind_script_runs_python_on_the_graph_in_the_sandbox() -> None:
    replies = iter([{"fault": "NameError: g"}, {"result": ["Tides"]}])
    graph, sandbox = FakeTextGraph(), FakeSandbox(lambda program: json.dumps(next(replies)))
    await graph.apply([WRITE])
    options = {"retrieve": "script", "sandbox": sandbox}
    ran, server = await run(graph, next_step=[retrieve("result = g")], fix_query=queries("result = G"), options=options)
    assert [(each.kind, each.query) for each in ran.of(Queried)] == [("script", "result = g"), ("script", "result = G")]
    assert "networkx" in server.bodies[0]["messages"][0]["content"]
    assert "NameError: g" in server.prompts("fix_query")[0]
    assert (ran.run.answer, graph.queried) == ("Tides", [])


async def test_the_kind_direct_takes_the_answers_of_the_votes() -> None:
    graph, votes = FakeTextGraph(), by_seed(*map(retrieve, ("Tides", "Dunes", "Tides")))
    options = {"retrieve": "direct", "num_next_steps_decision": 3}
    ran, server = await run(graph, next_step=votes, final_answer=as_told, options=options)
    assert (ran.run.answer, ran.run.outcome, graph.queried) == ("Tides", "solved", [])
    assert "content is the answer itself." in server.bodies[0]["messages"][0]["content"]


async def test_fusion_asks_in_all_ways_and_votes_on_the_answers() -> None:
    sandbox = FakeSandbox(lambda program: json.dumps({"result": ["Dunes"]}))
    answers = {"write_query": queries("result = 1"), "direct_answer": [{"found": True, "answer": "Dunes"}]}
    options = {"retrieve": "fusion", "sandbox": sandbox}
    ran, _ = await run(next_step=[retrieve("GOOD")], final_answer=as_told, options=options, **answers)
    assert [each.kind for each in ran.of(Queried)] == ["query", "script", "direct"]
    assert (ran.of(Parsed)[0].answers, ran.run.answer) == (("Tides", "Dunes", "Dunes"), "Dunes")


async def test_what_is_left_to_compute_is_computed_by_python_and_failing_python_is_fixed() -> None:
    failed = SandboxResult(ended="error", stdout="", stderr="NameError: x")
    sandbox = FakeSandbox(lambda code: failed if "x" in code else "305\n")
    answers = {
        "maths_needed": [{"needed": True}],
        "maths_code": [{"code": "print(x)"}],
        "final_answer": [{"answer": "305"}],
    }
    codes = [{"code": "print(x )"}, {"code": "print(210 + 95)"}]
    ran, server = await run(next_step=[retrieve("GOOD")], fix_code=codes, options={"sandbox": sandbox}, **answers)
    assert [each.fault for each in ran.of(Computed)] == ["error: NameError: x"] * 2 + [""]
    assert "print(x)" in server.prompts("fix_code")[0] and "NameError: x" in server.prompts("fix_code")[0]
    assert "Computed: 305" in server.prompts("final_answer")[0] and ran.run.answer == "305"


async def test_the_most_frequent_of_three_final_answers_wins_and_neither_thoughts_nor_that_there_is_none() -> None:
    for said in (["Tides", "Dunes", " dunes"], ["<think>Tides?</think>", "I don’t know.", "Dunes"]):
        finals, options = by_seed(*({"answer": each} for each in said)), {"max_final_solution_parsing": 3}
        ran, server = await run(next_step=[retrieve("GOOD")], final_answer=finals, options=options)
        assert ran.run.answer == "Dunes"
        assert len({(body["seed"], body["temperature"]) for body in server.of("final_answer")}) == 3


LAST: dict[str, tuple[str, dict[str, Any], str]] = {
    "a query is forced": ("GOOD", {"found": False, "answer": ""}, "forced query"),
    "then an answer": ("EMPTY", {"found": True, "answer": "Tides"}, "forced answer"),
    "then there is none": ("EMPTY", {"found": False, "answer": ""}, "no solution"),
}


@pytest.mark.parametrize("case", LAST)
async def test_at_the_limit(case: str) -> None:
    query, read, outcome = LAST[case]
    ran, server = await run(forced_query=queries(query), forced_answer=[read], options={"max_iterations": 3})
    assert (server.steps.count("next_step"), ran.run.iterations, ran.run.outcome) == (3, 3, outcome)
    assert ran.run.answer == ("" if outcome == "no solution" else "Tides")
    assert ran.run.missing == "her books are missing"
