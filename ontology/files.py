"""Files of results: whole or not there, and the disk's refusals as errors of ours."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ontology.errors import StorageError

__all__ = ["disk_errors", "write_file"]


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file aside and move it to its place: whoever reads it sees the old or the new one, whole.

    Text is written as UTF-8; half a character, which someone's answer may hold, as its escape.

    :raises StorageError: when the disk refuses.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(aside, "wb") as file:
                file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    return path


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise StorageError where the operating system refuses what is done to this path."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"the disk refused: {error.strerror or error}",
            subject=str(error.filename or path),
            remedy="Free space or mend the permissions, and run again; finished answers are kept",
        ) from error
