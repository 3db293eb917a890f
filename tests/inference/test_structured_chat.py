"""The structured LLM call: parsed, repaired once, cached, and given up after three failures."""

import json
from typing import Any

import pytest

from inference import Message, ScriptedChat
from inference.result_cache import ResultCache
from inference.structured_chat import (
    FailureBudget,
    SchemaParser,
    StructuredChat,
    StructuredRequest,
    UnusableAnswerError,
)
from ontology.errors import BudgetExceededError, ModelError

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
REQUEST = StructuredRequest(messages=(Message(role="user", content="n?"),), schema=SCHEMA, schema_name="n")
PARSER = SchemaParser(SCHEMA)


def _chat(model: ScriptedChat, cache: ResultCache | None = None) -> StructuredChat:
    return StructuredChat(model, kind="test", repair_prompt=lambda problem: f"Repair: {problem}", cache=cache)


@pytest.mark.parametrize("text", ["", "no", '{"n": 1} x', '{"n": "1"}', "[]", '{"n": NaN}', "{}", "[" * 100_000])
def test_an_answer_outside_the_schema_is_unusable(text: str) -> None:
    with pytest.raises(UnusableAnswerError):
        PARSER.parse(text)


def test_a_usable_answer_is_cached_and_not_asked_for_again() -> None:
    model, cache = ScriptedChat(['{"n": 1}']), ResultCache()
    answers = [_chat(model, cache).call(REQUEST, "key", PARSER.parse) for _ in range(2)]
    assert [answer.value for answer in answers] == [{"n": 1}] * 2
    assert answers[0] == answers[1]
    assert len(model.calls) == 1


def test_an_unusable_answer_gets_one_more_attempt_with_its_fault() -> None:
    model = ScriptedChat(["n is 1", '{"n": 1}'])
    assert _chat(model).call(REQUEST, "key", PARSER.parse).value == {"n": 1}
    first, second = model.calls
    assert len(first) == 1
    assert [message.role for message in second] == ["user", "assistant", "user"]
    assert second[1].content == "n is 1" and second[2].content.startswith("Repair: it is not one JSON object")


def test_two_unusable_answers_are_a_problem_that_is_not_cached() -> None:
    model, cache = ScriptedChat(["no", "x" * 5_000, '{"n": 2}']), ResultCache()
    answer = _chat(model, cache).call(REQUEST, "key", PARSER.parse)
    assert answer.value is None and answer.failure is None
    assert "rejected twice" in answer.problem and answer.text == "x" * 4_000
    assert _chat(model, cache).call(REQUEST, "key", PARSER.parse).value == {"n": 2}


def test_a_damaged_cache_entry_is_asked_for_again() -> None:
    cache = ResultCache()
    cache.put("test", "key", b"\xff")
    assert _chat(ScriptedChat(['{"n": 3}']), cache).call(REQUEST, "key", PARSER.parse).value == {"n": 3}
    assert cache.get("test", "key") == b'{"n": 3}'


def test_a_failed_call_is_returned_and_a_used_up_budget_is_raised() -> None:
    failure = ModelError("unavailable")
    answer = _chat(ScriptedChat([failure])).call(REQUEST, "key", PARSER.parse)
    assert answer.failure is failure and answer.value is None
    with pytest.raises(BudgetExceededError):
        _chat(ScriptedChat([BudgetExceededError("used up")])).call(REQUEST, "key", PARSER.parse)


def test_the_key_depends_on_everything_that_the_answer_depends_on() -> None:
    others = [
        StructuredRequest(messages=(Message(role="system", content="n?"),), schema=SCHEMA, schema_name="n"),
        StructuredRequest(messages=REQUEST.messages, schema={}, schema_name="n"),
        StructuredRequest(messages=REQUEST.messages, schema=SCHEMA, schema_name="n", max_tokens=3),
    ]
    keys = {request.key("m", "1") for request in (REQUEST, *others)}
    assert len(keys | {REQUEST.key("other", "1"), REQUEST.key("m", "2")}) == 6
    again = StructuredRequest(messages=REQUEST.messages, schema=json.loads(json.dumps(SCHEMA)), schema_name="n")
    assert again.key("m", "1") == REQUEST.key("m", "1")


def test_the_third_failure_in_a_row_is_raised() -> None:
    budget, failure = FailureBudget(), ModelError("unavailable")
    for outcome in (failure, failure, None, failure, failure):
        budget.record(outcome)
    with pytest.raises(ModelError) as caught:
        budget.record(failure)
    assert caught.value is failure
