"""What a store has: its publications, the way back to an earlier one, its snapshots, and the removal of old ones."""

from __future__ import annotations

import contextlib
import logging
import secrets
import shlex
import shutil
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError, SnapshotError
from ontology.files import disk_errors, flush_to_disk
from retrieval.snapshot.manifest import read_manifest
from retrieval.snapshot.publish import (
    SNAPSHOTS,
    Publication,
    confirmed_log,
    named_id,
    no_snapshot,
    publish_again,
    publishing,
    readable,
    remove_unfinished,
    unless_served,
)

_LOG = logging.getLogger(__name__)
_ASIDE, _REPORTS = ".collected-", "reports"


def history(store: Path) -> tuple[Publication, ...]:
    """Return the publications of a store, oldest first. The last one is what ``CURRENT`` names.

    :raises SnapshotCorruptError: when the log of the publications is damaged.
    :raises SnapshotError: when it cannot be read.
    """
    with readable(store):
        current = named_id(store)  # first: what is published after this line is not yet one of the confirmed
        return tuple(confirmed_log(store, current))


def rollback(store: Path, snapshot_id: str = "") -> Publication:
    """Publish an earlier snapshot again, without a build; every file of it is checked first.

    Going back twice goes back two publications, never forward again.

    :param snapshot_id: any snapshot of the store; empty for that of :func:`rollback_target`.
    :raises NotFoundError: when there is no earlier snapshot, or none of this id.
    :raises SnapshotError: when it is damaged, or published already; nothing is changed then.
    :raises StorageError: when a write fails; nothing is changed then.
    """
    target = snapshot_id or rollback_target(store)
    if target not in _ids(store):
        remedy = f"List them with: {_list_command(store)}"
        raise NotFoundError("the store has no such snapshot", subject=target, remedy=remedy)
    publication = publish_again(store, target, action="rollback")
    if publication is None:
        raise SnapshotError("this snapshot is published already", subject=target, remedy="Name another one")
    return publication


def rollback_target(store: Path) -> str:
    """Return the id of the nearest publication before that of what ``CURRENT`` names which the store still has. ``CURRENT`` may have been
    changed by hand, or come from a backup.

    :raises NotFoundError: when there is none, or the history does not tell what was published before.
    """
    with readable(store):
        current = named_id(store)
    entries = history(store)
    if not entries and not current:
        raise no_snapshot(store)
    there, at, end = _ids(store) - {current}, current, len(entries)
    while at:  # to what each publication replaced; a way back is none
        places = [place for place in range(end) if entries[place].snapshot_id == at]
        places = [place for place in places if entries[place].action == "publish"] or places
        if not places:
            break
        end = places[-1]
        at = entries[end].previous_id
        if at in there:
            return at
    untold = f"the history does not tell what was published before {current}"
    problem = "no earlier snapshot was published here" if not at else untold
    remedy = (
        f"Name one that {_list_command(store)} lists" if there else "There is no other one to name: nothing was changed"
    )
    raise NotFoundError(problem, subject=str(store), remedy=remedy)


def _list_command(store: Path) -> str:
    return f"egotools admin snapshots --store {shlex.quote(str(store))}"


