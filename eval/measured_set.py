"""What was measured: labelled requests with the answers of each system; and its files, enough for a report or a comparison.

In a folder of results::

    set.json             the requests, and the names of the systems
    runs/<name>.json     the header of a run: all of its fields except the answers
    runs/<name>.jsonl    its answers, appended one by one: id, tools, ms, fallbacks, error, abstained

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

from pydantic import Field, PlainSerializer, TypeAdapter, ValidationError

from eval.graph_quality import GraphQuality
from eval.queries import QuerySet
from ontology.errors import DocumentError, NotFoundError
from ontology.files import write_file
from ontology.json_values import first_error

SET_FILE = "set.json"
_log = logging.getLogger(__name__)
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
_AGAIN = "Run the evaluation again"
_REMEDY = f"{_AGAIN}: the file is damaged, or was written by another release of egotools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one request."""

    query_id: Annotated[str, Field(alias="id")]
    tools: tuple[str, ...]  # tool ids, best first; empty when there was no answer
    ms: Mapping[str, float] = field(default_factory=dict)  # map from stage to milliseconds, with ``total``
    fallbacks: tuple[str, ...] = ()  # parts that the system left out, and why
    error: str = ""  # why there is no answer, or empty
    abstained: bool = False  # whether it says that no tool serves the request


@dataclass(frozen=True, kw_only=True)
class Run:
    """All answers of one system to one set of requests."""

    system: str
    # what the answers depend on in addition to the requests; ``config_hash`` is its SHA-256, 12 hex digits
    config: Mapping[str, Any]
    config_hash: str
    snapshot_id: str
    queries_sha256: str
    k: int  # maximum number of tools in an answer
    # by query id; a request without an answer is absent or has an ``error``, and scores 0 in both cases
    answers: Mapping[str, Answer]
    failure: str = ""  # why the run stopped before its end, or empty

    def answered(self, query_id: str) -> Answer | None:
        """The answer to a request, perhaps an empty one; None where there is none."""
        answer = self.answers.get(query_id)
        return None if answer is None or answer.error else answer

    def tools_of(self, query_id: str) -> tuple[str, ...]:
        """The tools of the answer to a request, best first; none where there is no answer."""
        answer = self.answered(query_id)
        return () if answer is None else answer.tools


@dataclass(frozen=True, kw_only=True)
class MeasuredSet:
    """One set of requests with the runs of every system: the input of all figures."""

    queries: QuerySet
    # In the file the names of the systems stand for their runs.
    runs: Annotated[tuple[Run, ...], PlainSerializer(lambda runs: [run.system for run in runs])]
    tools: int  # size of the catalogue
    snapshot_id: str
    # map from query id to gold tools that the catalogue does not have (``--allow-missing``). They stay in the gold set,
    # so such a request can never be complete
    missing_gold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    graph: GraphQuality | None = None  # quality of the tool graph; None when it was not measured


_ANSWER, _RUN, _SET = TypeAdapter(Answer), TypeAdapter(Run), TypeAdapter(MeasuredSet)


def run_named(runs: Iterable[Run], system: str, subject: str) -> Run:
    """Return the run of one system; a NotFoundError where there is none, whose remedy lists the systems."""
    known = {run.system: run for run in runs}
    if system not in known:
        remedy = f"There are: {', '.join(known) or 'none'}"
        raise NotFoundError(f"there is no run of the system {system!r}", subject=subject, remedy=remedy)
    return known[system]


def run_files(folder: Path, system: str) -> tuple[Path, Path]:
    """Return the files of a system's header and answers; two systems never share a file."""
    safe = _UNSAFE.sub("_", system).lstrip(".")
    if safe != system:  # another system may have exactly this name
        safe += f"-{hashlib.sha256(system.encode()).hexdigest()[:8]}"
    return folder / "runs" / f"{safe}.json", folder / "runs" / f"{safe}.jsonl"


