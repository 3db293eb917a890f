"""The state of a file that a document refers to: a result that was made from it is valid as long as the state is the same."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

OUTSIDE = "outside"
"""The kind of a path whose content must not be read."""


class FileState(NamedTuple):
    """Where a path leads and what is there.

    :param target: the path without symbolic links: the references of the file start from its folder.
    :param kind: ``file``, ``missing``, ``other`` (a folder, a pipe), ``unreadable`` or ``outside``.
    :param digest: SHA-256 of a file's content, hexadecimal; else empty.
    """

    target: str
    kind: str
    digest: str = ""


def file_state(path: Path, *, content: bool = True) -> FileState:
    """Return the state of a path.

    :param content: False for a path outside the folder of the user: nothing but its target is looked at.
    """
    target = os.path.realpath(path)
    if not content:
        return FileState(target, OUTSIDE)
    try:
        if not path.is_file():  # a pipe or a device could be read without end
            return FileState(target, "other" if path.exists() else "missing")
        with open(path, "rb") as file:
            return FileState(target, "file", hashlib.file_digest(file, "sha256").hexdigest())
    except OSError:
        return FileState(target, "unreadable")


def is_unchanged(path: Path, state: FileState) -> bool:
    """Whether a path is still in this state."""
    return file_state(path, content=state.kind != OUTSIDE) == state
