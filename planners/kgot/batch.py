"""Many tasks of a file: handed out to workers, a store, a sandbox and a journal each; and their report (appendix D of the paper).

A failed task stops nothing. An answer is the expected one where it is the same number, the same members of a list, or the same text without
case, accents, articles, marks and spaces.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import read_bounded, write_file
from ontology.json_values import canonical_text, first_error
from planners.journal.run_journal import ModelUse, RunJournal, account_of, open_run_journal
from planners.kgot.kgot_task import KgotTask
from planners.kgot.recorded_run import SolveParts, solve_recorded

_LOG = logging.getLogger(__name__)
_REMEDY = "Write a JSON object a line: id, question, and perhaps files, answer, level, in_order"
_TO_GO_ON = ("failed", "model", "budget", "deadline", "cancelled")  # outcomes of tasks that the same command runs again
# In the order of reports. *Forced* answers were given at the limit of steps; *other error* is no answer; of *not
# checked* ones the right answer is not known.
_CATEGORIES = ("correct", "correct forced", "wrong forced", "wrong", "other error", "not checked")
_FORCED = ("forced query", "forced answer")

_SEPARATORS = re.compile(r"\s*[;\n]\s*|,\s+|,(?=\D)|\s+and\s+(?=\S+$)")
_SIGN = re.compile(r"[$€£¥%]|(?<=\d),(?=\d{3}(?!\d))")  # what may stand beside a number, or between its thousands
_REL = 1e-9  # of two numbers that are one: more than what a conversion to decimal text loses


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
        subject, problem = f"{path}:{n}", ""
        try:
            task = BatchTask.model_validate(json.loads(line))
        except ValidationError as error:
            problem = first_error(error)
        except (ValueError, RecursionError):
            problem = "this is no JSON"
        if problem:
            raise InvalidArgumentError(problem, subject=subject, remedy=_REMEDY)
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
    """What came of a task."""

    id: str
    answer: str = ""
    outcome: str = "failed"  # of the run, see KgotRun; ``failed`` where an error ended it
    missing: str = ""
    error: str = ""  # that ended it
    seconds: float = 0.0  # that the run took, in all processes that ended properly
    model: ModelUse = field(default_factory=ModelUse)
    tool_calls: int = 0


_RESULT: TypeAdapter[TaskResult] = TypeAdapter(TaskResult)

# Opens what a task is solved with: a store, a sandbox and tools of its own
OpenParts: TypeAlias = Callable[[BatchTask, RunJournal], AbstractAsyncContextManager[SolveParts]]


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

    try:
        async with asyncio.TaskGroup() as group:
            working = [group.create_task(one(task)) for task in tasks]
    except BaseExceptionGroup as errors:  # one that cannot write its result ends all
        raise errors.exceptions[0] from None
    return [each.result() for each in working]


async def solve_in_folder(task: BatchTask, folder: Path, parts: OpenParts) -> TaskResult:
    """Solve a task with a journal in a folder, and write its result there. A task that has ended is not run again.

    :raises StorageError: when the result cannot be written.
    """
    if known := _known(task.id, folder):
        return known
    told: dict[str, str] = {}
    try:
        with open_run_journal(journal_path(folder, task.id)) as journal:
            try:
                async with parts(task, journal) as opened:
                    run = await solve_recorded(task.task, journal, opened)
                told = {"answer": run.answer, "outcome": run.outcome, "missing": run.missing}
            except (EgotoolsError, ClientError) as failure:
                told["error"] = str(failure)
            except Exception as failure:  # the other tasks are solved
                _LOG.exception("task %s", task.id)
                told["error"] = f"{type(failure).__name__}: {failure}"
            account = account_of(journal.records)
            ends = (each.data["seconds"] for each in journal.records if each.kind in ("run_ended", "run_stopped"))
            seconds = round(sum(ends), 6)
            result = TaskResult(id=task.id, seconds=seconds, model=account.model, tool_calls=account.calls, **told)
    except (EgotoolsError, ClientError) as failure:  # of the journal itself
        result = TaskResult(id=task.id, error=str(failure))
    write_file(result_path(folder, task.id), canonical_text(asdict(result)))
    return result


def journal_path(folder: Path, id_: str) -> Path:
    """Return the journal of a task of a batch."""
    return folder / "journals" / f"{id_}.jsonl"


def result_path(folder: Path, id_: str) -> Path:
    """Return the result of a task of a batch: in a folder of its own, where no id is the name of the report."""
    return folder / "results" / f"{id_}.json"


def finished_before(tasks: Iterable[BatchTask], folder: Path) -> int:
    """Return how many tasks of a batch are not run again."""
    return sum(_known(task.id, folder) is not None for task in tasks)


def _known(id_: str, folder: Path) -> TaskResult | None:
    """Return the result of a task that an earlier command ended; None where there is none, or its journal is gone."""
    try:
        found = _RESULT.validate_json(result_path(folder, id_).read_bytes())
    except (OSError, ValidationError):
        return None
    return found if journal_path(folder, id_).is_file() and found.outcome not in _TO_GO_ON else None


def answer_matches(given: str, expected: str, *, in_order: bool = False) -> bool:
    """Return whether an answer is the expected one.

    :param expected: a number, beside which a sign of a currency or ``%`` may stand; a list with commas or semicolons; or another text,
        of which case, accents, articles, marks and spaces do not count.
    :param in_order: whether the order of a list counts.
    """
    wanted = _number(expected)
    if wanted is not None:
        found = _number(given)
        return found is not None and math.isclose(found, wanted, rel_tol=_REL, abs_tol=_REL)
    if _plain(given) == _plain(expected):
        return True
    items, left = (
        [each for each in _SEPARATORS.split(text.strip().rstrip(".")) if each.strip()] for text in (expected, given)
    )
    if len(items) < 2 or len(items) != len(left):
        return False
    if in_order:
        return all(map(answer_matches, left, items))
    for item in items:  # each member has one of its own among the others
        match = next((each for each in left if answer_matches(each, item)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _number(text: str) -> float | None:
    """Return the number that a text is; None for other texts."""
    try:
        number = float(_SIGN.sub("", unicodedata.normalize("NFKC", text)).strip().rstrip("."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(each if each.isalnum() else " " for each in apart if not unicodedata.combining(each))
    return " ".join(word for word in letters.split() if word not in ("a", "an", "the"))


def batch_report(tasks: Sequence[BatchTask], results: Sequence[TaskResult]) -> dict[str, Any]:
    """Return the report of results as JSON values, in the order of their tasks. A task without a result counts as an error.

    Its keys: ``tasks``, ``categories`` (counts), ``total`` (what models took), ``rows``.
    """
    known = {result.id: result for result in results}
    rows: list[dict[str, Any]] = []
    for task in tasks:
        result = known.get(task.id, TaskResult(id=task.id, error="it was not run"))
        right = answer_matches(result.answer, task.answer, in_order=task.in_order)
        category = ("correct" if right else "wrong") + (" forced" if result.outcome in _FORCED else "")
        category = "other error" if not result.answer else category if task.answer else "not checked"
        own = {"id": task.id, "level": task.level, "category": category, "expected": task.answer}
        told = ("answer", "outcome", "missing", "error", "seconds", "tool_calls")
        rows.append(own | {name: getattr(result, name) for name in told} | {"model": asdict(result.model)})
    found = [row["category"] for row in rows]
    return {
        "tasks": len(rows),
        "categories": {name: found.count(name) for name in _CATEGORIES},
        "total": {name: sum(row["model"][name] for row in rows) for name in asdict(ModelUse())},
        "rows": rows,
    }