def _ids(store: Path) -> set[str]:
    with readable(store):
        folder = store / SNAPSHOTS
        paths = list(folder.iterdir()) if folder.is_dir() else []
        return {path.name for path in paths if path.name[0] != "." and path.is_dir() and not path.is_symlink()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """A snapshot of a store."""

    snapshot_id: str
    tool_count: int  # number of tools; 0 where its manifest cannot be read
    bytes: int  # size on disk
    published: datetime | None  # when it was published last, UTC; None for never
    current: bool  # whether ``CURRENT`` names it
    problem: str = ""  # why it cannot be served, as far as its manifest tells; empty if nothing is known against it

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; the time in ISO 8601 or null."""
        return {**asdict(self), "published": self.published.isoformat() if self.published else None}


def list_snapshots(store: Path) -> tuple[StoredSnapshot, ...]:
    """Return the snapshots of a store, the published one first, then by their last publication; those that were never published come last.

    :raises SnapshotError: when the store or its history cannot be read.
    """
    last = {entry.snapshot_id: entry for entry in history(store)}
    with readable(store):
        current = named_id(store)
    found = []
    names = _ids(store)
    for name in sorted(names, key=lambda name: (name != current, -last[name].sequence if name in last else 0, name)):
        folder, tools, problem = store / SNAPSHOTS / name, 0, ""
        try:
            tools = read_manifest(folder).counts.tools
        except EgotoolsError as error:
            problem = error.problem
        size = 0
        with contextlib.suppress(OSError):
            size = sum(path.lstat().st_size for path in folder.iterdir())
        published = last[name].time if name in last else None
        found.append(
            StoredSnapshot(
                snapshot_id=name,
                tool_count=tools,
                bytes=size,
                published=published,
                current=name == current,
                problem=problem,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a collection did."""

    removed: tuple[str, ...] = ()  # the snapshots that it removed, oldest first
    in_use: tuple[str, ...] = ()  # those that it would have removed, but that a process serves or reads
    bytes: int = 0  # what the removed ones had on disk


def collect(store: Path, keep: int) -> Collected:
    """Remove all but the newest snapshots of a store, and what dead processes left. Newest is what was published last;
    a snapshot that was never published counts from when it was made. The published snapshot is never removed, nor one
    that a process serves or reads. ``keep``: how many stay, 0 for all. Where the disk fails, a snapshot that was to be
    removed is there as a whole, or not any more."""
    if keep < 0:
        raise InvalidArgumentError(f"it must be 0 or more, not {keep}", subject="keep")
    if not (store / SNAPSHOTS).is_dir():
        return Collected()
    remedy = "Check permissions, and collect again. The published snapshot is unchanged"
    with disk_errors(store, remedy=remedy), publishing(store):
        remove_unfinished(store)
        _finish_removals(store)
        return _remove_old(store, keep) if keep else Collected()


def collect_after(store: Path, keep: int) -> None:
    """Collect after a publication, which has succeeded: where this fails, it is only logged."""
    try:
        collect(store, keep)
    except EgotoolsError as error:
        _LOG.warning("old snapshots were not removed: %s", error)


def _remove_old(store: Path, keep: int) -> Collected:
    def age(each: StoredSnapshot) -> tuple[float, str]:
        made = 0.0
        with contextlib.suppress(OSError):
            made = (store / SNAPSHOTS / each.snapshot_id).stat().st_mtime
        return each.published.timestamp() if each.published else made, each.snapshot_id

    found = list_snapshots(store)
    others = sorted((each for each in found if not each.current), key=age, reverse=True)
    removed: list[StoredSnapshot] = []
    in_use: list[str] = []
    for each in reversed(others[keep - (len(others) < len(found)) :]):
        folder = store / SNAPSHOTS / each.snapshot_id
        with unless_served(folder) as is_free:
            if is_free:  # moved away first: half a snapshot must not be found under its name
                folder.rename(folder.with_name(f"{_ASIDE}{each.snapshot_id}-{secrets.token_hex(4)}"))
                removed.append(each)
            else:
                in_use.append(each.snapshot_id)
    if removed:
        flush_to_disk(store / SNAPSHOTS)
        _finish_removals(store)
    for each in removed:
        for report in (store / _REPORTS).glob(f"{each.snapshot_id}.*"):
            report.unlink(missing_ok=True)
    return Collected(
        removed=tuple(each.snapshot_id for each in removed),
        in_use=tuple(in_use),
        bytes=sum(each.bytes for each in removed),
    )


def _finish_removals(store: Path) -> None:
    """Remove what was moved aside, also by a collection that died."""
    for folder in (store / SNAPSHOTS).glob(f"{_ASIDE}*"):
        if folder.is_symlink() or not folder.is_dir():  # rmtree refuses these, and nothing would ever be collected
            folder.unlink(missing_ok=True)
        else:
            shutil.rmtree(folder)
