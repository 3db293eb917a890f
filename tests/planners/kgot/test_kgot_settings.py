"""Settings with the paper's defaults, and events as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from inference import RetryPolicy
from ontology.errors import InvalidArgumentError
from planners.kgot.kgot_settings import MODEL_RETRIES, KgotSettings

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
