"""The history of a store: what was published when and by whom, the snapshots that it still has, and the way back."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ontology.errors import EgotoolsError, NotFoundError, SnapshotError, StorageError
from retrieval.snapshot.manifest import Layout, read_manifest
from retrieval.snapshot.publish import SNAPSHOTS, Publication, named_id, no_snapshot, publish_again, read_log, readable

__all__ = ["Publication", "StoredSnapshot", "history", "list_snapshots", "rollback", "rollback_target"]

_TRIES = 100


def history(store: Path) -> tuple[Publication, ...]:
    """Return the publications of a store, oldest first. The last one is what ``CURRENT`` names.

    :raises SnapshotCorruptError: when the log of the publications is damaged.
    :raises SnapshotError: when it cannot be read.
    """
    with readable(store):
        for _ in range(_TRIES):
            current = named_id(store)
            found = read_log(store, current)
            if named_id(store) == current:  # nothing was published in between
                return found
    raise StorageError("the store is published to without a pause", subject=str(store), remedy="Try again")


def rollback(store: Path, snapshot_id: str = "", *, actor: str = "") -> Publication:
    """Publish an earlier snapshot again, without a build; every file of it is checked first.

    Going back twice goes back two publications, never forward again.

    :param snapshot_id: any snapshot of the store; empty for the one that was published before the current one, or where the
        store does not have it any more, the nearest before it.
    :param actor: who does it, for the history; ``user@host`` of this process where empty.
    :raises NotFoundError: when there is no earlier snapshot, or none of this id.
    :raises SnapshotError: when it is damaged, or published already; nothing is changed then.
    :raises StorageError: when a write fails; nothing is changed then.
    """
    target = snapshot_id or rollback_target(store)
    if target not in _ids(store):
        raise NotFoundError(
            "the store has no such snapshot", subject=target, remedy=f"List them with: {_list_command(store)}"
        )
    publication = publish_again(store, target, action="rollback", actor=actor)
    if publication is None:
        raise SnapshotError("this snapshot is published already", subject=target, remedy="Name another one")
    return publication


def rollback_target(store: Path) -> str:
    """Return the id that :func:`rollback` goes back to: of the nearest publication before that of what ``CURRENT`` names which the store
    still has. ``CURRENT`` may have been changed by hand, or come from a backup.

    :raises NotFoundError: when there is none, or the history does not tell what was published before.
    """
    with readable(store):
        current = named_id(store)
    led: dict[str, _Step] = {}  # id → how its last publication came about
    for entry in history(store):
        before = led.get(entry.previous_id) or _Step(entry.previous_id, None)
        taken_back = (step for step in before.line() if entry.action == "rollback" and step.id == entry.snapshot_id)
        led[entry.snapshot_id] = next(taken_back, None) or _Step(entry.snapshot_id, before)
    if not led and not current:
        raise no_snapshot(store)
    there = _ids(store) - {current}
    found = next((step.id for step in led[current].line() if step.id in there), "") if current in led else ""
    if not found:
        told = f"the history does not tell what was published before {current}"
        raise NotFoundError(
            "no earlier snapshot was published here" if current in led or not current else told,
            subject=str(store),
            remedy=f"Name a snapshot, or build one; {_list_command(store)} lists them",
        )
    return found


def _list_command(store: Path) -> str:
    return f"egotools admin snapshots --store {shlex.quote(str(store))}"


class _Step(NamedTuple):
    """A publication, and the one before it; without those that were taken back."""

    id: str
    before: _Step | None

    def line(self) -> Iterator[_Step]:
        """Yield it and all before it, the latest first."""
        step: _Step | None = self
        while step is not None:
            yield step
            step = step.before


def _ids(store: Path) -> set[str]:
    with readable(store):
        folder = store / SNAPSHOTS
        paths = list(folder.iterdir()) if folder.is_dir() else []
        return {path.name for path in paths if path.name[0] != "." and path.is_dir() and not path.is_symlink()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """A snapshot of a store.

    :param snapshot_id: its id.
    :param tool_count: number of tools; 0 where its manifest cannot be read.
    :param bytes: size on disk.
    :param published: when it was published last, UTC; None for never.
    :param current: whether ``CURRENT`` names it.
    :param problem: why it cannot be served, as far as its manifest tells; empty if nothing is known against it.
    """

    snapshot_id: str
    tool_count: int
    bytes: int
    published: datetime | None
    current: bool
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; the time in ISO 8601 or null."""
        return {**asdict(self), "published": self.published.isoformat() if self.published else None}


def list_snapshots(store: Path) -> tuple[StoredSnapshot, ...]:
    """Return the snapshots of a store, newest publication first; those that were never published come last.

    :raises SnapshotError: when the store or its history cannot be read.
    """
    entries = history(store)
    last = {entry.snapshot_id: entry for entry in entries}
    with readable(store):
        current = named_id(store)
    found = [_stored(store / SNAPSHOTS / name, last.get(name), current) for name in sorted(_ids(store))]
    order = {name: entry.sequence for name, entry in last.items()}
    return tuple(sorted(found, key=lambda each: (not each.current, -order.get(each.snapshot_id, 0), each.snapshot_id)))


def _stored(folder: Path, entry: Publication | None, current: str) -> StoredSnapshot:
    tools, problem = 0, ""
    try:
        tools = read_manifest(Layout(folder)).counts.tools
    except EgotoolsError as error:
        problem = error.problem
    return StoredSnapshot(
        snapshot_id=folder.name,
        tool_count=tools,
        bytes=_size(folder),
        published=entry.time if entry else None,
        current=folder.name == current,
        problem=problem,
    )


def _size(folder: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            total += path.lstat().st_size
    return total
