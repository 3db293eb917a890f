"""The multi-turn tasks of BFCL, called: ``python -m research.bfcl_calls [PACKAGE]``.

PACKAGE is a folder that ``pip install --no-deps --target PACKAGE bfcl-eval==2026.3.23 mpmath`` has filled (Apache-2.0, no dependency of the
project); it is left out where the package is installed. First the gold calls of each task are made through the invokers of the planners,
and the objects are compared with those after bfcl-eval's own execution. Then each turn is planned with the tool of its last gold call as
the goal, the plan is executed in the state before the turn, and its calls and the objects are compared with the gold ones.
"""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from egotools import AsyncClient, PermissionDeniedError, Tool, ToolRequestError
from ontology.files import write_rows
from planners.calls.tool_access import CallPipeline, PythonInvoker, never
from research.bfcl_plans import OUTCOMES, PlannedTurn, planned_turns
from research.bfcl_tasks import (
    GoldTask,
    as_modules,
    called_directly,
    find_package,
    objects_of,
    read_tasks,
    same_state,
    tool_rows,
)
from scripts.run_command import run_command
from services.server.process import server_process

_MOST = 12


@dataclass(slots=True, kw_only=True)
class CalledTask:
    """What came of the gold calls of a task.

    :param equal: whether the objects are those after bfcl-eval's own execution.
    :param untouched: whether nothing has changed when nobody confirms.
    :param calls: how many there are.
    :param same_answers: how many answered as bfcl-eval says.
    :param refused: the calls of which no request was made, and why.
    :param asked: the tools of the calls that wait for consent: whether each changed something.
    :param unasked: the tools of the other calls: likewise.
    """

    equal: bool = False
    untouched: bool = False
    calls: int = 0
    same_answers: int = 0
    refused: list[str] = field(default_factory=list)
    asked: list[tuple[str, bool]] = field(default_factory=list)
    unasked: list[tuple[str, bool]] = field(default_factory=list)


def main(
    package: Annotated[
        Path | None, typer.Argument(help="folder that holds bfcl_eval; left out where it is installed")
    ] = None,
) -> None:
    """Measure, and print what came of the calls and of the plans."""
    data = find_package(package)
    tasks = list(read_tasks(data))
    with tempfile.TemporaryDirectory(prefix="egotools-bfcl-") as folder:
        store = built(data, Path(folder))
        with server_process(store) as server:
            asyncio.run(_measure(server["address"], tasks))


def built(data: Path, folder: Path) -> Path:
    """Build the tools of the package, and return the store."""
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    write_rows(folder / "tools.jsonl", list(tool_rows(data)))
    build_snapshot([str(folder / "tools.jsonl")], folder / "store", encoder=load_encoder(DEFAULT_ENCODER))
    return folder / "store"


async def _measure(address: str, tasks: Sequence[GoldTask]) -> None:
    async with AsyncClient(address) as client:
        tools = {id_: await client.get_tool(id_, schema_format="none") async for id_ in client.tool_ids()}
        print(calls_report([await called(task, tools) for task in tasks]), flush=True)
        for all_known in (True, False):
            turns = [turn for task in tasks for turn in await planned_turns(client, task, tools, all_known=all_known)]
            print(plans_report(turns, all_known=all_known), flush=True)


async def called(task: GoldTask, tools: Mapping[str, Tool]) -> CalledTask:
    """Make the gold calls of a task through the invokers, and compare."""
    found, objects = CalledTask(), objects_of(task)
    asked: list[str] = []

    async def yes(tool: Tool, arguments: Mapping[str, Any]) -> bool:
        asked.append(tool.id)
        return True

    invoker = CallPipeline(PythonInvoker([], objects=as_modules(objects)), yes)
    expected, gold = called_directly(task)
    for call, answered in zip((call for turn in task.turns for call in turn.calls), expected, strict=True):
        before, questions = copy.deepcopy(objects), len(asked)
        found.calls += 1
        try:
            answer = await invoker.invoke(tools[call.tool], call.arguments)
        except ToolRequestError as error:
            found.refused.append(f"{task.id}: {call.text}: {error}")
            continue
        found.same_answers += _is_same_answer(answer.ok, answer.body, answered)
        kind = found.asked if len(asked) > questions else found.unasked
        kind.append((call.tool, not same_state(objects, before)))
    found.equal = same_state(objects, gold)
    found.untouched = await _is_untouched(task, tools)
    return found


