"""Chat models: the scripted one, samples, and the cap on tokens and money, alone and among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from datagen.models import LimitedChat
from inference import Budget, ChatModel, Message, Sample, ScriptedChat
from ontology.errors import BudgetExceededError, InvalidArgumentError

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
