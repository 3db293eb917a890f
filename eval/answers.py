"""The answers of a system, and their file format: one header, and one line of JSON for each answer.

In a folder of results::

    runs/<name>.json     the header: all fields of a Run except its answers
    runs/<name>.jsonl    the answers, appended one by one: id, tools, ms, fallbacks, error, abstained

A request that was sent again has several lines; the last one counts. A last line without a newline is incomplete, because
the process was killed; it is dropped. The file name comes from the name of the system; the header has the exact name.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from ontology.errors import DocumentError, NotFoundError
from ontology.files import write_file
from ontology.json_values import first_error

__all__ = [
    "READ_REMEDY",
    "Answer",
    "DamagedLine",
    "Run",
    "answer_line",
    "read_answers",
    "read_header",
    "read_run",
    "read_runs",
    "reading_problem",
    "run_files",
    "write_header",
    "write_run",
]

_log = logging.getLogger(__name__)
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
_AGAIN = "Run the evaluation again"
READ_REMEDY = f"{_AGAIN}: the file is damaged, or was written by another release of egotools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one request.

    :param tools: tool ids, best first; empty when there was no answer.
    :param ms: map from stage to milliseconds, with ``total``.
    :param fallbacks: parts that the system left out, and why.
    :param error: why there is no answer, or empty.
    :param abstained: whether it says that no tool serves the request.
    """

    query_id: Annotated[str, Field(alias="id")]
    tools: tuple[str, ...]
    ms: Mapping[str, float] = field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()
    error: str = ""
    abstained: bool = False


@dataclass(frozen=True, kw_only=True)
class Run:
    """All answers of one system to one set of requests.

    :param config: what the answers depend on in addition to the requests; ``config_hash`` is its SHA-256, 12 hex digits.
    :param k: maximum number of tools in an answer.
    :param answers: by query id; a request without an answer is absent or has an ``error``, and scores 0 in both cases.
    :param resources: the cost of the run: ``build_s``, ``load_s``, ``warm_up_s``, ``resident_bytes``, ``peak_bytes``,
        ``tokens``, ``usd``; only what was measured.
    :param failure: why the run stopped before its end, or empty.
    """

    system: str
    config: Mapping[str, Any]
    config_hash: str
    snapshot_id: str
    queries_sha256: str
    k: int
    answers: Mapping[str, Answer]
    resources: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line, numbered from 1, that is not an answer; ``torn`` when it is the last one and has no newline."""

    line: int
    torn: bool


_ANSWER = TypeAdapter(Answer)
_RUN = TypeAdapter(Run)


def run_files(folder: Path, system: str) -> tuple[Path, Path]:
    """Return the files of a system's header and answers; two systems never share a file."""
    safe = _UNSAFE.sub("_", system).lstrip(".")
    if safe != system:  # another system may have exactly this name
        safe += f"-{hashlib.sha256(system.encode()).hexdigest()[:8]}"
    return folder / "runs" / f"{safe}.json", folder / "runs" / f"{safe}.jsonl"


def read_run(folder: Path, system: str) -> Run:
    """Read the run of one system.

    :raises NotFoundError: when there is none; the remedy lists the systems with a run.
    :raises DocumentError: when its files are damaged.
    """
    runs = read_runs(folder)
    found = next((run for run in runs if run.system == system), None)
    if found is None:
        known = ", ".join(run.system for run in runs) or "none"
        raise NotFoundError("there is no run of this system", subject=system, remedy=f"There are: {known}")
    return found


def read_runs(folder: Path) -> tuple[Run, ...]:
    """Read every run of a folder, sorted by the name of its system.

    :raises DocumentError: when a file is damaged.
    """
    headers = sorted((folder / "runs").glob("*.json"))
    runs = [_read(header, header.with_suffix(".jsonl")) for header in headers if not header.name.startswith(".")]
    return tuple(sorted(runs, key=lambda run: run.system))


def _read(header: Path, file: Path) -> Run:
    answers, damaged = read_answers(file)
    lines = [each.line for each in damaged if not each.torn]
    if lines:
        raise DocumentError(
            "a line is damaged",
            subject=f"{file}:{lines[0]}",
            remedy=f"{_AGAIN}; it sends these requests again",
        )
    return read_header(header, answers)


def read_header(path: Path, answers: Iterable[Answer] = ()) -> Run:
    """Read the header of a run and add these answers; of several answers to one request, the last one counts.

    :raises DocumentError: when the header cannot be read.
    """
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        return _RUN.validate_python(header | {"answers": {answer.query_id: answer for answer in answers}})
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise DocumentError(
            f"the header of a run cannot be read: {reading_problem(error)}", subject=str(path), remedy=READ_REMEDY
        ) from error


def reading_problem(error: Exception) -> str:
    """Return in one line what is wrong with a JSON file of results."""
    if isinstance(error, ValidationError):
        return first_error(error)
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, TypeError):
        return "it has another form"
    return str(error)


def read_answers(path: Path) -> tuple[list[Answer], list[DamagedLine]]:
    """Read the complete answers of a file, in order, and its damaged lines; both empty where there is no file."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], []
    answers, damaged = [], []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            answers.append(_ANSWER.validate_python(json.loads(line)))
        except (ValueError, RecursionError):
            damaged.append(DamagedLine(line=number, torn=False))
    if lines[-1]:
        _log.warning("%s: the last line is incomplete and was dropped; its request counts as not sent", path)
        damaged.append(DamagedLine(line=len(lines), torn=True))
    return answers, damaged


def answer_line(answer: Answer) -> str:
    """Return the line of an answer, with its newline. It is ASCII, so that any text of a system can be written."""
    return json.dumps(_ANSWER.dump_python(answer, by_alias=True)) + "\n"


def write_header(path: Path, run: Run) -> None:
    """Write all fields of a run except its answers.

    :raises StorageError: when the file cannot be written.
    """
    write_file(path, json.dumps(_RUN.dump_python(run, exclude={"answers"}), indent=1) + "\n")


def write_run(folder: Path, run: Run) -> None:
    """Write a whole run; an earlier run of the system is replaced.

    :raises StorageError: when a file cannot be written.
    """
    header, answers = run_files(folder, run.system)
    write_file(answers, "".join(map(answer_line, run.answers.values())))
    write_header(header, run)
