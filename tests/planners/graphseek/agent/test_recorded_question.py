"""The journal of a question: replay, a killed run, and journals that are damaged or of others."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError, ModelError
from planners.graphseek.operators.operator import Operator, OperatorContext
from planners.graphseek.question_run import AnsweredQuestion, answer_recorded, replay_question
from planners.graphseek.results import Result, ResultStore
from planners.graphseek.turn import AgentEvent, AgentSettings, Invoked, ModelAsked, StepView, Turn
from planners.journal.run_journal import open_run_journal, read_run_journal
from planners.journal.step_log import emit
from tests.planners.graphseek.agent.toy_parts import Script, Toy, answer, call, echo, parts

QUESTION = "Which?"
SETTINGS = AgentSettings(max_steps=5)
TURNS = (
    (call("echo", of="Alpha"), call("nothing", of="x")),
    answer('It is "Omega".'),
    (call("echo", of="Beta", handle="t1"),),
    answer("It is Beta Alpha.", "t3"),
)


class Asked(Script):
    """Tells of each turn as a model would."""

    async def turn(self, view: StepView) -> Turn:
        emit(ModelAsked(prompt="turn", prompt_tokens=11, completion_tokens=5, usd=0.1, seconds=len(self.views) + 0.5))
        return await super().turn(view)


async def ask(
    path: Path, store: ResultStore, script: Script, *operators: Operator, question: str = QUESTION
) -> tuple[AnsweredQuestion, list[AgentEvent]]:
    events: list[AgentEvent] = []
    with open_run_journal(path) as journal:
        run = await answer_recorded(question, journal, parts(store, script, *operators), SETTINGS, events.append)
    return run, events


async def test_a_finished_run_is_replayed_without_anybody_and_never_changed(tmp_path: Path, store: ResultStore) -> None:
    path = tmp_path / "run.jsonl"
    run, events = await ask(path, store, Asked(*TURNS))
    assert run.end.outcome == "answered" and (run.model_calls, run.prompt_tokens, run.usd) == (4, 44, 0.4)
    written = path.read_bytes()
    store.close()
    told: list[AgentEvent] = []
    again = await replay_question(read_run_journal(path), told.append)
    assert told == events and again == run
    silent = Script(AssertionError("nobody is asked"))
    once_more, _ = await ask(path, store, silent)
    assert once_more == run and silent.views == [] and path.read_bytes() == written
    with pytest.raises(InvalidArgumentError, match="another question"):
        await ask(path, store, silent, question="What else?")


async def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, store: ResultStore) -> None:
    path, calls = tmp_path / "run.jsonl", []

    async def counted(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        calls.append(arguments["of"])
        return await echo(arguments, context)

    turns: list[Turn] = [(call("once", of="Alpha"),), (call("once", of="Beta"),), answer("Alpha Beta")]
    stopped, _ = await ask(path, store, Script(*turns[:2], ModelError("no model")), Toy("once", counted))
    assert stopped.end.outcome == "model"
    with pytest.raises(InvalidArgumentError, match="has not ended"):
        await replay_question(read_run_journal(path))
    rest = Script(*turns[2:])
    run, events = await ask(path, store, rest, Toy("once", counted))
    assert run.end.answer == "Alpha Beta" and len(rest.views) == 1 and calls == ["Alpha", "Beta"]
    assert [each.step for each in events if isinstance(each, Invoked)] == [1, 2]
    told: list[AgentEvent] = []
    assert await replay_question(read_run_journal(path), told.append) == run and told == events


async def test_a_run_that_was_killed_amid_a_step_takes_only_that_step_again(tmp_path: Path, store: ResultStore) -> None:
    path, started = tmp_path / "run.jsonl", asyncio.Event()

    async def hangs(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        if not started.is_set():
            started.set()
            await asyncio.sleep(60)
        return await echo(arguments, context)

    script = Script((call("echo", of="Alpha"), call("hangs", of="Beta")), answer("Alpha Beta"))
    task = asyncio.create_task(ask(path, store, script, Toy("hangs", hangs)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    path.write_bytes(path.read_bytes() + b'{"n":7,"kind":"half')
    rest = Script(answer("Alpha Beta"))
    run, _ = await ask(path, store, rest, Toy("hangs", hangs))
    assert run.end.outcome == "answered" and [view.step for view in rest.views] == [2]
    assert (await store.rows("t1"), await store.rows("t2")) == ([("Alpha",)], [("Beta",)])


async def test_journals_of_others_and_damaged_ones_are_refused(tmp_path: Path, store: ResultStore) -> None:
    path = tmp_path / "run"
    await ask(path, store, Script(*TURNS))
    headers: dict[str, dict[str, Any]] = {
        "of another command": {"run": "solve"},
        "no settings": {"run": "graphseek", "taken_over": 0, "question": {"text": "x"}},
        "no question": {"run": "graphseek", "taken_over": 0, "question": 7, "settings": {}},
    }
    for name, header in headers.items():
        with open_run_journal(tmp_path / name) as journal:
            journal.append("run_begun", **header)
        with pytest.raises(InvalidArgumentError):
            await ask(tmp_path / name, store, Script(answer("x")))
    with open_run_journal(tmp_path / "gap") as journal:
        for record in read_run_journal(path).records:
            if record.data.get("key") != "invocation/1/1":
                journal.append(record.kind, **record.data)
    with pytest.raises(InvalidArgumentError, match="does not say what this step gave"):
        await replay_question(read_run_journal(tmp_path / "gap"))