def read_run(folder: Path, system: str) -> Run:
    """Read the run of one system; a NotFoundError where there is none, a DocumentError where its files are damaged."""
    return run_named(read_runs(folder), system, str(folder))


def read_runs(folder: Path) -> tuple[Run, ...]:
    """Read every run of a folder, sorted by the name of its system."""
    runs = []
    for header in sorted((folder / "runs").glob("[!.]*.json")):
        file = header.with_suffix(".jsonl")
        answers, damaged = read_answers(file)
        if damaged:
            remedy = f"{_AGAIN}; it sends these requests again"
            raise DocumentError("a line is damaged", subject=f"{file}:{damaged[0]}", remedy=remedy)
        runs.append(read_header(header, answers))
    return tuple(sorted(runs, key=lambda run: run.system))


def read_header(path: Path, answers: Iterable[Answer] = ()) -> Run:
    """Read the header of a run and add these answers; of several answers to one request, the last one counts.

    :raises DocumentError: when the header cannot be read.
    """
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        return _RUN.validate_python(header | {"answers": {answer.query_id: answer for answer in answers}})
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise _unreadable("the header of a run", path, error) from error


def read_answers(path: Path) -> tuple[list[Answer], list[int]]:
    """Read the complete answers of a file, in order, and the numbers of its damaged lines; both empty where there is no
    file. An incomplete last line is logged and left out: its request counts as not sent."""
    try:
        *lines, torn = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], []
    if torn:
        _log.warning("%s: the last line is incomplete and was dropped; its request counts as not sent", path)
    answers, damaged = [], []
    for number, line in enumerate(lines, start=1):
        try:
            answers.append(_ANSWER.validate_python(json.loads(line)))
        except (ValueError, RecursionError):
            damaged.append(number)
    return answers, damaged


def answer_line(answer: Answer) -> str:
    """Return the line of an answer, with its newline. It is ASCII, so that any text of a system can be written."""
    return json.dumps(_ANSWER.dump_python(answer, by_alias=True)) + "\n"


def write_header(path: Path, run: Run) -> None:
    """Write all fields of a run except its answers.

    :raises StorageError: when the file cannot be written.
    """
    write_file(path, json.dumps(_RUN.dump_python(run, exclude={"answers"}), indent=1) + "\n")


def write_measured(folder: Path, measured: MeasuredSet) -> None:
    """Write the runs, which replace earlier ones of their systems, then ``set.json``.

    :raises StorageError: when a file cannot be written.
    """
    for run in measured.runs:
        header, answers = run_files(folder, run.system)
        write_file(answers, "".join(map(answer_line, run.answers.values())))
        write_header(header, run)
    value = _SET.dump_python(measured, mode="json", by_alias=True)
    write_file(folder / SET_FILE, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_measured(folder: Path) -> MeasuredSet:
    """Read the files of :func:`write_measured`.

    :raises NotFoundError: when the folder has no results.
    :raises DocumentError: when they are damaged, or a run belongs to another set.
    """
    path = folder / SET_FILE
    if not path.is_file():
        remedy = "Name the folder that egotools eval wrote with --out"
        raise NotFoundError("there are no results of an evaluation here", subject=str(folder), remedy=remedy)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        measured = _SET.validate_python(value | {"runs": [read_run(folder, system) for system in value["runs"]]})
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _unreadable("the results", path, error) from error
    for run in measured.runs:
        if (run.queries_sha256, run.snapshot_id) != (measured.queries.sha256, measured.snapshot_id):
            problem = f"the run of {run.system!r} belongs to other requests or to another snapshot"
            raise DocumentError(problem, subject=str(path), remedy=_AGAIN)
    return measured


def _unreadable(what: str, path: Path, error: Exception) -> DocumentError:
    if isinstance(error, ValidationError):
        problem = first_error(error)
    elif isinstance(error, KeyError):
        problem = f"{error} is missing"
    else:
        problem = "it has another form" if isinstance(error, TypeError) else str(error)
    return DocumentError(f"{what} cannot be read: {problem}", subject=str(path), remedy=_REMEDY)
