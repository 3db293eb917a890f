"""Staging folders: where a snapshot is written before it is published, and what is done with those of dead processes."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from ontology.files import disk_errors
from retrieval.snapshot.lease import held_lease, is_dead

__all__ = ["remove_unfinished", "staging_folder"]

_PREFIX, _LEASE = ".building-", ".lease"
_REMEDY = "Check permissions and free space, and build again. The published snapshot is unchanged"
_UNLEASED_S = 86_400.0  # for folders of releases that had no leases


@contextlib.contextmanager
def staging_folder(store: Path) -> Iterator[Path]:
    """Yield a new staging folder inside the store. It is removed at the end of the block unless it was published.

    Its lease lies beside it, ``NAME.lease``. Folders whose builds are surely dead are removed first.

    :raises StorageError: when the store cannot be written, or an operating-system error ends the build.
    """
    with disk_errors(store, remedy=_REMEDY, network_errors=True):  # a build may ask models
        store.mkdir(parents=True, exist_ok=True)
        # The name is chosen before the folder is made, so that an interruption in between leaves nothing behind.
        folder = store / f"{_PREFIX}{secrets.token_hex(8)}"
        with held_lease(_lease_of(folder)) as now:
            _remove_unfinished(store, now)
            try:
                folder.mkdir()
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def remove_unfinished(store: Path) -> None:
    """Remove the staging folders of dead builds.

    :raises OSError: when the store cannot be written.
    """
    with held_lease(store / f"{_PREFIX}{secrets.token_hex(8)}{_LEASE}") as now:
        _remove_unfinished(store, now)


def _remove_unfinished(store: Path, now: float) -> None:
    leases = {path for path in store.glob(f"{_PREFIX}*{_LEASE}") if is_dead(path, now)}
    folders = {path for path in store.glob(f"{_PREFIX}*") if path.suffix != _LEASE}
    for folder in folders:
        lease = _lease_of(folder)
        if lease in leases or (not os.path.lexists(lease) and _is_old(folder, now)):
            shutil.rmtree(folder, ignore_errors=True)
    for lease in leases:
        with contextlib.suppress(OSError):
            lease.unlink(missing_ok=True)


def _lease_of(folder: Path) -> Path:
    return folder.with_name(folder.name + _LEASE)


def _is_old(folder: Path, now: float) -> bool:
    """Whether nothing in a folder was written for a day."""
    try:
        times = [folder.lstat().st_mtime, *(path.lstat().st_mtime for path in folder.iterdir())]
    except OSError:  # its build has just ended
        return False
    return now - max(times) > _UNLEASED_S
