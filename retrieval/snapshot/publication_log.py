"""The log of a store's publications: one JSON line each, with a checksum, only ever appended to.

A line is durable before ``CURRENT`` changes. A process that dies in between leaves a last line that ``CURRENT`` does not
confirm, and one that dies while it writes leaves a torn last line. Neither is part of the history: ``CURRENT`` is the truth.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import os
import socket
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ontology.appended_file import append
from ontology.errors import SnapshotCorruptError
from ontology.files import flush_to_disk

__all__ = ["Action", "Publication", "logged", "read_log", "this_actor"]

Action: TypeAlias = Literal["publish", "rollback"]
LOG = "history.jsonl"
_MAX_ACTOR = 200
_FIELDS = {"sequence": int, "snapshot_id": str, "previous_id": str, "time": str, "action": str, "actor": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One change of the published snapshot.

    :param sequence: its number in the store, from 1, without gaps.
    :param snapshot_id: what was published.
    :param previous_id: what was published before; empty for nothing.
    :param time: when, UTC.
    :param action: whether it was a new publication or a way back.
    :param actor: who did it: ``user@host``, or what the caller named.
    """

    sequence: int
    snapshot_id: str
    previous_id: str
    time: datetime
    action: Action
    actor: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; the time in ISO 8601."""
        return {**asdict(self), "time": self.time.isoformat()}


def read_log(store: Path, current_id: str) -> tuple[Publication, ...]:
    """Return the publications of a store, oldest first, without those that ``CURRENT`` never confirmed.

    :param current_id: the id that ``CURRENT`` names; empty for none.
    :raises SnapshotCorruptError: for a damaged line that is not the last one.
    """
    return _confirmed(_parsed(store)[0], current_id)


@contextlib.contextmanager
def logged(store: Path, snapshot_id: str, previous_id: str, action: Action, actor: str) -> Iterator[Publication]:
    """Append a publication, and yield it; the line is taken back when the block fails. The caller holds the store's lock.

    :raises SnapshotCorruptError: when the log is damaged.
    :raises OSError: when the disk fails; the log is then as before.
    """
    found, whole_bytes = _parsed(store)
    entry = Publication(
        sequence=len(_confirmed(found, previous_id)) + 1,
        snapshot_id=snapshot_id,
        previous_id=previous_id,
        time=datetime.now(UTC),
        action=action,
        actor=(actor or this_actor())[:_MAX_ACTOR],
    )
    path = store / LOG
    existed = path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    try:
        os.ftruncate(descriptor, whole_bytes)  # a torn last line
        append(descriptor, _line(entry), whole_bytes)
        if not existed:
            flush_to_disk(store)
        yield entry
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, whole_bytes)
        raise
    finally:
        os.close(descriptor)


def this_actor() -> str:
    """Return ``user@host`` of this process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _line(entry: Publication) -> bytes:
    row = entry.to_json()
    return json.dumps({**row, "checksum": _checksum(row)}).encode() + b"\n"


def _checksum(row: dict[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _parsed(store: Path) -> tuple[list[Publication], int]:
    """Return the entries of the log, and the bytes of its whole lines."""
    lines = _read(store / LOG).splitlines(keepends=True)
    found: list[Publication] = []
    whole_bytes = 0
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None:
            if number == len(lines):
                break
            raise SnapshotCorruptError(
                "a line of the history is damaged",
                subject=f"{store / LOG}:{number}",
                remedy="Move the file away; the next publication begins a new one. What is published is unchanged",
            )
        found.append(entry)
        whole_bytes += len(line)
    return found, whole_bytes


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SnapshotCorruptError("the history is no file", subject=str(path), remedy="Move it away")
        return file.read()


def _entry(line: bytes) -> Publication | None:
    """Return the entry of a line; None for a torn or damaged one."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
        checksum = row.pop("checksum")
        time = datetime.fromisoformat(row["time"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    whole = row.keys() == _FIELDS.keys() and all(type(row[name]) is kind for name, kind in _FIELDS.items())
    if not whole or row["action"] not in ("publish", "rollback") or checksum != _checksum(row):
        return None
    return Publication(**{**row, "time": time})


def _confirmed(found: Sequence[Publication], current_id: str) -> tuple[Publication, ...]:
    """Return the entries that took effect: the next one, or ``CURRENT``, says so."""
    kept = [entry for entry, following in pairwise(found) if following.previous_id == entry.snapshot_id]
    if found and found[-1].snapshot_id == current_id:
        kept.append(found[-1])
    return tuple(kept)
