"""Decisions over HTTP: votes are drawn apart, the majority decides, unusable ones do not count, ties enhance, a judge may choose."""

from __future__ import annotations

from typing import Any

import pytest

from planners.kgot.kgot_events import Decided, Dropped
from planners.kgot.kgot_task import Retrieve
from tests.harness.http_server import as_json
from tests.planners.kgot.run_fakes import INSERT, FakeTextGraph, StepServer, run_task

pytest.importorskip("openai", reason="the extra 'llm' is not installed")

FINAL = {"maths_needed": [{"needed": False}], "final_answer": [{"answer": "Tides"}]}
FORCED = {"forced_query": [{"query": "NOTHING"}], "forced_answer": [{"found": False, "answer": ""}]}
QUERIES = {"GOOD": ["Tides"], "NOTHING": []}


def retrieve(query: str) -> dict[str, str]:
    return {"query_type": "RETRIEVE", "content": query}


def by_seed(*votes: Any) -> Any:
    """Votes by the seed of the request: those of one iteration arrive in any order."""
    return lambda body, nth: votes[body["seed"] % 1_000]


async def test_five_votes_send_five_seeds_at_a_temperature_above_0() -> None:
    with StepServer(next_step=[retrieve("GOOD")], **FINAL) as server:
        ran = await run_task(server, FakeTextGraph(queries=QUERIES), num_next_steps_decision=5)
    votes = server.of("next_step")
    assert len(votes) == 5
    assert sorted(body["seed"] for body in votes) == [1_000, 1_001, 1_002, 1_003, 1_004]
    assert {body["temperature"] for body in votes} == {0.7}
    assert len({str(body["messages"]) for body in votes}) == 1
    assert (ran.run.answer, ran.run.outcome) == ("Tides", "solved")


MAJORITIES: dict[str, tuple[list[Any], str]] = {
    "three of five retrieve": ([retrieve("GOOD")] * 3 + [INSERT] * 2, "solve"),
    "two of five retrieve": ([retrieve("GOOD")] * 2 + [INSERT] * 3, "enhance"),
    "a tie enhances": ([retrieve("GOOD")] * 2 + [INSERT] * 2, "enhance"),
    "unusable ones do not count": ([retrieve("GOOD"), "prose", "prose", "prose"], "solve"),
    "an empty content is unusable": (
        [INSERT, {"query_type": "RETRIEVE", "content": " "}, retrieve("GOOD"), retrieve("GOOD")],
        "solve",
    ),
}


@pytest.mark.parametrize("case", MAJORITIES)
async def test_the_majority_of_the_usable_votes_decides(case: str) -> None:
    votes, decision = MAJORITIES[case]
    answers = {"merge_reasons": [{"missing": "books"}], **FINAL, **FORCED}
    with StepServer(next_step=by_seed(*votes), **answers) as server:
        ran = await run_task(
            server, FakeTextGraph(queries=QUERIES), num_next_steps_decision=len(votes), max_iterations=1
        )
    decided = ran.of(Decided)[0]
    assert decided.decision == decision
    unusable = [at for at, vote in enumerate(votes) if vote == "prose" or str(vote).count("' '")]
    assert [at for at, vote in enumerate(decided.votes) if vote is None] == unusable
    assert [each.step for each in ran.of(Dropped)].count("vote") == len(unusable)
    assert ("solved" if decision == "solve" else "no solution") == ran.run.outcome


async def test_a_model_that_never_keeps_the_form_is_given_up_after_the_first_decision() -> None:
    with StepServer(next_step=["prose"], **FORCED) as server:
        ran = await run_task(server, num_next_steps_decision=5, max_iterations=7)
    assert (ran.run.outcome, ran.run.iterations) == ("model", 1)
    assert server.steps == ["next_step"] * 20, "each vote is asked for four times"
    assert "rejected 4 times: it is not one JSON object" in ran.run.missing


async def test_a_model_that_kept_the_form_once_is_not_given_up() -> None:
    votes = [INSERT, *["prose"] * 4, INSERT]
    with StepServer(next_step=votes, **FORCED) as server:
        ran = await run_task(server, max_iterations=3)
    assert (ran.run.outcome, ran.run.iterations) == ("no solution", 3)


async def test_a_dead_model_gives_no_votes_and_the_run_ends_by_name() -> None:
    with StepServer(next_step=[as_json({}, status=500)]) as server:
        ran = await run_task(server, max_iterations=1)
    assert ran.run.outcome == "model"
    assert "HTTP 500" in ran.run.missing
    assert [each.step for each in ran.of(Dropped)] == ["vote", "calls", "query", "forced answer"]
    assert "HTTP 500" in ran.of(Dropped)[0].problem


async def test_a_judge_chooses_among_the_votes() -> None:
    votes = [retrieve("BAD"), INSERT, retrieve("GOOD")]
    with StepServer(next_step=by_seed(*votes), judge=[{"best": 3}], **FINAL) as server:
        graph = FakeTextGraph(queries=QUERIES)
        ran = await run_task(server, graph, num_next_steps_decision=3, next_step="judge")
    assert ran.of(Decided)[0].judged == Retrieve(query="GOOD")
    assert graph.queried == ["GOOD"]
    prompt = server.prompts("judge")[0]
    assert all(line in prompt for line in ("1. RETRIEVE: BAD", "2. INSERT: her books are missing", "3. RETRIEVE: GOOD"))
