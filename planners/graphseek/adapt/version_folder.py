"""Versions of operators in a folder of the user: a JSON file for each. What a file says is believed only as far as its digest goes.

The digest finds damage and edits after the approval. It does not keep out who may write the folder: so may the owner of the program.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.files import disk_errors, only_writer, write_file
from ontology.first_error import first_error
from planners.graphseek.adapt.operator_version import VERSION, OperatorVersion, VersionStatus

__all__ = ["VersionFolder"]

_NAME = re.compile(r"(?P<operator>[a-z][a-z0-9_]{0,63})\.(?P<number>[1-9]\d{0,5})\.json")
_MOST_BYTES = 256 * 2**10
"""Of a file: five times the longest template that the allow-list admits."""


class VersionFolder:
    """A folder; it may not exist yet.

    :ivar problems: a sentence for each file that the last :meth:`versions` left out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: tuple[str, ...] = ()

    def versions(self) -> tuple[OperatorVersion, ...]:
        """Return the versions by operator and number.

        :raises StorageError: when the folder cannot be read.
        """
        found, problems = list[OperatorVersion](), list[str]()
        for file in self._files():
            try:
                found.append(_read(file))
            except InvalidArgumentError as error:
                problems.append(f"{file.name}: {error.problem}")
        self.problems = tuple(problems)
        return tuple(sorted(found, key=lambda each: (each.operator, each.number)))

    def get(self, name: str) -> OperatorVersion:
        """Return a version by its name.

        :raises NotFoundError: when there is none, or its file is damaged.
        """
        known = self.versions()
        for each in known:
            if each.name == name:
                return each
        damaged = next((each for each in self.problems if each.startswith(f"{name}.json: ")), "")
        listed = ", ".join(each.name for each in known) or "none"
        problem = damaged or "there is no such version of an operator"
        raise NotFoundError(problem, subject=name, remedy=f"There are: {listed}")

    def add(self, version: OperatorVersion) -> OperatorVersion:
        """Store a version as unverified under the next number; one that says the same is not stored twice.

        :raises StorageError: when it cannot be written, or another process writes the folder.
        """
        new = dataclasses.replace(version, status="unverified")
        with only_writer(self.path):
            for each in self.versions():
                if each.status == "unverified" and dataclasses.replace(each, number=0) == new:
                    return each
            numbers = [int(found["number"]) for found in self._names() if found["operator"] == new.operator]
            return self._write(dataclasses.replace(new, number=max(numbers, default=0) + 1))

    def mark(self, name: str, status: VersionStatus) -> OperatorVersion:
        """Change the status of a version.

        :raises NotFoundError: as :meth:`get`.
        :raises StorageError: as :meth:`add`.
        """
        with only_writer(self.path):
            return self._write(dataclasses.replace(self.get(name), status=status))

    def _write(self, version: OperatorVersion) -> OperatorVersion:
        content = {"digest": version.digest, "version": VERSION.dump_python(version, mode="json")}
        write_file(self.path / f"{version.name}.json", f"{json.dumps(content, indent=1, sort_keys=True)}\n")
        return version

    def _names(self) -> Iterator[re.Match[str]]:
        if self.path.is_dir():
            with disk_errors(self.path):
                names = sorted(os.listdir(self.path))
            yield from (found for name in names if (found := _NAME.fullmatch(name)))

    def _files(self) -> Iterator[Path]:
        return (path for found in self._names() if (path := self.path / found[0]).is_file())


def _read(file: Path) -> OperatorVersion:
    """Return the version of a file.

    :raises InvalidArgumentError: when it is not as it was written.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InvalidArgumentError(f"it has more than {_MOST_BYTES:,} bytes", subject=str(file))
        given = json.loads(content)
        version = VERSION.validate_json(json.dumps(given["version"]))
        is_whole = (given["digest"], f"{version.name}.json") == (version.digest, file.name)
    except ValidationError as error:
        raise InvalidArgumentError(f"it is damaged: {first_error(error)}", subject=str(file)) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        problem = f"it cannot be read: {type(error).__name__}: {error}"
        raise InvalidArgumentError(problem[:200], subject=str(file)) from None
    if not is_whole:
        raise InvalidArgumentError("it was changed after it was written: its digest does not fit", subject=str(file))
    return version
