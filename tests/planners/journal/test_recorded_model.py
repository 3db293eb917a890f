"""Calls of a model in a journal: what failed fails again, but where a budget refused it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from inference.chat import ChatModel, Completion, Message, Sample, ScriptedChat
from ontology.errors import BudgetExceededError, InvalidArgumentError, ModelError
from planners.journal.recorded import Steps, recorded_model
from planners.journal.run_journal import open_run_journal, read_run_journal


def ask(model: ChatModel, text: str, seed: int = 0) -> str:
    return model.complete([Message("user", text)], sample=Sample(seed=seed, temperature=0.7)).text


class Failing:
    """Raises its errors in their order."""

    name = "failing"

    def __init__(self) -> None:
        down = ModelError("it is down", subject="here", remedy="Start it")
        self.errors = [down, KeyError("x"), BudgetExceededError("much")]

    def complete(self, messages: Sequence[Message], **options: object) -> Completion:
        raise self.errors.pop(0)


def test_a_failure_fails_again_and_a_budget_that_is_used_up_does_not(tmp_path: Path) -> None:
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(Failing(), Steps(journal, faults="kept"))
        for text, kind in (("first", ModelError), ("foreign", ModelError), ("spent", BudgetExceededError)):
            with pytest.raises(kind):
                ask(recorded, text)
    with open_run_journal(tmp_path / "run") as journal:
        recorded = recorded_model(ScriptedChat(["now", "later"]), Steps(journal, faults="kept"))
        with pytest.raises(ModelError, match="it is down") as caught:
            ask(recorded, "first")
        assert (caught.value.subject, caught.value.remedy) == ("here", "Start it")
        with pytest.raises(ModelError, match="KeyError"):
            ask(recorded, "foreign")
        assert [ask(recorded, "spent"), ask(recorded, "spent", seed=1)] == ["now", "later"]
    replayed = recorded_model(None, Steps(read_run_journal(tmp_path / "run"), is_replay=True), name="failing")
    assert [ask(replayed, "spent", seed=1), ask(replayed, "spent")] == ["later", "now"]
    with pytest.raises(InvalidArgumentError, match="does not say what this model gave"):
        ask(replayed, "spent", seed=2)
