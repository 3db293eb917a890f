"""Settings with the paper's defaults, and events as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

import pytest

from inference import RetryPolicy
from ontology.errors import InvalidArgumentError
from planners.graphs.property_graph import GraphNode, GraphState, InsertNode, QueryRows, Statement
from planners.kgot.kgot_events import (
    CallMade,
    Decided,
    DroppedWrite,
    GraphChanged,
    KgotEvent,
    ModelAsked,
    Queried,
    Written,
    event_json,
)
from planners.kgot.kgot_settings import MODEL_RETRIES, KgotSettings
from planners.kgot.kgot_task import MadeCall
from planners.kgot.run_header import settings_of
from planners.kgot.step_makers import Insert, Retrieve

PAPER = {
    "max_iterations": 7,
    "num_next_steps_decision": 5,
    "max_retrieve_query_retry": 3,
    "max_cypher_fixing_retry": 3,
    "max_final_solution_parsing": 3,
    "max_tool_retries": 6,
}
WRONG: dict[str, Any] = {
    "max_iterations": 0,
    "num_next_steps_decision": 0,
    "max_retrieve_query_retry": -1,
    "max_cypher_fixing_retry": -1,
    "max_final_solution_parsing": 0,
    "max_tool_retries": -1,
    "tool_call_votes": 101,
    "tools": 9,
    "max_calls_per_step": 0,
    "vote_temperature": 0.0,
    "max_seconds": 0.0,
    "max_graph_chars": 10,
    "max_shown_bytes": 10,
    "max_answer_tokens": 0,
    "max_json_reasks": -1,
    "retrieve": "guess",
    "next_step": "dice",
    "prompt_format": "html",
    "noise": "loud",
}


def test_the_defaults_are_those_of_the_paper() -> None:
    assert {name: getattr(KgotSettings(), name) for name in PAPER} == PAPER
    assert MODEL_RETRIES == RetryPolicy(max_retries=5, base_delay_s=1.0, max_delay_s=60.0)
    assert KgotSettings().tool_retries.max_retries == 6


@pytest.mark.parametrize("name", WRONG)
def test_a_value_out_of_range_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        KgotSettings(**{name: WRONG[name]})
    assert caught.value.subject == name


def test_every_setting_that_can_be_wrong_is_checked() -> None:
    unchecked = {each.name for each in fields(KgotSettings)} - set(WRONG)
    assert unchecked == {"auto_k", "tool_retry_delay_s", "query_limits", "repair_json"}


def test_the_settings_of_a_journal_of_an_earlier_release_are_read() -> None:
    given = asdict(KgotSettings(max_calls_per_step=3))
    given |= {"max_calls": given.pop("max_calls_per_step"), "writes": "statements"}
    assert settings_of({"settings": given}).max_calls_per_step == 3


def test_one_vote_needs_no_temperature() -> None:
    assert KgotSettings(num_next_steps_decision=1, max_final_solution_parsing=1, vote_temperature=0.0)


EVENTS: dict[str, tuple[KgotEvent, dict[str, Any]]] = {
    "votes": (
        Decided(iteration=1, votes=(Retrieve(query="Q"), Insert(reason="R"), None), decision="enhance"),
        {
            "event": "Decided",
            "iteration": 1,
            "votes": [{"kind": "Retrieve", "query": "Q"}, {"kind": "Insert", "reason": "R"}, None],
            "decision": "enhance",
            "judged": None,
        },
    ),
    "writes": (
        Written(
            iteration=2,
            operations=(InsertNode(label="A", properties={"p": (1, 2)}),),
            dropped=(DroppedWrite(operation=Statement(text="S"), fault="f"),),
            chains=1,
        ),
        {
            "event": "Written",
            "iteration": 2,
            "operations": [{"kind": "InsertNode", "label": "A", "properties": {"p": [1, 2]}}],
            "dropped": [{"operation": {"kind": "Statement", "text": "S", "parameters": {}}, "fault": "f"}],
            "chains": 1,
        },
    ),
    "a graph": (
        GraphChanged(iteration=0, state=GraphState(nodes=(GraphNode(id="n1", label="A", properties={}),))),
        {
            "event": "GraphChanged",
            "iteration": 0,
            "state": {"nodes": [{"id": "n1", "label": "A", "properties": {}}], "edges": []},
        },
    ),
    "rows": (
        Queried(iteration=1, kind="query", query="Q", rows=QueryRows(columns=("a",), rows=((None,), ({"b": [1]},)))),
        {
            "event": "Queried",
            "iteration": 1,
            "kind": "query",
            "query": "Q",
            "rows": {"columns": ["a"], "rows": [[None], [{"b": [1]}]], "cut": False},
            "fault": "",
        },
    ),
}


@pytest.mark.parametrize("case", EVENTS)
def test_an_event_is_json(case: str) -> None:
    event, expected = EVENTS[case]
    assert json.loads(json.dumps(event_json(event))) == expected


def test_times_are_left_out_on_demand() -> None:
    call = MadeCall(tool_id="t", arguments={"seconds": 3}, ok=True, status="ok", body={"seconds": 4})
    made = event_json(CallMade(iteration=1, call=call, seconds=0.5), times=False)
    assert "seconds" not in made
    assert made["call"]["arguments"] == {"seconds": 3} and made["call"]["body"] == {"seconds": 4}
    asked = ModelAsked(step="s", executor="graph", prompt_tokens=1, completion_tokens=2, usd=0.1, seconds=0.2)
    assert event_json(asked)["seconds"] == 0.2
