"""Answers over HTTP: queries of the votes, fixed and written anew; scripts, direct answers, fusion; maths; final answers; the limit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ontology.errors import IsolationError, StorageError
from planners.calling.sandbox import SandboxResult
from planners.graphs.property_graph import InsertNode
from planners.kgot.kgot_events import Computed, Dropped, Parsed, Queried
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


RETRIES = {
    "a failing one is fixed": ("BAD", {"fix_query": queries("GOOD")}, ["fix_query"]),
    "a fixed one may fail again": ("BAD", {"fix_query": queries("BAD 2", "BAD 3", "GOOD")}, ["fix_query"] * 3),
    "an empty one is written anew": ("EMPTY", {"rewrite_query": queries("GOOD")}, ["rewrite_query"]),
    "no value is empty": ("EMPTY 2", {"rewrite_query": queries("GOOD")}, ["rewrite_query"]),
    "one that cannot be fixed is written anew": (
        "BAD",
        {"fix_query": queries("BAD 2", "BAD 3", "BAD 4"), "rewrite_query": queries("GOOD")},
        ["fix_query"] * 3 + ["rewrite_query"],
    ),
    "a fix that changes nothing": (
        "BAD",
        {"fix_query": queries("BAD"), "rewrite_query": queries("GOOD")},
        ["fix_query", "rewrite_query"],
    ),
    "a new one may fail": (
        "EMPTY",
        {"rewrite_query": queries("EMPTY 2", "BAD"), "fix_query": queries("GOOD")},
        ["rewrite_query", "rewrite_query", "fix_query"],
    ),
}


@pytest.mark.parametrize("case", RETRIES)
async def test_a_query_that_gives_nothing(case: str) -> None:
    first, answers, steps = RETRIES[case]
    with StepServer(next_step=[retrieve(first)], **answers, **FINAL) as server:
        ran = await solved(server)
    assert server.steps == ["next_step", *steps, "maths_needed", "final_answer"]
    assert ran.run.outcome == "solved"


async def test_fixes_and_new_queries_are_told_what_was_wrong() -> None:
    answers = {"fix_query": queries("EMPTY"), "rewrite_query": queries("GOOD")}
    with StepServer(next_step=[retrieve("BAD")], **answers, **FINAL) as server:
        await solved(server)
    assert "BAD" in server.prompts("fix_query")[0] and "cannot read 'BAD'" in server.prompts("fix_query")[0]
    assert "<wrong_query>" in server.prompts("rewrite_query")[0] and "EMPTY" in server.prompts("rewrite_query")[0]


async def test_the_counts_of_a_query_that_always_fails() -> None:
    """The first one and three new ones, each with three fixes: 16 queries."""
    graph = FakeTextGraph(queries=BOOKS)
    answers = {
        "fix_query": lambda body, nth: {"query": f"FIXED {nth}"},
        "rewrite_query": lambda body, nth: {"query": f"NEW {nth}"},
        "forced_query": queries("EMPTY"),
        "forced_answer": [NOT_FOUND],
    }
    with StepServer(next_step=[retrieve("BAD")], **answers) as server:
        ran = await solved(server, graph)
    assert (server.steps.count("fix_query"), server.steps.count("rewrite_query")) == (12, 3)
    assert len(graph.queried) == 16 + 1
    assert ran.run.outcome == "no solution"


async def test_a_new_query_that_is_known_to_give_nothing_is_not_run() -> None:
    graph = FakeTextGraph(queries=BOOKS)
    answers = {"rewrite_query": queries("EMPTY"), "forced_query": queries("GOOD")}
    with StepServer(next_step=[retrieve("EMPTY")], **answers, **FINAL) as server:
        await solved(server, graph)
    assert graph.queried == ["EMPTY", "GOOD"]


async def test_queries_that_gave_nothing_are_shown_to_the_next_votes() -> None:
    answers = {"rewrite_query": queries("EMPTY"), "forced_query": queries("EMPTY"), "forced_answer": [NOT_FOUND]}
    with StepServer(next_step=[retrieve("EMPTY")], **answers) as server:
        await solved(server, max_iterations=2)
    first, second = server.prompts("next_step")
    assert "fruitless_queries" not in first
    assert "<fruitless_queries>" in second and "- EMPTY" in second


async def test_so_are_queries_whose_rows_are_no_answer() -> None:
    answers = {"final_answer": [{"answer": ""}], "forced_query": queries("EMPTY"), "forced_answer": [NOT_FOUND]}
    with StepServer(next_step=[retrieve("GOOD")], **NO_MATHS, **answers) as server:
        await solved(server, max_iterations=2)
    assert "- GOOD" in server.prompts("next_step")[1]


async def test_a_zero_is_an_answer() -> None:
    with StepServer(next_step=[retrieve("COUNT")], final_answer=[{"answer": "0"}], **NO_MATHS) as server:
        assert (await solved(server)).run.answer == "0"


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


async def test_the_kind_direct_is_never_forced_to_a_query() -> None:
    with StepServer(next_step=[INSERT], forced_answer=[{"found": True, "answer": "Tides"}], **FINAL) as server:
        ran = await solved(server, retrieve="direct")
    assert ran.run.outcome == "forced answer"
    assert "forced_query" not in server.steps


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


async def test_fusion_goes_on_where_one_way_is_closed() -> None:
    sandbox = FakeSandbox(lambda program: IsolationError("bwrap is missing", subject="sandbox"))
    answers = {"write_query": queries("result = 1"), "direct_answer": [NOT_FOUND]}
    with StepServer(next_step=[retrieve("GOOD")], **answers, **FINAL) as server:
        ran = await solved(server, retrieve="fusion", sandbox=sandbox)
    assert ran.run.answer == "Tides"
    assert ["bwrap is missing" in each.problem for each in ran.of(Dropped)] == [True]


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


@pytest.mark.parametrize(
    ("ended", "codes"),
    [
        (SandboxResult(ended="timeout", stdout="", stderr=""), 4),
        (SandboxResult(ended="ok", stdout="", stderr=""), 4),
        (IsolationError("bwrap is missing", subject="sandbox"), 1),
    ],
    ids=["never ends", "prints nothing", "cannot be isolated"],
)
async def test_python_that_cannot_be_run_leaves_the_partial_answer(ended: Any, codes: int) -> None:
    sandbox = FakeSandbox(lambda code: ended)
    answers = {"maths_code": [{"code": "0"}], "fix_code": lambda body, nth: {"code": f"{nth + 1}"}}
    with StepServer(next_step=[retrieve("GOOD")], **answers, **MATHS) as server:
        ran = await solved(server, sandbox=sandbox)
    assert len(sandbox.codes) == codes
    assert [each.step for each in ran.of(Dropped)] == ["maths"]
    assert "Computed" not in server.prompts("final_answer")[0]
    assert ran.run.answer == "305"


async def test_of_three_final_answers_the_most_frequent_wins() -> None:
    finals = [{"answer": "Tides"}, {"answer": "Dunes"}, {"answer": " dunes"}]
    with StepServer(
        next_step=[retrieve("GOOD")], final_answer=lambda body, nth: finals[body["seed"] % 1_000], **NO_MATHS
    ) as server:
        ran = await solved(server, max_final_solution_parsing=3)
    assert ran.of(Parsed)[0].answers == ("Tides", "Dunes", "dunes")
    assert ran.run.answer == "Dunes"
    assert len({(body["seed"], body["temperature"]) for body in server.of("final_answer")}) == 3


@pytest.mark.parametrize(
    ("finals", "chosen"),
    [
        (["Tides", "Dunes"], "Tides"),
        (["Dunes", "Tides"], "Dunes"),
        (["Tides", "Dunes", " dunes", "TIDES"], "Tides"),
        (["Foam", "Dunes", "Tides", "tides", "dunes"], "Dunes"),
    ],
    ids=["first of two", "not by letters", "two each", "of the most frequent"],
)
async def test_of_equally_frequent_final_answers_the_first_wins(finals: list[str], chosen: str) -> None:
    answers = by_seed(*({"answer": each} for each in finals))
    with StepServer(next_step=[retrieve("GOOD")], final_answer=answers, **NO_MATHS) as server:
        ran = await solved(server, max_final_solution_parsing=len(finals))
    assert ran.run.answer == chosen


async def test_unusable_final_answers_do_not_count() -> None:
    finals = ["prose", {"answer": ""}, {"answer": "Tides"}]
    with StepServer(
        next_step=[retrieve("GOOD")], final_answer=lambda body, nth: finals[body["seed"] % 1_000], **NO_MATHS
    ) as server:
        ran = await solved(server, max_final_solution_parsing=3)
    assert ran.run.answer == "Tides"


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
