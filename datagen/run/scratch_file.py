"""The scratch file: bytes on the disk that a run needs until it ends. It has no name, so a killed process leaves none."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path

from ontology.files import disk_errors

__all__ = ["ScratchFile"]


class ScratchFile:
    """A nameless file; it is removed with the object, or with the process.

    :param folder: a folder on the disk that has the space; the folder for temporary files where none is given.
    :raises StorageError: when it cannot be made.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder, buffering=0) as opened:
                self._file = os.dup(opened.fileno())
        weakref.finalize(self, os.close, self._file)
        self._size = 0

    def append(self, content: bytes) -> int:
        """Write bytes after those that are there, and return their position.

        :raises StorageError: when they cannot be written.
        """
        start, rest = self._size, memoryview(content)
        with disk_errors(self._folder):
            while rest:  # on a nearly full disk a write may be partial
                written = os.pwrite(self._file, rest, self._size)
                self._size += written
                rest = rest[written:]
        return start

    def read(self, start: int, length: int) -> bytes:
        """Return the bytes at a position.

        :raises StorageError: when they cannot be read.
        """
        with disk_errors(self._folder):
            return os.pread(self._file, length, start)
