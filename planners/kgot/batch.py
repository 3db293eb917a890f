"""Many tasks of a file: handed out one by one to workers, a store, a sandbox and a journal each; a failed task stops nothing."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import read_bounded, write_file
from ontology.json_values import canonical_text, first_error
from planners.journal.run_journal import ModelUse, RunJournal, ToolUse, account_of, open_run_journal
from planners.kgot.kgot_controller import KgotRun
from planners.kgot.kgot_task import KgotTask
from planners.kgot.recorded_run import SolveParts, solve_recorded
from planners.kgot.tools.tool_set import NOT_INSTALLED

__all__ = [
    "BatchTask",
    "OpenParts",
    "TaskResult",
    "finished_before",
    "journal_path",
    "read_tasks",
    "result_path",
    "run_batch",
    "solve_in_folder",
]

_LOG = logging.getLogger(__name__)
_REMEDY = "Write a JSON object a line: id, question, and perhaps files, answer, level, in_order"
_TO_GO_ON = ("failed", "model", "budget", "deadline", "cancelled")  # outcomes of tasks that the same command runs again
_LACKS = {
    "call_ended": ("status", (NOT_INSTALLED,)),
    **dict.fromkeys(
        ("sandbox_failed", "graph_failed"), ("error", ("IsolationError", "MissingExtraError", "StorageError"))
    ),
    **dict.fromkeys(("find_failed", "call_failed"), ("code", ("DEADLINE_EXCEEDED", "UNAVAILABLE"))),
}
"""Kind of record → its member, and the values of it that say that the machine or a service was not there."""


class BatchTask(BaseModel):
    """One task of several, a line of a file.

    :param answer: the right one; empty where it is not known.
    :param level: how hard it is, 1 to 3; 0 where that is not known.
    :param in_order: whether the order of a list in the answer counts.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")  # it names files
    question: str = Field(min_length=1)
    files: tuple[Path, ...] = ()
    answer: str = ""
    level: int = 0
    in_order: bool = False

    @property
    def task(self) -> KgotTask:
        """What is to be solved."""
        return KgotTask(question=self.question, files=self.files)


def read_tasks(path: Path) -> tuple[BatchTask, ...]:
    """Read tasks, a JSON object a line.

    :param path: names of files in it are looked for in its folder, and in a folder ``files`` there.
    :raises InvalidArgumentError: when it cannot be read, a line is no task, or two have one id.
    """
    try:
        lines = read_bounded(path, 2**30).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = f"the file cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name a file of tasks") from error
    tasks: dict[str, BatchTask] = {}
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        subject = f"{path}:{n}"
        try:
            task = BatchTask.model_validate(json.loads(line))
        except ValidationError as error:
            raise InvalidArgumentError(first_error(error), subject=subject, remedy=_REMEDY) from error
        except (ValueError, RecursionError) as error:
            raise InvalidArgumentError("this is no JSON", subject=subject, remedy=_REMEDY) from error
        if task.id in tasks:
            raise InvalidArgumentError(f"two tasks have the id {task.id}", subject=subject, remedy="Rename one")
        files = tuple(_file(path.parent, name, subject) for name in task.files)
        tasks[task.id] = task.model_copy(update={"files": files})
    if not tasks:
        raise InvalidArgumentError("there is no task in it", subject=str(path), remedy=_REMEDY)
    return tuple(tasks.values())


