"""The journal: generated texts with their verdicts, appended row by row, so that an interrupted run can resume.

There is one file for each configuration, ``journal/<hash>.jsonl`` in the folder of results; its first row is the
configuration. A changed configuration starts another file; the old file is used again for the old configuration. An
incomplete last line, left by a killed process, is dropped.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from datagen.interfaces import GeneratedText
from datagen.synthetic_request import RejectedRequest, Verdict
from ontology.digests import config_hash
from ontology.files import disk_errors, write_lines

__all__ = ["Journal", "Outcome", "open_journal"]

_log = logging.getLogger(__name__)
_CHUNK = 1 << 14  # bytes read at once: most rows have fewer
_MAX_HELD = 8  # consecutive rejections: more than a failing model causes before the run stops, with several threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one attempt at one request.

    :param generated: the text, or the rejection.
    :param verdicts: verdicts of the validators that ran; empty where no text was generated.
    """

    generated: GeneratedText | RejectedRequest
    verdicts: tuple[Verdict, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether a text was generated, and every validator passed it."""
        return not isinstance(self.generated, RejectedRequest) and all(verdict.passed for verdict in self.verdicts)


class Journal:
    """Outcomes by key, of earlier runs and of this one. They are on the disk; memory holds the place of each.

    :ivar folder: the folder of results.
    """

    def __init__(self, places: dict[str, int], path: Path, file: int) -> None:
        self.folder = path.parent.parent
        self._places = places
        self._path = path
        self._file = file
        self._held: list[tuple[str, Outcome]] = []

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def get(self, key: str) -> Outcome | None:
        """Return the outcome with this key, or None.

        :raises StorageError: when the journal cannot be read.
        """
        place = self._places.get(key)
        return None if place is None else _parsed(self._line_at(place))[1]

    def keep(self, key: str, outcome: Outcome) -> None:
        """Write an outcome before the next attempt, so that a killed process loses nothing.

        Rejections are held back until an outcome is accepted, or a few more are rejected: a failing model also causes
        rejections, and those attempts must be repeated.

        :raises StorageError: when the journal cannot be written.
        """
        self._held.append((key, outcome))
        self._write(len(self._held) if outcome.accepted else len(self._held) - _MAX_HELD)

    def settle(self) -> None:
        """Write the outcomes that were held back, at the end of a complete run.

        :raises StorageError: when the journal cannot be written.
        """
        self._write(len(self._held))

    def _write(self, count: int) -> None:
        for key, outcome in self._held[: max(count, 0)]:
            rest = memoryview(_line({"key": key, **asdict(outcome)}))
            with disk_errors(self._path):
                place = os.lseek(self._file, 0, os.SEEK_END)
                while rest:  # on a nearly full disk a write may be partial
                    rest = rest[os.write(self._file, rest) :]
            self._places[key] = place
            self._held.pop(0)

    def _line_at(self, place: int) -> bytes:
        line = b""
        with disk_errors(self._path):
            while b"\n" not in line and (more := os.pread(self._file, _CHUNK, place + len(line))):
                line += more
        return line.partition(b"\n")[0]


@contextlib.contextmanager
def open_journal(folder: Path, config: Mapping[str, Any]) -> Iterator[Journal]:
    """Open the journal of a configuration in a folder of results; damaged rows are dropped.

    :raises StorageError: when the journal cannot be written.
    """
    path = folder / "journal" / f"{config_hash(config)}.jsonl"
    places = _repaired(path, _line({"config": dict(config)}))
    with disk_errors(path):
        file = os.open(path, os.O_RDWR | os.O_APPEND)  # unbuffered: a buffer would write again at close
    try:
        yield Journal(places, path, file)
    finally:
        os.close(file)


def _repaired(path: Path, header: bytes) -> dict[str, int]:
    """Return the places of the outcomes in a journal; rewrite one with damaged rows, or without any."""
    if not path.exists():
        write_lines(path, [header])
        return {}
    with disk_errors(path):
        if not path.is_file():  # reading a pipe would wait for ever
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        lost, torn = 0, False
        places: dict[str, int] = {}
        with open(path, "rb") as file:
            is_whole = file.readline() == header
            at = file.tell()
            for line in file:
                torn = not line.endswith(b"\n")
                if not torn:
                    try:
                        places[_parsed(line)[0]] = at
                    except (ValueError, KeyError, TypeError, RecursionError):
                        lost += 1
                at += len(line)
    if is_whole and not lost and not torn:
        return places
    _log.warning("%s: the last line is cut off or %d others are damaged; they are generated again", path, lost)
    return _rewritten(path, header, places)


def _rewritten(path: Path, header: bytes, places: Mapping[str, int]) -> dict[str, int]:
    """Rewrite a journal with the rows at these places, and return their new places."""
    moved: dict[str, int] = {}

    def rows() -> Iterator[bytes]:
        yield header
        at = len(header)
        for key, place in places.items():
            old.seek(place)
            line = old.readline()
            moved[key] = at
            at += len(line)
            yield line

    with disk_errors(path), open(path, "rb") as old:
        write_lines(path, rows())
    return moved


def _parsed(line: bytes) -> tuple[str, Outcome]:
    """Return key and outcome of a row.

    :raises ValueError: or KeyError, TypeError, RecursionError, when the row is damaged.
    """
    row = json.loads(line.decode("utf-8"))
    return row["key"], _outcomes().validate_python(row)


@cache
def _outcomes() -> TypeAdapter[Outcome]:
    return TypeAdapter(Outcome)


def _line(row: Mapping[str, Any]) -> bytes:
    return (json.dumps(row, separators=(",", ":")) + "\n").encode("ascii")  # so any text of a model can be written
