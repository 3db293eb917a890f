"""Runs of tasks that are cut off and go on, and are replayed: real tools, a model that is a function of its prompt."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inference.chat import Completion
from ontology.errors import BudgetExceededError, InvalidArgumentError
from ontology.json_values import canonical_text
from planners.journal.run_journal import open_run_journal, read_run_journal
from planners.kgot.kgot_task import KgotEvent, KgotSettings, KgotTask
from planners.kgot.recorded_run import replay_recorded, solve_recorded
from tests.planners.kgot.warehouse_solve import MARKS, SETTINGS, TASK, WarehouseModel, parts

CALLS = ["find steel", "find tin", "move steel Ulm"]


@pytest.fixture(autouse=True)
def _unmarked() -> None:
    MARKS.clear()


def digest(path: Path) -> Any:
    """Of all events of a run that has ended."""
    return (read_run_journal(path).end or {})["told"]


def texts(told: list[KgotEvent]) -> list[str]:
    """Events without measured seconds, and without the marks around answers of tools, which are those of one run."""
    fields = [{name: value for name, value in each.to_json().items() if name != "seconds"} for each in told]
    return [re.sub(r"\b[0-9a-f]{32}\b", "mark", canonical_text(each)) for each in fields]


async def whole_run(path: Path) -> list[KgotEvent]:
    """Run in this process without a break, and return the events."""
    told: list[KgotEvent] = []
    with open_run_journal(path) as journal:
        run = await solve_recorded(TASK, journal, parts(), observe=told.append)
    assert (run.answer, run.outcome) == ("8", "solved")
    assert sorted(MARKS) == CALLS
    return told


async def test_a_run_goes_on_from_every_record(tmp_path: Path) -> None:
    await whole_run(tmp_path / "run")
    whole, content = digest(tmp_path / "run"), (tmp_path / "run").read_bytes()
    ends = [at + 1 for at, byte in enumerate(content) if byte == 10]
    for end in ends[:-1:3]:
        (tmp_path / "run").write_bytes(content[:end])
        before = read_run_journal(tmp_path / "run")
        ended = {each.data["tool"]: each for each in before.records if each.kind == "call_ended"}
        answered = sum(each.kind == "model_ended" for each in before.records)
        MARKS.clear()
        model = WarehouseModel()
        with open_run_journal(tmp_path / "run") as journal:
            run = await solve_recorded(TASK, journal, parts(model))
        assert run.answer == "8"
        assert digest(tmp_path / "run") == whole
        assert model.asked == _asked(content) - answered
        assert ("move steel Ulm" in MARKS) == ("move_stock" not in ended)


def _asked(content: bytes) -> int:
    return content.count(b'"kind":"model_ended"')


async def test_a_write_that_was_cut_off_is_not_made_again_without_consent(tmp_path: Path) -> None:
    await whole_run(tmp_path / "run")
    lines = (tmp_path / "run").read_bytes().splitlines(keepends=True)
    (begun,) = (at for at, line in enumerate(lines) if b'"kind":"call_begun"' in line and b"move_stock" in line)
    (tmp_path / "run").write_bytes(b"".join(lines[: begun + 1]))
    told: list[KgotEvent] = []
    with open_run_journal(tmp_path / "run") as journal:
        refusing = replace(parts(repeat=False), settings=replace(SETTINGS, max_iterations=2))
        with pytest.raises(InvalidArgumentError, match="what differs is max_iterations"):
            await solve_recorded(TASK, journal, refusing)
        await solve_recorded(TASK, journal, parts(repeat=False), observe=told.append)
    assert MARKS.count("move steel Ulm") == 1
    assert "it is not known whether it was done" in "".join(texts(told))
    run = await replay_recorded(read_run_journal(tmp_path / "run"))
    assert run.outcome != "solved"


class Spent(WarehouseModel):
    """A model whose budget is used up at its sixth call."""

    def complete(self, *args: Any, **options: Any) -> Completion:
        if self.asked >= 5:
            raise BudgetExceededError("all is spent", subject="budget")
        return super().complete(*args, **options)


async def test_a_run_that_its_budget_stopped_goes_on_with_another(tmp_path: Path) -> None:
    whole = await whole_run(tmp_path / "whole")
    with open_run_journal(tmp_path / "run") as journal:
        stopped = await solve_recorded(TASK, journal, parts(Spent()))
    assert stopped.outcome == "budget"
    with pytest.raises(InvalidArgumentError, match="has not ended"):
        await replay_recorded(read_run_journal(tmp_path / "run"))
    with open_run_journal(tmp_path / "run") as journal:
        told: list[KgotEvent] = []
        run = await solve_recorded(TASK, journal, parts(), observe=told.append)
    assert run.outcome == "solved" and texts(told) == texts(whole)


class Nobody(WarehouseModel):
    def complete(self, *args: Any, **options: Any) -> Completion:
        raise AssertionError("a model was asked")


async def test_a_replay_asks_nobody_and_gives_the_same_bytes(tmp_path: Path) -> None:
    whole = await whole_run(tmp_path / "run")
    told: list[KgotEvent] = []
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    run = await replay_recorded(read_run_journal(tmp_path / "run"), observe=told.append)
    assert (run.answer, run.outcome, len(run.state.nodes)) == ("8", "solved", 3)
    assert texts(told) == texts(whole)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    with open_run_journal(tmp_path / "run") as journal:  # a run that has ended is not run again
        again = await solve_recorded(TASK, journal, parts(Nobody()))
    assert again == run
    assert sorted(MARKS) == CALLS


async def test_journals_of_other_runs_are_refused(tmp_path: Path) -> None:
    await whole_run(tmp_path / "run")
    changed: list[tuple[KgotTask, dict[str, Any], str]] = [
        (KgotTask(question="Another?"), {}, "question"),
        (KgotTask(question=TASK.question, files=(tmp_path / "run",)), {}, "files"),
        (TASK, {"settings": KgotSettings()}, "retrieve"),
        (TASK, {"about": {"write": "rules"}}, "write"),
        (TASK, {"models": {}}, "models"),
    ]
    with open_run_journal(tmp_path / "run") as journal:
        for task, other, what in changed:
            with pytest.raises(InvalidArgumentError, match=f"what differs is .*{what}"):
                await solve_recorded(task, journal, replace(parts(), **other))
    with open_run_journal(tmp_path / "other") as journal:
        journal.append("run_begun", asked={})
        with pytest.raises(InvalidArgumentError, match="another command"):
            await solve_recorded(TASK, journal, parts())
