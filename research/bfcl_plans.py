"""The plans of the turns of BFCL's tasks, executed: see :mod:`research.bfcl_calls`."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from egotools import AsyncClient, Tool
from planners.calls.execute_plan import execute_plan
from planners.calls.tool_access import CallPipeline, PythonInvoker, always
from research.bfcl_tasks import GoldCall, GoldTask, answer_of, as_modules, objects_of, same_state

__all__ = ["OUTCOMES", "PlannedTurn", "planned_turns"]

_OUTCOMES = {"made": "all calls made", "value missing": "a value is missing", "failed": "a call failed"}
OUTCOMES = tuple(_OUTCOMES.values())
"""How the execution of a plan ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTurn:
    """What came of the plan of a turn.

    :param gold_calls: how many there are.
    :param changes: whether the gold calls change the objects.
    :param same_tools: whether the plan's tools are the gold ones.
    :param same_calls: whether its calls are the gold calls, in their order, with their arguments.
    :param same_state: whether the objects are in the end as after the gold calls.
    :param outcome: of :data:`OUTCOMES`.
    """

    id: str
    gold_calls: int
    changes: bool
    same_tools: bool
    same_calls: bool
    same_state: bool
    outcome: str


async def planned_turns(
    client: AsyncClient, task: GoldTask, tools: Mapping[str, Tool], *, all_known: bool
) -> list[PlannedTurn]:
    """Plan each turn with calls, in the state that the gold calls before it have left, and execute the plan.

    :param all_known: whether the values of all gold calls of the turn are known; else without those that the user has not said and an
        earlier gold call of the task has answered: these the plan has to bind.
    """
    gold, answers, answered, said, done = objects_of(task), dict[str, Any](), set[str](), "", list[str]()
    found = []
    for number, turn in enumerate(task.turns):
        said += f" {turn.text}"
        if not turn.calls:
            continue
        before = copy.deepcopy(gold)
        earlier = dict(answers)
        for call in turn.calls:
            answers[call.tool] = answer_of(gold, call)
            answered.update(_texts(answers[call.tool]))
        have = _known(
            turn.calls, set() if all_known else {text for text in answered if text.casefold() not in said.casefold()}
        )
        plan = await client.plan([turn.calls[-1].tool], query=turn.text, done=list(dict.fromkeys(done)), have=have)
        ours = copy.deepcopy(before)
        invoker = CallPipeline(PythonInvoker([], objects=as_modules(ours)), always)
        run = await execute_plan(plan, tools, invoker, have=have, answers=earlier)
        calls = [(call.step.tool_id, call.given.arguments) for call in run.calls if call.answer is not None]
        done += [call.tool for call in turn.calls]
        found.append(
            PlannedTurn(
                id=f"{task.id}.{number}",
                gold_calls=len(turn.calls),
                changes=not same_state(gold, before),
                same_tools=set(plan.tool_ids) == {call.tool for call in turn.calls},
                same_calls=calls == [(call.tool, dict(call.arguments)) for call in turn.calls],
                same_state=same_state(ours, gold),
                outcome=_OUTCOMES[run.outcome],
            )
        )
    return found


def _known(calls: Sequence[GoldCall], answered: Collection[str]) -> dict[str, str]:
    """The arguments of some calls as known values; of one name, that of the last call."""
    texts = {name: _text(value) for call in calls for name, value in call.arguments.items()}
    return {name: text for name, text in texts.items() if text not in answered}


def _texts(answer: Any) -> Iterator[str]:
    """Yield the single values in an answer, as texts."""
    if isinstance(answer, dict | list):
        for each in answer.values() if isinstance(answer, dict) else answer:
            yield from _texts(each)
    elif isinstance(answer, str | int | float) and not isinstance(answer, bool):
        yield _text(answer)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
