"""Answers of a system and their form on disk: one header, and one line of JSON an answered request.

In a folder of results::

    runs/<name>.json     the header: everything of a Run but its answers
    runs/<name>.jsonl    the answers, a row each, appended as they come: id, tools, ms, fallbacks, error

A request that was asked again has several rows; the last one holds. A last line without its end is what a killed
process leaves, and is dropped. The name of a system is made fit for a file name; the header has it as it is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError, NotFoundError
from ontology.files import write_file

__all__ = [
    "Answer",
    "Fault",
    "Run",
    "answer_line",
    "read_answers",
    "read_header",
    "read_run",
    "read_runs",
    "run_files",
    "write_header",
    "write_run",
]

_log = logging.getLogger(__name__)
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answered request.

    :param tools: tool ids, best first; empty when there was no answer.
    :param ms: stage → milliseconds, with ``total``.
    :param error: why there is no answer, or empty.
    """

    query_id: str
    tools: tuple[str, ...]
    ms: Mapping[str, float] = field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Run:
    """All answers of one system to one set of requests.

    :param config: what the answers depend on beside the requests; ``config_hash`` is its SHA-256, 12 hex digits.
    :param answers: by query id; a request without an answer is absent or has ``error``: either way it scores 0.
    :param k: how many tools each answer could hold at most.
    :param resources: what it cost: ``build_s``, ``load_s``, ``warm_up_s``, ``resident_bytes``, ``peak_bytes``,
        ``tokens``, ``usd``; only what was measured.
    :param died: why the run stopped before its end, or empty.
    """

    system: str
    config: Mapping[str, Any]
    config_hash: str
    snapshot_id: str
    queries_sha256: str
    k: int
    answers: Mapping[str, Answer]
    resources: Mapping[str, float] = field(default_factory=dict)
    died: str = ""


def run_files(folder: Path, system: str) -> tuple[Path, Path]:
    """Where the header and the answers of a system lie; two systems never share a file."""
    safe = _UNSAFE.sub("_", system).lstrip(".")
    if safe != system:  # what was made safe could be another system's name
        safe += f"-{hashlib.sha256(system.encode()).hexdigest()[:8]}"
    return folder / "runs" / f"{safe}.json", folder / "runs" / f"{safe}.jsonl"


def read_run(folder: Path, system: str) -> Run:
    """The run of one system.

    :raises NotFoundError: listing the systems that there are.
    :raises DocumentError: when its files are damaged.
    """
    runs = read_runs(folder)
    found = next((run for run in runs if run.system == system), None)
    if found is None:
        there = ", ".join(run.system for run in runs) or "none"
        raise NotFoundError("there is no run of this system", subject=system, remedy=f"There are: {there}")
    return found


def read_runs(folder: Path) -> tuple[Run, ...]:
    """Every run of a folder, by the name of its system.

    :raises DocumentError: when a file is damaged.
    """
    headers = sorted((folder / "runs").glob("*.json"))
    runs = [_read(header, header.with_suffix(".jsonl")) for header in headers if not header.name.startswith(".")]
    return tuple(sorted(runs, key=lambda run: run.system))


def _read(header: Path, answers: Path) -> Run:
    rows, faults = read_answers(answers)
    if any(not fault.torn for fault in faults):
        raise DocumentError(
            "a row is damaged",
            subject=f"{answers}:{next(fault.line for fault in faults if not fault.torn)}",
            remedy="Run the evaluation again; it asks what is damaged anew",
        )
    return read_header(header, rows)


def read_header(path: Path, answers: Iterable[Answer] = ()) -> Run:
    """A run from its header and these answers, of which the last holds where a request has several.

    :raises DocumentError: when the header cannot be read.
    """
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return Run(
            system=str(said["system"]),
            config=dict(said["config"]),
            config_hash=str(said["config_hash"]),
            snapshot_id=str(said["snapshot_id"]),
            queries_sha256=str(said["queries_sha256"]),
            k=int(said["k"]),
            answers={answer.query_id: answer for answer in answers},
            resources={str(name): float(value) for name, value in said.get("resources", {}).items()},
            died=str(said.get("died", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"the header of a run cannot be read: {error!r}", subject=str(path), remedy="Run the evaluation again"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A line that is no row; ``torn`` when it is the last one, without its end."""

    line: int
    torn: bool


def read_answers(path: Path) -> tuple[list[Answer], list[Fault]]:
    """The rows that are whole, in their order, and the lines that are not; no file is no rows."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], []
    answers, faults = [], []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            answers.append(_answer(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError):
            faults.append(Fault(line=number, torn=False))
    if lines[-1]:
        _log.warning("%s: the last line is torn and was dropped; its request counts as not asked", path)
        faults.append(Fault(line=len(lines), torn=True))
    return answers, faults


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        query_id=str(row["id"]),
        tools=tuple(map(str, row["tools"])),
        ms={str(stage): float(spent) for stage, spent in row.get("ms", {}).items()},
        fallbacks=tuple(map(str, row.get("fallbacks", ()))),
        error=str(row.get("error", "")),
    )


def answer_line(answer: Answer) -> str:
    """The row of an answer, with the end of its line."""
    row = {
        "id": answer.query_id,
        "tools": answer.tools,
        "ms": answer.ms,
        "fallbacks": answer.fallbacks,
        "error": answer.error,
    }
    return json.dumps(row) + "\n"  # ASCII: whatever a system says can be written


def write_header(path: Path, run: Run) -> None:
    """Write everything of a run but its answers.

    :raises StorageError: when the disk refuses.
    """
    said = {
        "system": run.system,
        "config": run.config,
        "config_hash": run.config_hash,
        "snapshot_id": run.snapshot_id,
        "queries_sha256": run.queries_sha256,
        "k": run.k,
        "resources": run.resources,
        "died": run.died,
    }
    write_file(path, json.dumps(said, indent=1) + "\n")


def write_run(folder: Path, run: Run) -> None:
    """Write a whole run in the place of what was there.

    :raises StorageError: when the disk refuses.
    """
    header, answers = run_files(folder, run.system)
    write_file(answers, "".join(map(answer_line, run.answers.values())))
    write_header(header, run)
