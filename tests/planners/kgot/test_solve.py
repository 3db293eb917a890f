"""Answers over HTTP: queries of the votes, fixed and written anew; scripts, direct answers, fusion; maths; final answers; the limit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ontology.errors import StorageError
from planners.calls.sandbox import SandboxResult
from planners.kgot.kgot_events import Computed, Dropped, Parsed, Queried
from planners.stores.property_graph import InsertNode
from tests.planners.kgot.run_fakes import INSERT, FakeSandbox, FakeTextGraph, Ran, StepServer, run_task

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

NO_MATHS = {"maths_needed": [{"needed": False}]}
FINAL = {**NO_MATHS, "final_answer": [{"answer": "Tides"}]}
NOT_FOUND = {"found": False, "answer": ""}
BOOKS: dict[str, Any] = {"GOOD": ["Tides"], "OTHER": ["Dunes"], "EMPTY": [], "EMPTY 2": [None], "COUNT": [0]}


def retrieve(query: str) -> dict[str, str]:
    return {"query_type": "RETRIEVE", "content": query}


def by_seed(*answers: Any) -> Any:
    return lambda body, nth: answers[body["seed"] % 1_000]


def queries(*texts: str) -> list[dict[str, str]]:
    return [{"query": text} for text in texts]


async def solved(server: StepServer, graph: Any = None, **options: Any) -> Ran:
    options = {"max_iterations": 1, **options}
    return await run_task(server, graph or FakeTextGraph(queries=BOOKS), **options)


async def test_the_steps_from_a_query_to_an_answer() -> None:
    with StepServer(next_step=[retrieve("GOOD")], **FINAL) as server:
        ran = await solved(server)
    assert server.steps == ["next_step", "maths_needed", "final_answer"]
    assert (ran.run.answer, ran.run.outcome, ran.run.missing) == ("Tides", "solved", "")
    assert [(each.kind, each.query, each.rows.rows) for each in ran.of(Queried)] == [("query", "GOOD", (("Tides",),))]
    for step in ("maths_needed", "final_answer"):
        assert '[{"value": "Tides"}]' in server.prompts(step)[0]


async def test_the_queries_of_all_votes_are_run_each_once() -> None:
    votes = by_seed(retrieve("GOOD"), retrieve("OTHER"), retrieve("OTHER"), INSERT)
    graph = FakeTextGraph(queries=BOOKS)

    def final(body: Any, nth: int) -> dict[str, str]:
        return {"answer": "Dunes" if "Dunes" in body["messages"][-1]["content"] else "Tides"}

    with StepServer(next_step=votes, final_answer=final, **NO_MATHS) as server:
        ran = await solved(server, graph, num_next_steps_decision=4)
    assert sorted(graph.queried) == ["GOOD", "OTHER"]
    assert ran.run.answer == "Dunes"  # two votes gave it
    assert ran.of(Parsed)[0].answers == ("Tides", "Dunes")


async def test_a_store_that_is_gone_is_a_dropped_step() -> None:
    graph = FakeTextGraph(queries={"GOOD": StorageError("the store cannot be reached")})
    answers = {"forced_query": queries("GOOD"), "forced_answer": [{"found": True, "answer": "Tides"}]}
    with StepServer(next_step=[retrieve("GOOD")], **answers, **FINAL) as server:
        ran = await solved(server, graph)
    assert [each.step for each in ran.of(Dropped)] == ["query", "query"]
    assert (ran.run.answer, ran.run.outcome) == ("Tides", "forced answer")


async def test_the_kind_script_runs_python_on_the_graph_in_the_sandbox() -> None:
    replies = iter(["fault", ["Tides"]])

    def run(program: str) -> str:
        reply = next(replies)
        return json.dumps({"fault": "NameError: g"} if reply == "fault" else {"result": reply})

    sandbox = FakeSandbox(run)
    graph = FakeTextGraph()
    await graph.apply([InsertNode(label="Book", properties={"title": "Tides"})])
    with StepServer(next_step=[retrieve("result = g")], fix_query=queries("result = G"), **FINAL) as server:
        ran = await solved(server, graph, retrieve="script", sandbox=sandbox)
    assert [(each.kind, each.query) for each in ran.of(Queried)] == [("script", "result = g"), ("script", "result = G")]
    assert "networkx" in server.bodies[0]["messages"][0]["content"]
    assert "NameError: g" in server.prompts("fix_query")[0]
    assert (ran.run.answer, graph.queried) == ("Tides", [])


async def test_the_kind_direct_takes_the_answers_of_the_votes() -> None:
    votes = by_seed(retrieve("Tides"), retrieve("Dunes"), retrieve("Tides"))

    def final(body: Any, nth: int) -> dict[str, str]:
        return {"answer": "Dunes" if "Dunes" in body["messages"][-1]["content"] else "Tides"}

    graph = FakeTextGraph()
    with StepServer(next_step=votes, final_answer=final, **NO_MATHS) as server:
        ran = await solved(server, graph, retrieve="direct", num_next_steps_decision=3)
    assert (ran.run.answer, ran.run.outcome, graph.queried) == ("Tides", "solved", [])
    assert "content is the answer itself." in server.bodies[0]["messages"][0]["content"]


async def test_fusion_asks_in_all_ways_and_votes_on_the_answers() -> None:
    sandbox = FakeSandbox(lambda program: json.dumps({"result": ["Dunes"]}))
    answers = {"write_query": queries("result = 1"), "direct_answer": [{"found": True, "answer": "Dunes"}]}

    def final(body: Any, nth: int) -> dict[str, str]:
        return {"answer": "Dunes" if "Dunes" in body["messages"][-1]["content"] else "Tides"}

    with StepServer(next_step=[retrieve("GOOD")], **answers, final_answer=final, **NO_MATHS) as server:
        ran = await solved(server, retrieve="fusion", sandbox=sandbox)
    assert [each.kind for each in ran.of(Queried)] == ["query", "script", "direct"]
    assert ran.of(Parsed)[0].answers == ("Tides", "Dunes", "Dunes")
    assert ran.run.answer == "Dunes"


MATHS = {"maths_needed": [{"needed": True}], "final_answer": [{"answer": "305"}]}


async def test_what_is_left_to_compute_is_computed_by_python() -> None:
    sandbox = FakeSandbox(lambda code: "305\n")
    with StepServer(next_step=[retrieve("GOOD")], maths_code=[{"code": "print(210 + 95)"}], **MATHS) as server:
        ran = await solved(server, sandbox=sandbox)
    assert server.steps == ["next_step", "maths_needed", "maths_code", "final_answer"]
    assert sandbox.codes == ["print(210 + 95)"]
    assert ran.of(Computed)[0].output == "305"
    assert "Computed: 305" in server.prompts("final_answer")[0]
    assert ran.run.answer == "305"


async def test_failing_python_is_fixed() -> None:
    def run(code: str) -> Any:
        failed = SandboxResult(ended="error", stdout="", stderr="NameError: x")
        return failed if code != "print(1)" else "1"

    answers = {"maths_code": [{"code": "print(x)"}], "fix_code": [{"code": "print(y)"}, {"code": "print(1)"}]}
    with StepServer(next_step=[retrieve("GOOD")], **answers, **MATHS) as server:
        ran = await solved(server, sandbox=FakeSandbox(run))
    assert server.steps.count("fix_code") == 2
    assert [each.fault for each in ran.of(Computed)] == ["error: NameError: x"] * 2 + [""]
    assert "print(x)" in server.prompts("fix_code")[0] and "NameError: x" in server.prompts("fix_code")[0]


async def test_of_three_final_answers_the_most_frequent_wins() -> None:
    finals = [{"answer": "Tides"}, {"answer": "Dunes"}, {"answer": " dunes"}]
    with StepServer(
        next_step=[retrieve("GOOD")], final_answer=lambda body, nth: finals[body["seed"] % 1_000], **NO_MATHS
    ) as server:
        ran = await solved(server, max_final_solution_parsing=3)
    assert ran.of(Parsed)[0].answers == ("Tides", "Dunes", "dunes")
    assert ran.run.answer == "Dunes"
    assert len({(body["seed"], body["temperature"]) for body in server.of("final_answer")}) == 3


async def test_at_the_limit_a_query_is_forced() -> None:
    with StepServer(next_step=[INSERT], forced_query=queries("GOOD"), **FINAL) as server:
        ran = await solved(server, max_iterations=3)
    assert server.steps.count("next_step") == 3
    assert (ran.run.answer, ran.run.outcome, ran.run.missing) == ("Tides", "forced query", "her books are missing")
    assert ran.run.iterations == 3


async def test_then_an_answer_is_forced() -> None:
    answers = {"forced_query": queries("EMPTY"), "forced_answer": [{"found": True, "answer": "Tides"}]}
    with StepServer(next_step=[INSERT], **answers, **FINAL) as server:
        ran = await solved(server)
    assert (ran.run.answer, ran.run.outcome) == ("Tides", "forced answer")
    order = [step for step in server.steps if step.startswith("forced")]
    assert order == ["forced_query", "forced_query", "forced_answer"]


async def test_at_last_there_is_no_solution_and_what_is_missing() -> None:
    answers = {"forced_query": queries("EMPTY"), "forced_answer": [NOT_FOUND]}
    with StepServer(next_step=[INSERT], **answers) as server:
        ran = await solved(server)
    assert (ran.run.answer, ran.run.outcome, ran.run.missing) == ("", "no solution", "her books are missing")
