"""Chat models: the scripted one, samples, and the cap on tokens and money, alone and among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from datagen.models import LimitedChat
from inference import Budget, ChatModel, Message, Sample, ScriptedChat, Spend
from ontology.errors import BudgetExceededError, InvalidArgumentError
from tests.harness.waiting import LIMIT_S

ASK = [Message("user", "list the suppliers")]


WRAPPERS: dict[str, Callable[[ChatModel, Path], ChatModel]] = {
    "none": lambda inner, folder: inner,
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


def spend(budget: Budget, read: int, written: int) -> None:
    with budget.reserve(prompt_tokens=read, completion_tokens=written) as room:
        room.settle(prompt_tokens=read, completion_tokens=written)


def test_exactly_the_cap_fits_and_one_more_does_not() -> None:
    budget = Budget(max_tokens=100)
    spend(budget, 60, 40)
    with pytest.raises(BudgetExceededError, match="100 of 100 tokens"):
        spend(budget, 1, 0)
    assert budget.spent.tokens == 100


def test_what_is_not_settled_is_given_back() -> None:
    budget = Budget(max_tokens=10)
    with pytest.raises(RuntimeError, match="call failed"), budget.reserve(prompt_tokens=10, completion_tokens=0):
        raise RuntimeError("call failed")
    assert budget.spent == Spend()
    spend(budget, 10, 0)


def test_many_threads_never_pass_the_cap() -> None:
    budget = Budget(max_tokens=100)

    def use(_number: int) -> bool:
        try:
            spend(budget, 4, 3)
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(use, range(60)))
    assert sum(done) == 14
    assert budget.spent.tokens == 98


def test_held_room_makes_others_wait_and_refuses_nobody() -> None:
    """Two calls hold back far more than they use: the second waits for the first and then goes."""
    budget = Budget(max_tokens=100)
    holding, finish = Event(), Event()

    def first() -> None:
        with budget.reserve(prompt_tokens=10, completion_tokens=80) as room:
            holding.set()
            finish.wait(LIMIT_S)
            room.settle(prompt_tokens=10, completion_tokens=5)

    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(first)
        assert holding.wait(LIMIT_S)
        waiting = pool.submit(spend, budget, 10, 70)
        assert not waiting.done()
        finish.set()
        running.result(LIMIT_S)
        waiting.result(LIMIT_S)
    assert budget.spent.tokens == 95


@pytest.mark.parametrize("field", ["max_tokens", "max_usd", "usd_per_1k_prompt", "usd_per_1k_completion"])
def test_negative_limits_are_refused(field: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Budget(**{field: -1})
    assert caught.value.subject == field


def test_money_without_prices_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="price"):
        Budget(max_usd=1.0)
