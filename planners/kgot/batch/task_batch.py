"""Many tasks: handed out one by one to workers, a store, a sandbox and a journal each; a failed task stops nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

from pydantic import TypeAdapter, ValidationError

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError
from ontology.files import write_file
from ontology.json_object import canonical_text
from planners.journal.run_journal import RunJournal, open_run_journal
from planners.kgot.batch.task_file import BatchTask
from planners.kgot.batch.task_result import TaskResult, task_result
from planners.kgot.recorded_run import SolveParts, run_is_ended, solve_recorded

__all__ = [
    "OpenParts",
    "SolveTask",
    "finished_before",
    "journal_path",
    "result_path",
    "run_batch",
    "solve_in_folder",
]

_LOG = logging.getLogger(__name__)
OpenParts: TypeAlias = Callable[[BatchTask, RunJournal], AbstractAsyncContextManager[SolveParts]]
"""Opens what a task is solved with: a store, a sandbox and tools of its own."""
SolveTask: TypeAlias = Callable[[BatchTask], Awaitable[TaskResult]]
_RESULT: TypeAdapter[TaskResult] = TypeAdapter(TaskResult)
_TO_GO_ON = ("failed", "model", "budget", "deadline", "cancelled")  # outcomes of tasks that the same command runs again


async def run_batch(
    tasks: Iterable[BatchTask],
    solve: SolveTask,
    *,
    workers: int,
    observe: Callable[[TaskResult], object] = lambda result: None,
) -> list[TaskResult]:
    """Solve tasks and return their results in order.

    :param workers: how many tasks are solved at once; whoever is done takes the next one.
    :param observe: gets each result when it is there.
    """
    given = list(tasks)
    waiting = iter(given)
    results: dict[str, TaskResult] = {}

    async def work() -> None:
        for each in waiting:  # shared: each task is handed out once
            results[each.id] = await solve(each)
            observe(results[each.id])

    working = [asyncio.create_task(work()) for _ in range(max(1, min(workers, len(given))))]
    try:
        await asyncio.gather(*working)
    finally:  # one that cannot write its result ends all
        for each in working:
            each.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return [results[each.id] for each in given]


async def solve_in_folder(task: BatchTask, folder: Path, parts: OpenParts) -> TaskResult:
    """Solve a task with a journal in a folder, and write its result there. A task that has ended is not run again, but where the machine or
    a service kept it from an answer: its journal is removed and begun anew.

    :raises StorageError: when the result cannot be written.
    """
    error = ""
    known = _known(task.id, folder)
    if known is not None and known.again:
        journal_path(folder, task.id).unlink(missing_ok=True)
    try:
        with open_run_journal(journal_path(folder, task.id)) as journal:
            if not run_is_ended(journal):
                error = await _solved(task, journal, parts)
            result = task_result(task.id, journal, error)
    except (EgotoolsError, ClientError) as failure:  # of the journal itself
        result = TaskResult(id=task.id, error=str(failure))
    write_file(result_path(folder, task.id), canonical_text(result.to_json()))
    return result


async def _solved(task: BatchTask, journal: RunJournal, parts: OpenParts) -> str:
    """Solve a task; return the error that ended it, or empty."""
    try:
        async with parts(task, journal) as opened:
            await solve_recorded(task.task, journal, opened)
    except (EgotoolsError, ClientError) as error:
        return str(error)
    except Exception as error:  # the other tasks are solved
        _LOG.exception("task %s", task.id)
        return f"{type(error).__name__}: {error}"
    return ""


def journal_path(folder: Path, id_: str) -> Path:
    """Return the journal of a task of a batch."""
    return folder / "journals" / f"{id_}.jsonl"


def result_path(folder: Path, id_: str) -> Path:
    """Return the result of a task of a batch: in a folder of its own, where no id is the name of the report."""
    return folder / "results" / f"{id_}.json"


def finished_before(tasks: Iterable[BatchTask], folder: Path) -> int:
    """Return how many tasks of a batch are not run again."""
    known = (_known(task.id, folder) for task in tasks if journal_path(folder, task.id).is_file())
    return sum(each is not None and not each.again and each.outcome not in _TO_GO_ON for each in known)


def _known(id_: str, folder: Path) -> TaskResult | None:
    """Return the result of an earlier command; None where there is none that can be read."""
    try:
        return _RESULT.validate_json(result_path(folder, id_).read_bytes())
    except (OSError, ValidationError):
        return None
