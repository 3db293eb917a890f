"""The files and folders of a person on disk. Of a file only name, size and time are read; its content only where an attachment
has as many bytes, so that its digest may decide whether both are the same."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from planners.personal.personal_data import shown_path, walk_files

__all__ = ["refresh_disk_files"]


def refresh_disk_files(db: sqlite3.Connection, root: Path, unreadable: Callable[[OSError], None]) -> bool:
    """Bring the table of files up to the state of the disk; return whether it changed.

    :param unreadable: is told of each file or folder that cannot be read.
    """
    known = {
        row["id"]: (row["size"], row["mtime_ns"]) for row in db.execute("SELECT id, size, mtime_ns FROM disk_file")
    }
    found: dict[str, tuple[str, str, int, int]] = {}
    paths: dict[str, Path] = {}
    for folder, names in walk_files(root, unreadable):
        for name in names:
            try:
                state = (folder / name).lstat()
            except OSError as error:
                unreadable(error)
                continue
            shown, shown_name = _shown(folder, root), shown_path(name)
            found[f"{shown}/{shown_name}"] = (shown, shown_name, state.st_size, state.st_mtime_ns)
            paths[f"{shown}/{shown_name}"] = folder / name
    gone = [(key,) for key in known if key not in found]
    new = [(key, *row) for key, row in found.items() if known.get(key) != row[2:]]
    db.executemany("DELETE FROM disk_file WHERE id = ?", gone)
    db.executemany("INSERT OR REPLACE INTO disk_file (id, folder, name, size, mtime_ns) VALUES (?, ?, ?, ?, ?)", new)
    digested = _digest_candidates(db, paths, unreadable)
    return bool(gone or new or digested)


def _digest_candidates(db: sqlite3.Connection, paths: Mapping[str, Path], unreadable: Callable[[OSError], None]) -> int:
    rows = db.execute(
        "SELECT id FROM disk_file WHERE digest IS NULL AND size > 0 AND size IN (SELECT size FROM attachment) ORDER BY id"
    ).fetchall()
    digests = []
    for (key,) in rows:
        try:
            with paths[key].open("rb") as file:
                digests.append((hashlib.file_digest(file, "sha256").hexdigest(), key))
        except OSError as error:
            unreadable(error)
    db.executemany("UPDATE disk_file SET digest = ? WHERE id = ?", digests)
    return len(digests)


def _shown(folder: Path, root: Path) -> str:
    """Return a folder as the user sees it: from the root of the files on, whose name comes first."""
    return shown_path("/".join((root.name, *folder.relative_to(root).parts)))