def _file(folder: Path, name: Path, subject: str) -> Path:
    """Return a file of the folder: a file of tasks, which may be somebody else's, reaches nothing outside of it, by no link either."""
    try:
        found = next((path for path in (folder / name, folder / "files" / name) if path.is_file()), None)
        is_inside = found is None or found.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a name too long, one with NUL or a lone surrogate, a loop of links
        found, is_inside = None, True
    is_inside = is_inside and not name.is_absolute() and ".." not in name.parts
    if found is None or not is_inside:
        problem = f"its file {str(name)!r} is {'not there' if is_inside else 'not in the folder of the tasks'}"
        raise InvalidArgumentError(problem, subject=subject, remedy="Put it beside the tasks")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What came of a task.

    :param outcome: of the run, see :class:`planners.kgot.kgot_controller.KgotRun`; ``failed`` where an error ended it.
    :param error: that ended it.
    :param again: whether the machine or a service kept it from an answer, so that another attempt may give one.
    :param seconds: that the run took, in all processes that ended properly.
    """

    id: str
    answer: str = ""
    outcome: str = "failed"
    missing: str = ""
    error: str = ""
    again: bool = False
    seconds: float = 0.0
    model: ModelUse = field(default_factory=ModelUse)
    by_step: Mapping[str, ModelUse] = field(default_factory=dict)
    by_tool: Mapping[str, ToolUse] = field(default_factory=dict)


_RESULT: TypeAdapter[TaskResult] = TypeAdapter(TaskResult)


def _lacks_something(journal: RunJournal) -> bool:
    """Return whether another attempt may go better when a package, an isolation, a model, a service or a store is there that was not.

    A model counts that never answered: one that failed now and then was reached.
    """
    kinds = set()
    for record in journal.records:
        kinds.add(record.kind)
        member, values = _LACKS.get(record.kind, ("", ()))
        if record.data.get(member) in values:
            return True
    return "model_failed" in kinds and "model_ended" not in kinds


OpenParts: TypeAlias = Callable[[BatchTask, RunJournal], AbstractAsyncContextManager[SolveParts]]
"""Opens what a task is solved with: a store, a sandbox and tools of its own."""


async def run_batch(
    tasks: Iterable[BatchTask],
    solve: Callable[[BatchTask], Awaitable[TaskResult]],
    *,
    workers: int,
    observe: Callable[[TaskResult], object] = lambda result: None,
) -> list[TaskResult]:
    """Solve tasks and return their results in order.

    :param workers: how many tasks are solved at once; whoever is done takes the next one.
    :param observe: gets each result when it is there.
    """
    free = asyncio.Semaphore(max(1, workers))

    async def one(task: BatchTask) -> TaskResult:
        async with free:
            result = await solve(task)
        observe(result)
        return result

    working = [asyncio.create_task(one(task)) for task in tasks]
    try:
        return await asyncio.gather(*working)
    finally:  # one that cannot write its result ends all
        for each in working:
            each.cancel()
        await asyncio.gather(*working, return_exceptions=True)


async def solve_in_folder(task: BatchTask, folder: Path, parts: OpenParts) -> TaskResult:
    """Solve a task with a journal in a folder, and write its result there. A task that has ended is not run again, but where the machine or
    a service kept it from an answer: its journal is removed and begun anew.

    :raises StorageError: when the result cannot be written.
    """
    known = _known(task.id, folder)
    if known is not None and _is_final(known):
        return known
    if known is not None and known.again:
        journal_path(folder, task.id).unlink(missing_ok=True)
    try:
        with open_run_journal(journal_path(folder, task.id)) as journal:
            run, error = await _solved(task, journal, parts)
            account = account_of(journal.records)
            took = [each.data["seconds"] for each in journal.records if each.kind in ("run_ended", "run_stopped")]
            result = TaskResult(
                id=task.id,
                **({"answer": run.answer, "outcome": run.outcome, "missing": run.missing} if run is not None else {}),
                error=error,
                again=not (run and run.answer) and _lacks_something(journal),
                seconds=round(sum(took), 6),
                model=account.model,
                by_step=account.by_step,
                by_tool=account.by_tool,
            )
    except (EgotoolsError, ClientError) as failure:  # of the journal itself
        result = TaskResult(id=task.id, error=str(failure))
    write_file(result_path(folder, task.id), canonical_text(asdict(result)))
    return result


async def _solved(task: BatchTask, journal: RunJournal, parts: OpenParts) -> tuple[KgotRun | None, str]:
    """Solve a task; return its run, or the error that ended it."""
    try:
        async with parts(task, journal) as opened:
            return await solve_recorded(task.task, journal, opened), ""
    except (EgotoolsError, ClientError) as error:
        return None, str(error)
    except Exception as error:  # the other tasks are solved
        _LOG.exception("task %s", task.id)
        return None, f"{type(error).__name__}: {error}"


def journal_path(folder: Path, id_: str) -> Path:
    """Return the journal of a task of a batch."""
    return folder / "journals" / f"{id_}.jsonl"


def result_path(folder: Path, id_: str) -> Path:
    """Return the result of a task of a batch: in a folder of its own, where no id is the name of the report."""
    return folder / "results" / f"{id_}.json"


def finished_before(tasks: Iterable[BatchTask], folder: Path) -> int:
    """Return how many tasks of a batch are not run again."""
    known = (_known(task.id, folder) for task in tasks)
    return sum(each is not None and _is_final(each) for each in known)


def _is_final(result: TaskResult) -> bool:
    return not result.again and result.outcome not in _TO_GO_ON


def _known(id_: str, folder: Path) -> TaskResult | None:
    """Return the result of an earlier command; None where there is none that can be read, or its journal is gone."""
    try:
        found = _RESULT.validate_json(result_path(folder, id_).read_bytes())
    except (OSError, ValidationError):
        return None
    return found if journal_path(folder, id_).is_file() else None
