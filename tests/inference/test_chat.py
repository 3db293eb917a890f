"""Chat models: samples, the caps on tokens and money, retries, and the structured call."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from datagen.models import LimitedChat
from inference import Budget, ChatModel, Message, RetryPolicy, Sample, concurrent_map
from inference.result_cache import ResultCache
from inference.retry import parse_retry_after
from inference.structured_chat import (
    FailureBudget,
    SchemaParser,
    StructuredChat,
    StructuredRequest,
    UnusableAnswerError,
)
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError
from tests.inference.scripted_chat import ScriptedChat

ASK = [Message("user", "list the suppliers")]


def test_a_limited_model_hands_the_sample_on() -> None:
    inner, drawn = ScriptedChat(lambda messages: "yes"), Sample(seed=3, temperature=0.5)
    model = LimitedChat.sharing(9, model=inner)["model"]
    model.complete(ASK)
    model.complete(ASK, sample=drawn)
    assert isinstance(model, ChatModel) and inner.samples == [Sample(), drawn]


def spend(budget: Budget, read: int, written: int) -> None:
    budget.check(prompt_tokens=read, completion_tokens=written)
    budget.add(prompt_tokens=read, completion_tokens=written)


def test_exactly_the_cap_fits_and_one_more_does_not() -> None:
    budget = Budget(max_tokens=100, max_usd=1.0, usd_per_1k_prompt=5.0, usd_per_1k_completion=10.0)
    spend(budget, 60, 40)
    with pytest.raises(BudgetExceededError, match=r"100 of 100 tokens, 0\.7000 of 1\.0000 USD"):
        spend(budget, 1, 0)
    assert (budget.spent.tokens, budget.spent.usd) == (100, 0.7)


def test_money_is_capped() -> None:
    with pytest.raises(BudgetExceededError):
        spend(Budget(max_usd=0.1, usd_per_1k_prompt=1.0), 101, 0)


def test_calls_of_many_threads_are_all_counted() -> None:
    budget = Budget()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: spend(budget, 4, 3), range(60)))
    assert (budget.spent.calls, budget.spent.tokens) == (60, 420)


@pytest.mark.parametrize("field", ["max_tokens", "max_usd", "usd_per_1k_prompt", "usd_per_1k_completion"])
def test_negative_limits_are_refused(field: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Budget(**{field: -1})
    assert caught.value.subject == field


def test_money_without_prices_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="price"):
        Budget(max_usd=1.0)


# -- retries, and many calls at once -----------------------------------------------------------------------------------


def test_back_off_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(base_delay_s=1.0, max_delay_s=5.0)
    for retry, full in enumerate([1.0, 2.0, 4.0, 5.0, 5.0]):
        delays = [policy.delay_s(retry) for _ in range(50)]
        assert full / 2 <= min(delays) <= max(delays) <= full
        assert len(set(delays)) > 1
    assert policy.delay_s(100_000) <= 5.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), ("0.5", 0.5), ("-4", 0.0), ("soon", None), ("nan", None), ("", None)],
)
def test_retry_after_as_number(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header) == seconds


@pytest.mark.parametrize("concurrency", [1, 3])
def test_results_come_in_the_order_of_the_items(concurrency: int) -> None:
    later = Event()

    def function(item: int) -> int:
        if item == 0 and concurrency > 1:
            assert later.wait(30)  # the first item ends after the second
        if item == 1:
            later.set()
        return item * item

    pairs = list(concurrent_map(range(20), function, concurrency=concurrency))
    assert pairs == [(item, item * item) for item in range(20)]
    assert list(concurrent_map([], function, concurrency=concurrency)) == []


def test_a_consumer_that_stops_early_leaves_most_items_untouched() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1_000):
            taken.append(item)
            yield item

    results = concurrent_map(items(), str, concurrency=2)
    assert next(results) == (0, "0")
    results.close()  # type: ignore[attr-defined]
    assert len(taken) <= 2 * 2 + 1


# -- the structured call -----------------------------------------------------------------------------------------------


N_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
REQUEST = StructuredRequest(messages=(Message(role="user", content="n?"),), schema=N_SCHEMA, schema_name="n")
PARSER = SchemaParser(N_SCHEMA)


def _chat(model: ScriptedChat, cache: ResultCache | None = None) -> StructuredChat:
    return StructuredChat(model, kind="test", repair_prompt=lambda problem: f"Repair: {problem}", cache=cache)


@pytest.mark.parametrize("text", ["", "no", '{"n": 1} x', '{"n": "1"}', "[]", '{"n": NaN}', "{}", "[" * 100_000])
def test_an_answer_outside_the_schema_is_unusable(text: str) -> None:
    with pytest.raises(UnusableAnswerError):
        PARSER.parse(text)


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
        StructuredRequest(messages=(Message(role="system", content="n?"),), schema=N_SCHEMA, schema_name="n"),
        StructuredRequest(messages=REQUEST.messages, schema={}, schema_name="n"),
        StructuredRequest(messages=REQUEST.messages, schema=N_SCHEMA, schema_name="n", max_tokens=3),
    ]
    keys = {request.key("m", "1") for request in (REQUEST, *others)}
    assert len(keys | {REQUEST.key("other", "1"), REQUEST.key("m", "2")}) == 6
    again = StructuredRequest(messages=REQUEST.messages, schema=json.loads(json.dumps(N_SCHEMA)), schema_name="n")
    assert again.key("m", "1") == REQUEST.key("m", "1")


def test_the_third_failure_in_a_row_is_raised() -> None:
    budget, failure = FailureBudget(), ModelError("unavailable")
    for outcome in (failure, failure, None, failure, failure):
        budget.record(outcome)
    with pytest.raises(ModelError) as caught:
        budget.record(failure)
    assert caught.value is failure
