"""The files that the tools of a run see: those of the task and what was unpacked from them, by name; nothing else can be reached."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from egotools import ToolRequestError
from ontology.errors import InvalidArgumentError, StorageError, TooLargeError
from ontology.files import open_regular

__all__ = ["TaskFiles"]

_INDEX = "names.jsonl"
_SHOWN = 20
_MAX_NAME_BYTES = 200
_MAX_FILES = 1_000
"""Of one run; archives of people's own files have a few hundred."""


class TaskFiles:
    """Files by name. Names are those of the files, without their folders.

    :param files: of the task.
    :param folder: for what is unpacked; of this run alone, and its owner removes it. A run that goes on finds there what it had unpacked.
    :raises InvalidArgumentError: when one is a link, a folder, a device or a pipe, does not exist, or has the name of another.
    """

    def __init__(self, files: Iterable[Path] = (), folder: Path | None = None) -> None:
        self._folder = folder
        self._files: dict[str, Path] = {}
        self._promised: dict[tuple[str, str], str] = {}
        for path in files:
            self._take(path)
        if folder is not None:
            self._restore(folder / _INDEX)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which the files came."""
        return tuple(self._files)

    @property
    def takes_more(self) -> bool:
        """Whether unpacked files can be added."""
        return self._folder is not None

    def all(self) -> Mapping[str, Path]:
        """Return name → file."""
        return dict(self._files)

    def find(self, name: str) -> Path:
        """Return a file.

        :raises ToolRequestError: when the run has none of this name.
        """
        found = self._files.get(name)
        if found is None:
            close = difflib.get_close_matches(name[:_MAX_NAME_BYTES], self._files, n=1)
            known = ", ".join([*self._files][:_SHOWN]) or "none"
            hint = f"Did you mean {close[0]}? " if close else ""
            raise ToolRequestError(
                "there is no such file", subject="file", remedy=f"{hint}Name a file of the task: {known}."
            )
        return found

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return the content of a file.

        :raises ToolRequestError: when the run has none of this name.
        :raises InvalidArgumentError: when it is no regular file any more.
        :raises TooLargeError: when it has more bytes; nothing was read.
        """
        fd = open_regular(self.find(name), name)
        with os.fdopen(fd, "rb") as file:
            size = os.fstat(fd).st_size
            if size > max_bytes:
                raise TooLargeError(
                    f"the file has {size:,} bytes; {max_bytes:,} are the most that are read",
                    subject=name,
                    remedy="Use a smaller file, or read a part of it by Python",
                )
            return file.read(max_bytes)

    def promise(self, archive: str, path: str, name: str) -> None:
        """Keep a name for a file of an archive: an earlier process of the run gave it, and later calls use it.

        Archives that were unpacked at once gave their names in an order that nobody wrote down.
        """
        if _plain(name) == name and name not in self._files and name not in self._promised.values():
            self._promised[archive, path] = name

    def add(self, name: str, content: bytes, *, archive: str = "") -> str:
        """Add an unpacked file and return its name: one that was promised, else the last part of the one given, with a number where
        that is taken.

        :param archive: from which it was unpacked.
        :raises StorageError: when it cannot be written.
        :raises TooLargeError: when the run has too many files.
        """
        if self._folder is None:
            raise StorageError("this run has no folder for unpacked files", subject=name, remedy="Give one")
        if len(self._files) >= _MAX_FILES:
            raise TooLargeError(f"the run has {_MAX_FILES:,} files already", subject=name)
        own = self._promised.pop((archive, name), "") or self._free(_plain(name))
        path = self._folder / secrets.token_hex(8)  # a name of an archive never becomes one of the disk
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.write(content)
            with open(self._folder / _INDEX, "a", encoding="utf-8") as index:
                index.write(json.dumps({"name": own, "path": path.name}) + "\n")
        except OSError as error:
            problem = f"it cannot be written ({error.strerror})"
            raise StorageError(problem, subject=own, remedy="Free space, or choose another folder") from error
        self._files[own] = path
        return own

    def _restore(self, index: Path) -> None:
        """Take up what a run that was broken off had unpacked; a last line that it could not finish is left out."""
        if not index.exists():
            return
        for line in index.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                path = index.parent / Path(row["path"]).name
                if row["name"] not in self._files and path.is_file():
                    self._files[row["name"]] = path

    def _take(self, path: Path) -> None:
        name = path.name
        if name in self._files:
            raise InvalidArgumentError(
                "two files of the task have this name",
                subject=name,
                remedy="Rename one: tools know files by their names",
            )
        os.close(open_regular(path, name))
        self._files[name] = path

    def _free(self, name: str) -> str:
        stem, dot, ending = name.rpartition(".")
        number, free = 1, name
        taken = {*self._files, *self._promised.values()}
        while free in taken:
            number += 1
            free = f"{stem}-{number}.{ending}" if dot and stem else f"{name}-{number}"
        return free


def _plain(name: str) -> str:
    """Return a name of one line for readers, of bounded length; its ending is kept."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    clean = "".join(each if each.isprintable() else "_" for each in last).strip()
    clean = "file" if clean in ("", ".", "..") else clean
    stem, dot, ending = clean.rpartition(".")
    tail = f"{dot}{ending}" if stem and len(ending.encode()) <= 16 else ""
    head = (stem if tail else clean).encode("utf-8", "replace")[: _MAX_NAME_BYTES - len(tail.encode())]
    return head.decode("utf-8", "ignore") + tail