async def _is_untouched(task: GoldTask, tools: Mapping[str, Tool]) -> bool:
    """Whether a task whose writes nobody confirms leaves its objects as they were."""
    objects = objects_of(task)
    invoker = CallPipeline(PythonInvoker([], objects=as_modules(objects)), never)
    for turn in task.turns:
        for call in turn.calls:
            try:
                await invoker.invoke(tools[call.tool], call.arguments)
            except (PermissionDeniedError, ToolRequestError):
                continue
    return same_state(objects, objects_of(task))


def _is_same_answer(ok: bool, body: Any, answered: str) -> bool:
    """Whether an answer is what bfcl-eval writes of it: JSON of an object, else the text of a Python value."""
    if not ok:
        return answered.startswith("Error during execution")
    if isinstance(body, str):
        return body == answered
    try:
        return bool(body == json.loads(answered))
    except ValueError:
        return str(body) == answered


def calls_report(tasks: Sequence[CalledTask]) -> str:
    """What came of the gold calls, as lines."""
    calls = sum(task.calls for task in tasks)
    refused = [each for task in tasks for each in task.refused]
    asked = [each for task in tasks for each in task.asked]
    unasked = [each for task in tasks for each in task.unasked]
    lines = [
        f"tasks whose objects are equal in the end: {sum(task.equal for task in tasks)} of {len(tasks)}",
        f"tasks that change nothing when nobody confirms: {sum(task.untouched for task in tasks)} of {len(tasks)}",
        f"calls that answer the same: {sum(task.same_answers for task in tasks)} of {calls}; refused: {len(refused)}",
        *(f"  {each}" for each in refused),
        f"calls that wait for consent: {len(asked)}, of which {sum(changed for _, changed in asked)} changed something",
        f"calls that do not: {len(unasked)}, of which {sum(changed for _, changed in unasked)} changed something",
        f"tools of calls that waited and changed nothing: {_counted(tool for tool, changed in asked if not changed)}",
        "",
        "| known values | turns | tools equal | calls equal | objects equal | objects equal, of turns that change them | all calls made | a value is missing | a call failed |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join(lines)


def plans_report(turns: Sequence[PlannedTurn], *, all_known: bool) -> str:
    """What came of the plans, as rows of a table: of all turns, of those with one gold call, and of those with more."""
    known = "all gold values of the turn" if all_known else "without what earlier calls have answered"
    parts = {
        "all turns": turns,
        "one gold call": [each for each in turns if each.gold_calls == 1],
        "more": [each for each in turns if each.gold_calls > 1],
    }
    return "\n".join(f"| {known}, {name} | {_row(part)} |" for name, part in parts.items())


def _row(turns: Sequence[PlannedTurn]) -> str:
    changing = [each for each in turns if each.changes]
    shares = [_share(turns, "same_tools"), _share(turns, "same_calls"), _share(turns, "same_state")]
    ended = Counter(each.outcome for each in turns)
    cells = [
        len(turns),
        *shares,
        f"{_share(changing, 'same_state')} of {len(changing)}",
        *(ended[each] for each in OUTCOMES),
    ]
    return " | ".join(map(str, cells))


def _share(turns: Sequence[PlannedTurn], name: str) -> str:
    return f"{sum(getattr(each, name) for each in turns) / max(1, len(turns)):.3f}"


def _counted(tools: Iterable[str]) -> str:
    return ", ".join(f"{tool} {count}" for tool, count in Counter(tools).most_common(_MOST))


if __name__ == "__main__":
    run_command(main)
