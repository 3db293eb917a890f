"""Model calls, code and graphs in a journal: answered once, replayed without anybody, in any order, from several threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from inference.chat import Budget, ChatModel, Completion, Message, Sample, ScriptedChat
from ontology.errors import (
    BudgetExceededError,
    InvalidArgumentError,
    ModelError,
)
from planners.journal.recorded import Steps, recorded_model
from planners.journal.run_journal import account_of, open_run_journal, read_run_journal


def ask(model: ChatModel, text: str, seed: int = 0) -> str:
    return model.complete([Message("user", text)], sample=Sample(seed=seed, temperature=0.7)).text


def replay(path: Path) -> Steps:
    return Steps(read_run_journal(path), is_replay=True)


class Counting:
    """A model whose answers tell how many it gave before."""

    name = "counting"

    def __init__(self, price: float = 0.0) -> None:
        self.asked = 0
        self.budget = Budget(usd_per_1k_prompt=price)

    def complete(self, messages: Sequence[Message], **options: object) -> Completion:
        self.asked += 1
        return Completion(
            text=f"answer {self.asked}", prompt_tokens=500, completion_tokens=2, truncated=self.asked == 2
        )


def test_a_run_that_goes_on_asks_only_what_was_not_answered(tmp_path: Path) -> None:
    model = Counting()
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(model, Steps(journal))
        assert [ask(recorded, "a"), ask(recorded, "b")] == ["answer 1", "answer 2"]
    questions = [("a", 0), ("b", 0), ("a", 1), ("a", 0)]
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(model, Steps(journal))
        assert [ask(recorded, *each) for each in questions] == ["answer 1", "answer 2", "answer 3", "answer 4"]
    replayed = recorded_model(None, replay(tmp_path / "run"), name="counting")
    again = [
        replayed.complete([Message("user", text)], sample=Sample(seed=seed, temperature=0.7))
        for text, seed in reversed(questions)
    ]
    assert [each.text for each in again] == ["answer 1", "answer 3", "answer 2", "answer 4"]
    assert [each.truncated for each in again] == [False, False, True, False] and again[0].prompt_tokens == 500
    assert (model.asked, replayed.name) == (4, "counting")
    with pytest.raises(InvalidArgumentError, match="does not say what this model gave"):
        ask(replayed, "a")


class Failing(Counting):
    """Raises its errors in their order."""

    errors = (ModelError("it is down", subject="here", remedy="Start it"), KeyError("x"), BudgetExceededError("much"))

    def complete(self, messages: Sequence[Message], **options: object) -> Completion:
        self.asked += 1
        raise self.errors[self.asked - 1]


def test_a_failure_fails_again_and_a_budget_that_is_used_up_does_not(tmp_path: Path) -> None:
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(Failing(), Steps(journal, faults="kept"))
        for text, kind in (("first", ModelError), ("foreign", ModelError), ("spent", BudgetExceededError)):
            with pytest.raises(kind):
                ask(recorded, text)
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(ScriptedChat(["now"]), Steps(journal, faults="kept"))
        with pytest.raises(ModelError, match="it is down") as caught:
            ask(recorded, "first")
        assert (caught.value.subject, caught.value.remedy) == ("here", "Start it")
        with pytest.raises(ModelError, match="KeyError"):
            ask(recorded, "foreign")
        assert ask(recorded, "spent") == "now"


def test_the_account_has_tokens_money_and_time_of_each_step(tmp_path: Path) -> None:
    with open_run_journal(tmp_path / "run") as journal:
        steps = Steps(journal, faults="kept")
        recorded = recorded_model(Counting(price=0.5), steps)
        for step in ("vote", "vote", "write"):
            recorded.complete([Message("user", "q")], schema_name=step)
        with pytest.raises(ModelError):
            recorded_model(ScriptedChat([ModelError("down")]), steps, role="tool").complete(
                [Message("user", "q")], schema_name="write"
            )
    account = account_of(read_run_journal(tmp_path / "run").records)
    assert (account.model.calls, account.model.failed, account.prompt_tokens) == (4, 1, 1_500)
    assert account.model.usd == pytest.approx(0.75)
    by_step = {name: (use.calls, use.prompt_tokens, use.completion_tokens) for name, use in account.by_step.items()}
    assert by_step == {"vote": (2, 1_000, 4), "write": (2, 500, 2)}
