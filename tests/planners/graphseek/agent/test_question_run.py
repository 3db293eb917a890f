"""The loop: steps, what they offer, execution at once, faults, and how runs end."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError, StorageError
from planners.graphseek.operators.operator import Operator, OperatorContext, OperatorFault
from planners.graphseek.question_run import AnsweredQuestion, answer_question
from planners.graphseek.results import Result, ResultStore
from planners.graphseek.turn import AgentEvent, AgentSettings, AnswerRejected, Ended, Faulted
from tests.planners.graphseek.agent.toy_parts import Script, Toy, answer, call, echo, parts


async def asked(
    store: ResultStore, script: Script, *operators: Operator, text: str = "Which?", **settings: Any
) -> tuple[AnsweredQuestion, list[AgentEvent]]:
    events: list[AgentEvent] = []
    given = parts(store, script, *operators)
    run = await answer_question(text, given, AgentSettings(**settings), events.append)
    return run, events


def faults(events: list[AgentEvent]) -> list[Faulted]:
    return [each for each in events if isinstance(each, Faulted)]


async def test_invocations_of_a_step_run_at_once_and_are_told_in_their_order(store: ResultStore) -> None:
    both = asyncio.Barrier(2)

    async def meet(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        await both.wait()  # one after the other would wait for ever
        assert context.seconds == 5
        await asyncio.sleep(0.05 if arguments["of"] == "Alpha" else 0)
        return await echo(arguments, context)

    turn = (call("meet", of="Alpha"), call("meet", of="Beta"))
    run, events = await asked(store, Script(turn, answer("Alpha, Beta")), Toy("meet", meet), call_seconds=5)
    assert run.end.outcome == "answered"
    told = [(type(each).__name__, getattr(each, "handle", "")) for each in events[2:8]]
    assert told == [
        ("Invoked", ""),
        ("QueryRun", ""),
        ("ResultKept", "t1"),
        ("Invoked", ""),
        ("QueryRun", ""),
        ("ResultKept", "t2"),
    ]
    assert await store.rows("t2") == [("Beta",)]


async def test_faults_say_what_to_do_instead(store: ResultStore) -> None:
    async def slow(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        await asyncio.sleep(60)
        raise AssertionError

    async def bug(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        raise ZeroDivisionError("of somebody else")

    async def empty(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        raise OperatorFault("empty", "no node is like that", "Order by it")

    turns = (
        (call("ecco", of="x"), call("echo"), call("echo", of="x", typ="y")),
        (call("echo", of="x", type="FactorySites"), call("slow", of="x"), call("bug", of="x"), call("empty", of="x")),
        (call("empty", of="x"), call("echo", of="x"), call("echo", of="x")),
        (call("echo", of="x"),),
        answer("done"),
    )
    operators = (Toy("slow", slow), Toy("bug", bug), Toy("empty", empty))
    run, events = await asked(store, Script(*turns), *operators, call_seconds=2.0)
    assert run.end.outcome == "answered"
    assert [(each.step, each.nth, each.kind) for each in faults(events)] == [
        (1, 1, "unknown name"),
        (1, 2, "arguments"),
        (1, 3, "arguments"),
        (2, 1, "unknown name"),
        (2, 2, "timeout"),
        (2, 3, "engine"),
        (2, 4, "empty"),
        (3, 1, "repeated"),
        (3, 3, "repeated"),
        (4, 1, "repeated"),
    ]
    hints = [each.hint for each in faults(events)]
    assert hints[0].startswith("The nearest is echo.") and hints[1] == "Give of"
    assert hints[2].startswith("The nearest is type.") and hints[3].startswith("The nearest is FactorySite.")
    assert hints[7] == "Change it: Order by it" and "Read t9" in hints[9], "the ninth invocation gave it"


async def test_an_answer_that_stands_in_no_result_is_handed_back_and_the_last_is_marked(store: ResultStore) -> None:
    wrong = answer('It is "Omega", with 12.')
    script = Script((call("echo", of="Alpha"),), wrong, answer("It is Alpha."))
    run, events = await asked(store, script)
    assert run.end.outcome == "answered" and run.end.answer == "It is Alpha."
    (rejected,) = [each for each in events if isinstance(each, AnswerRejected)]
    assert rejected.ungrounded == ("Omega", "12")
    assert script.views[2].records[-1].rejected == wrong and "Omega, 12" in script.views[2].records[-1].why


async def test_a_store_that_is_gone_ends_the_run(store: ResultStore) -> None:
    async def gone(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        raise StorageError("the store cannot be reached", subject="graph")

    run, _ = await asked(store, Script((call("echo", of="Alpha"),), (call("gone", of="x"),)), Toy("gone", gone))
    assert run.end.outcome == "store" and "cannot be reached" in run.end.missing and store.handles == ("t1",)


async def test_deadline_and_cancel(store: ResultStore) -> None:
    started = asyncio.Event()

    async def hangs(arguments: Mapping[str, Any], context: OperatorContext) -> Result:
        started.set()
        await asyncio.sleep(60)
        raise AssertionError

    run, _ = await asked(store, Script((call("hangs", of="x"),)), Toy("hangs", hangs), max_seconds=0.05)
    assert run.end.outcome == "deadline"
    started.clear()
    events: list[AgentEvent] = []
    given = parts(store, Script((call("hangs", of="y"),)), Toy("hangs", hangs))
    task = asyncio.create_task(answer_question("Which?", given, AgentSettings(), events.append))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(events[-1], Ended) and events[-1].outcome == "cancelled"
    for text in ("  ", "why " * 10_000):
        with pytest.raises(InvalidArgumentError):
            await asked(store, Script(answer("x")), text=text)
