"""The scripted chat model, the back-off, and the check of rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from datagen.models import LimitedChat
from inference import ChatModel, Message, RetryPolicy, Sample, ScriptedChat
from inference.retry import TransientFailure, call_with_retries, parse_retry_after
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError
from planners.calls.model_text import CountedModel, PromptTokens

ASK = [Message("user", "list the suppliers")]


def test_a_list_is_said_in_order_and_then_ends() -> None:
    chat = ScriptedChat(["first", BudgetExceededError("the cap is reached"), "third one"])
    assert isinstance(chat, ChatModel)
    answer = chat.complete(ASK)
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens) == ("first", 3, 1)
    with pytest.raises(BudgetExceededError):
        chat.complete(ASK)
    assert chat.complete(ASK, schema={"type": "object"}, schema_name="x").completion_tokens == 2
    with pytest.raises(ModelError, match="no further answer"):
        chat.complete(ASK)
    assert len(chat.calls) == 4


WRAPPERS: dict[str, Callable[[ChatModel, Path], ChatModel]] = {
    "none": lambda inner, folder: inner,
    "planners": lambda inner, folder: CountedModel(inner, PromptTokens()),
    "datagen": lambda inner, folder: LimitedChat.sharing(9, model=inner)["model"],
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_every_wrapper_hands_the_sample_on(wrapper: str, tmp_path: Path) -> None:
    inner = ScriptedChat(lambda messages: "yes")
    model = WRAPPERS[wrapper](inner, tmp_path)
    assert isinstance(model, ChatModel)
    drawn = Sample(seed=3, temperature=0.5)
    model.complete(ASK)
    model.complete(ASK, sample=drawn)
    assert inner.samples == [Sample(), drawn]


@pytest.mark.parametrize(
    "fields", [{"seed": -1}, {"temperature": -0.1}, {"temperature": 2.1}, {"temperature": float("nan")}]
)
def test_what_is_no_sample_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Sample(**fields)  # type: ignore[arg-type]
    assert [caught.value.subject] == list(fields)


def test_back_off_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(base_delay_s=1.0, max_delay_s=5.0)
    for retry, full in enumerate([1.0, 2.0, 4.0, 5.0, 5.0]):
        delays = [policy.delay_s(retry) for _ in range(50)]
        assert full / 2 <= min(delays) <= max(delays) <= full
        assert len(set(delays)) > 1
    assert policy.delay_s(100_000) <= 5.0


def test_a_transient_failure_never_gets_out() -> None:
    calls = []

    def attempt() -> None:
        calls.append(1)
        raise TransientFailure("it broke")

    with pytest.raises(ModelError, match=r"host: it broke \(1 attempt\)"):
        call_with_retries(attempt, policy=RetryPolicy(max_retries=0), subject="host")
    assert len(calls) == 1


@pytest.mark.parametrize("field", ["max_retries", "base_delay_s", "max_delay_s", "max_retry_after_s"])
def test_a_negative_policy_is_refused(field: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        RetryPolicy(**{field: -1})
    assert caught.value.subject == field


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, None), ("3", 3.0), ("0.5", 0.5), ("-4", 0.0), ("soon", None), ("nan", None), ("", None)],
)
def test_retry_after_as_number(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header) == seconds
