"""Recorded runs of ``egotools solve`` in a folder, as the page shows them: their events, and the graph after a step."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from egotools.calling.tool_answer import MAX_DEPTH, TOO_DEEP
from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError, TooLargeError
from planners.calling.clean_values import clean_text
from planners.graphs.property_graph import GraphState
from planners.kgot.recorded_run import header_of, run_is_ended
from planners.runs.journal_lines import DAMAGED
from planners.runs.record_forms import check_records
from planners.runs.run_journal import RunJournal, read_run_journal

__all__ = ["list_solves", "read_solve", "read_state"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.jsonl")
_BATCH = "journals"  # the folder in which a batch keeps its journals
_MOST_LISTED = 500
_MOST_BYTES = 256 * 2**20
"""Of a journal: one of 10,000 steps has about 60 MB."""
_MOST_EVENTS = 20_000  # as of a live run
_MOST_CHARS = 20_000  # of one text; what a model was shown of an answer has 16,384 bytes at most
_MOST_ITEMS = 1_000  # of one list, for example the rows of a query
_STATE: TypeAdapter[GraphState] = TypeAdapter(GraphState)
_SETTINGS = ("max_iterations", "num_next_steps_decision", "retrieve", "next_step")


def list_solves(folder: Path) -> list[dict[str, Any]]:
    """Return the runs of a folder, and of the folder of a batch, the newest first: ``name``, ``question``, ``ended``, ``outcome`` (empty
    where it has not ended) and ``written``, the minute of its last record in UTC.

    A journal that cannot be read is listed with its ``problem``.
    """
    newest = sorted(_journals(folder).items(), key=lambda item: _written_at(item[1]), reverse=True)
    return [_listed(name, path) for name, path in newest[:_MOST_LISTED]]


def read_solve(folder: Path, name: str) -> dict[str, Any]:
    """Return a run: what it was asked, and its events in order, without the graphs.

    :raises NotFoundError: when the folder has no such run.
    :raises TooLargeError: when its journal is too large to be shown.
    :raises InvalidArgumentError: when it is damaged, or the journal of another command.
    """
    journal = _open(folder, name)
    header = _header(journal, name)
    return {
        "name": name,
        "question": _bounded(header["question"]),
        "files": [_bounded(file[0]) for file in header["files"]],
        "language": header["language"],
        "models": _bounded(header["models"]),
        "settings": {key: _bounded(header["settings"].get(key)) for key in _SETTINGS},
        "ended": run_is_ended(journal),
        "events": [_bounded(data["what"]) for data in _events(journal)[:_MOST_EVENTS]],
    }


def read_state(folder: Path, name: str, n: int) -> dict[str, Any]:
    """Return the graph of the n-th event of a run: ``nodes`` and ``edges``. Errors as of :func:`read_solve`."""
    journal = _open(folder, name)
    _header(journal, name)
    events = _events(journal)
    digest = events[n].get("state") if 0 <= n < len(events) else None
    if digest is None:
        raise NotFoundError("this event has no graph", subject=str(n), remedy="Load the run again")
    state: dict[str, Any] = _bounded(journal.payload(digest), most_items=_MOST_EVENTS)
    try:
        _STATE.validate_python(state)
    except (ValidationError, RecursionError):
        raise InvalidArgumentError("the graph of this event is damaged", subject=str(n), remedy=DAMAGED) from None
    return {"nodes": state.get("nodes", []), "edges": state.get("edges", [])}


def _journals(folder: Path) -> dict[str, Path]:
    """Journals by the names of their files: regular files only, of the folder itself or of its batch; no link leads out of it."""
    found: dict[str, Path] = {}
    for place in (folder, folder / _BATCH):
        if place.is_symlink() and place != folder:
            continue
        for path in _listing(place):
            if _NAME.fullmatch(path.name) and path.name not in found and stat.S_ISREG(path.lstat().st_mode):
                found[path.name] = path
    return found


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it was removed just now
        return 0.0


def _listing(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            yield from [Path(entry.path) for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return


def _open(folder: Path, name: str) -> RunJournal:
    path = _journals(folder).get(name)
    if path is None:
        raise NotFoundError("the folder has no such run", subject=name[:200], remedy="Load the list again")
    if path.stat().st_size > _MOST_BYTES:
        raise TooLargeError(f"the journal has more than {_MOST_BYTES:,} bytes", subject=name, remedy="Read it by eye")
    journal = read_run_journal(path)
    check_records(journal)
    return journal


def _header(journal: RunJournal, name: str) -> Mapping[str, Any]:
    header = header_of(journal)
    if header is None:
        raise InvalidArgumentError("the run has not begun yet", subject=name, remedy="Wait, and load it again")
    return header


def _events(journal: RunJournal) -> list[Mapping[str, Any]]:
    """The records of events in order: a run that went on may have written one anew, and a finished one counts them."""
    latest: dict[int, Mapping[str, Any]] = {}
    total: int | None = None
    for record in journal.records:
        if record.kind == "event" and "nth" in record.data:
            latest[record.data["nth"]] = record.data
        elif record.kind == "run_ended":
            total = record.data["events"]
    ordered = [latest[n] for n in range(len(latest)) if n in latest]
    return ordered[:total]


def _listed(name: str, path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TooLargeError("it is too large to be shown", subject=name)
        journal = read_run_journal(path)
        header = _header(journal, name)
        check_records(journal)
        return {
            "name": name,
            "question": _bounded(header["question"][:500]),
            "ended": run_is_ended(journal),
            "outcome": _bounded(_outcome(journal)),
            "written": f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d %H:%M} UTC",
        }
    except Exception as error:  # one journal, whatever it says, hides no other
        problem = error.problem if isinstance(error, EgotoolsError) else "it cannot be read"
        return {"name": name, "question": "", "ended": False, "problem": _bounded(problem)}


def _outcome(journal: RunJournal) -> str:
    """Return how a run ended; empty where it has not."""
    said = [data["what"] for data in _events(journal) if data["what"].get("event") == "Ended"]
    return str(said[-1].get("outcome", "")) if said and run_is_ended(journal) else ""


def _bounded(value: Any, depth: int = 0, *, most_items: int = _MOST_ITEMS) -> Any:
    """Return JSON values that strict JSON in UTF-8 can say, without the rest of very long texts and lists."""
    if depth > MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, str):
        whole = len(value) <= _MOST_CHARS
        return clean_text(value if whole else f"{value[:_MOST_CHARS]}… ({len(value):,} characters)")
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return [_bounded(each, depth + 1, most_items=most_items) for each in value[:most_items]]
    if isinstance(value, dict):
        return {clean_text(key): _bounded(each, depth + 1, most_items=most_items) for key, each in value.items()}
    return value
