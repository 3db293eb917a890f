"""Files of tasks: JSON Lines with a question each, perhaps files that come with it, and perhaps the expected answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import InvalidArgumentError
from ontology.files import read_bounded
from ontology.first_error import first_error
from planners.kgot.kgot_task import KgotTask

__all__ = ["BatchTask", "read_tasks"]

_REMEDY = "Write a JSON object a line: id, question, and perhaps files, answer, level, in_order"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # it names files


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTask:
    """One task of several.

    :param expected: the right answer; empty where it is not known.
    :param level: how hard it is, 1 to 3; 0 where that is not known.
    :param in_order: whether the order of a list in the answer counts.
    """

    id: str
    task: KgotTask
    expected: str = ""
    level: int = 0
    in_order: bool = False


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    id: str = Field(pattern=f"^{_ID.pattern}$")
    question: str = Field(min_length=1)
    files: tuple[str, ...] = ()
    answer: str = ""
    level: int = 0
    in_order: bool = False


def read_tasks(path: Path) -> tuple[BatchTask, ...]:
    """Read tasks.

    :param path: names of files in it are looked for in its folder, and in a folder ``files`` there.
    :raises InvalidArgumentError: when it cannot be read, a line is no task, or two have one id.
    """
    tasks: dict[str, BatchTask] = {}
    for n, line in _lines(path):
        subject = f"{path}:{n}"
        row = _row(line, subject)
        if row.id in tasks:
            raise InvalidArgumentError(f"two tasks have the id {row.id}", subject=subject, remedy="Rename one")
        files = tuple(_file(path.parent, name, subject) for name in row.files)
        tasks[row.id] = BatchTask(
            id=row.id,
            task=KgotTask(question=row.question, files=files),
            expected=row.answer,
            level=row.level,
            in_order=row.in_order,
        )
    if not tasks:
        raise InvalidArgumentError("there is no task in it", subject=str(path), remedy=_REMEDY)
    return tuple(tasks.values())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        lines = read_bounded(path, 2**30).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = f"the file cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name a file of tasks") from error
    return ((n, line) for n, line in enumerate(lines, 1) if line.strip())


def _row(line: str, subject: str) -> _Row:
    try:
        value: Any = json.loads(line)
        return _Row.model_validate(value)
    except ValidationError as error:
        raise InvalidArgumentError(first_error(error), subject=subject, remedy=_REMEDY) from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError("this is no JSON", subject=subject, remedy=_REMEDY) from error


def _file(folder: Path, name: str, subject: str) -> Path:
    """Return a file of the folder: a file of tasks, which may be somebody else's, reaches nothing outside of it, by no link either."""
    given = Path(name)
    try:
        found = next((path for path in (folder / given, folder / "files" / given) if path.is_file()), None)
        is_inside = found is None or found.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a name too long, one with NUL or a lone surrogate, a loop of links
        found, is_inside = None, True
    if given.is_absolute() or ".." in given.parts or not is_inside:
        raise InvalidArgumentError(
            f"its file {name!r} is not in the folder of the tasks", subject=subject, remedy="Put it beside the tasks"
        )
    if found is None:
        raise InvalidArgumentError(f"its file {name!r} is not there", subject=subject, remedy="Put it beside the tasks")
    return found
