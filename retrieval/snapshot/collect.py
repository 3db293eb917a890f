"""Collection: old snapshots, and what dead processes left, are removed from a store."""

from __future__ import annotations

import contextlib
import logging
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import disk_errors, flush_to_disk
from retrieval.snapshot.history import StoredSnapshot, list_snapshots
from retrieval.snapshot.lease import unless_served
from retrieval.snapshot.publish import SNAPSHOTS, named_id, publishing, remove_pointers, remove_unfinished

__all__ = ["Collected", "collect", "collect_after", "tidy"]

_LOG = logging.getLogger(__name__)
_ASIDE = ".collected-"
_LITTER = (".building-*", ".CURRENT.*", f"{SNAPSHOTS}/{_ASIDE}*")
_REPORTS, _OLD_S = "reports", 86_400.0
_REMEDY = "Check permissions, and collect again. The published snapshot is unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a collection did.

    :param removed: the snapshots that it removed, oldest first.
    :param in_use: those that it would have removed, but that a process serves or reads.
    :param bytes: what the removed ones had on disk.
    """

    removed: tuple[str, ...]
    in_use: tuple[str, ...]
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"removed": list(self.removed), "in_use": list(self.in_use), "bytes": self.bytes}


def collect(store: Path, keep: int) -> Collected:
    """Remove all but the newest snapshots of a store, and what dead processes left.

    Newest is what was published last; a snapshot that was never published counts from when it was made. The published snapshot is
    never removed, nor one that a process serves or reads.

    :param keep: how many snapshots stay, the published one included, 1 or more; 0 for all.
    :raises InvalidArgumentError: for a number below 0.
    :raises SnapshotError: when the store or its history cannot be read; nothing is removed then.
    :raises StorageError: when the disk fails. A snapshot that was to be removed is then there as a whole, or not any more.
    """
    if keep < 0:
        raise InvalidArgumentError(f"it must be 0 or more, not {keep}", subject="keep")
    if not (store / SNAPSHOTS).is_dir():
        return Collected(removed=(), in_use=(), bytes=0)
    with disk_errors(store, remedy=_REMEDY):
        with publishing(store):
            _remove_litter(store)
            return _remove_old(store, keep)


def tidy(store: Path) -> None:
    """Remove what killed publications and collections left, at the start of a server. A store without such is not written to; where this
    fails, it is only logged. What belongs to a build that lives stays.
    """
    try:
        with disk_errors(store):
            if (store / SNAPSHOTS).is_dir() and (
                any(any(store.glob(pattern)) for pattern in _LITTER) or any(_temporaries(store))
            ):
                with publishing(store, wait_s=0.0):  # who publishes at this moment removes it as well
                    _remove_litter(store)
    except EgotoolsError as error:
        _LOG.warning("what killed processes left was not removed: %s", error)


def collect_after(store: Path, keep: int) -> None:
    """Collect after a publication, which has succeeded: where this fails, it is only logged."""
    try:
        collect(store, keep)
    except EgotoolsError as error:
        _LOG.warning("old snapshots were not removed: %s", error)


def _move_aside(store: Path, snapshot_id: str) -> bool:
    """Move a snapshot away, for half a snapshot must not be found under its name; return False where a process serves it."""
    folder = store / SNAPSHOTS / snapshot_id
    with unless_served(folder) as is_free:
        if is_free:
            folder.rename(folder.with_name(f"{_ASIDE}{snapshot_id}-{secrets.token_hex(4)}"))
    return is_free


def _remove_old(store: Path, keep: int) -> Collected:
    found = sorted(list_snapshots(store), key=lambda each: _age_key(store, each), reverse=True)
    current = named_id(store)
    old = [each for each in found if each.snapshot_id != current][max(0, keep - bool(current)) :] if keep else []
    removed: list[StoredSnapshot] = []
    in_use: list[StoredSnapshot] = []
    for each in reversed(old):
        (removed if _move_aside(store, each.snapshot_id) else in_use).append(each)
    if removed:
        flush_to_disk(store / SNAPSHOTS)
        _finish_removals(store)
        for each in removed:
            for report in (store / _REPORTS).glob(f"{each.snapshot_id}.*"):
                report.unlink(missing_ok=True)
    return Collected(
        removed=tuple(each.snapshot_id for each in removed),
        in_use=tuple(each.snapshot_id for each in in_use),
        bytes=sum(each.bytes for each in removed),
    )


def _age_key(store: Path, snapshot: StoredSnapshot) -> tuple[float, str]:
    """When it was published last, or else made; seconds since 1970."""
    if snapshot.published is not None:
        return snapshot.published.timestamp(), snapshot.snapshot_id
    made = 0.0
    with contextlib.suppress(OSError):
        made = (store / SNAPSHOTS / snapshot.snapshot_id).stat().st_mtime
    return made, snapshot.snapshot_id


def _remove_litter(store: Path) -> None:
    """Remove what dead processes left; the caller holds the store's lock."""
    remove_unfinished(store)
    remove_pointers(store)
    _finish_removals(store)
    _remove_temporaries(store)


def _finish_removals(store: Path) -> None:
    """Remove what was moved aside, also by a collection that died."""
    for folder in (store / SNAPSHOTS).glob(f"{_ASIDE}*"):
        if folder.is_symlink() or not folder.is_dir():  # rmtree refuses these, and nothing would ever be collected
            folder.unlink(missing_ok=True)
        else:
            shutil.rmtree(folder)


def _remove_temporaries(store: Path) -> None:
    for file in _temporaries(store):
        file.unlink(missing_ok=True)


def _temporaries(store: Path) -> Iterator[Path]:
    """The temporary files ``.NAME.PID`` of whatever is written in a store, where their writers died a day ago or earlier."""
    for folder in (store, store / _REPORTS, store / "changes"):
        for file in folder.glob(".?*.*"):
            if file.suffix[1:].isdigit() and time.time() - file.lstat().st_mtime > _OLD_S:
                yield file
