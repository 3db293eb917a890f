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
from ontology.files import disk_errors, write_file

__all__ = ["Journal", "Outcome", "open_journal"]

_log = logging.getLogger(__name__)
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
    """Outcomes by key, of earlier runs and of this one."""

    def __init__(self, known: Mapping[str, Outcome], path: Path, file: int) -> None:
        self._known = dict(known)
        self._path = path
        self._file = file
        self._held: list[tuple[str, Outcome]] = []

    def get(self, key: str) -> Outcome | None:
        """Return the outcome with this key, or None."""
        return self._known.get(key)

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
            rest = memoryview(_line({"key": key, **asdict(outcome)}).encode("ascii"))
            with disk_errors(self._path):
                while rest:  # on a nearly full disk a write may be partial
                    rest = rest[os.write(self._file, rest) :]
            self._known[key] = outcome
            self._held.pop(0)


@contextlib.contextmanager
def open_journal(folder: Path, config: Mapping[str, Any]) -> Iterator[Journal]:
    """Open the journal of a configuration in a folder of results; damaged rows are dropped.

    :raises StorageError: when the journal cannot be written.
    """
    path = folder / "journal" / f"{config_hash(config)}.jsonl"
    known = _repaired(path, _line({"config": dict(config)}))
    with disk_errors(path):
        file = os.open(path, os.O_WRONLY | os.O_APPEND)  # unbuffered: a buffer would write again at close
    try:
        yield Journal(known, path, file)
    finally:
        os.close(file)


def _repaired(path: Path, header: str) -> dict[str, Outcome]:
    """Read the outcomes of a journal's complete rows; rewrite a journal with other rows, or without any."""
    with disk_errors(path):
        if path.exists() and not path.is_file():  # reading a pipe would wait for ever
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        lines = path.read_bytes().split(b"\n") if path.exists() else []
    known: dict[str, Outcome] = {}
    whole = [header]
    for line in lines[1:-1]:
        try:
            text = line.decode("utf-8")
            row = json.loads(text)
            known[row["key"]] = _outcomes().validate_python(row)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        whole.append(text + "\n")
    if not lines or lines[0] + b"\n" != header.encode() or lines[-1] or len(whole) != len(lines) - 1:
        if lines:
            lost = max(len(lines) - 1 - len(whole), 0)
            _log.warning("%s: the last line is cut off or %d others are damaged; they are generated again", path, lost)
        write_file(path, "".join(whole))
    return known


@cache
def _outcomes() -> TypeAdapter[Outcome]:
    return TypeAdapter(Outcome)


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"  # in ASCII any text of a model can be written
