"""Versions of operators: data, not code of this program. A version does for one schema what the operator does, by a Cypher template.

They are JSON files in a folder of the user. What a file says is believed only as far as its digest goes: it finds damage, and edits after
the approval. It does not keep out who may write the folder: so may the owner of the program.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.files import disk_errors, only_writer, write_file
from ontology.json_values import canonical_text, first_error
from planners.graphseek.results.result import ResultColumn
from planners.stores.graph_schema import CypherDialect

__all__ = ["VERSION", "OperatorVersion", "VersionFolder", "VersionStatus", "version_lines"]

VersionStatus: TypeAlias = Literal["unverified", "approved"]
_NAME = re.compile(r"(?P<operator>[a-z][a-z0-9_]{0,63})\.(?P<number>[1-9]\d{0,5})\.json")
_MOST_BYTES = 256 * 2**10
"""Of a file: five times the longest template that the allow-list admits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorVersion:
    """One version.

    :param operator: name of the operator whose place it takes.
    :param number: from 1, of each operator; 0: it is not stored yet.
    :param dialect: of the template.
    :param schema: fingerprint of the schema that it was made for; it serves no other.
    :param template: a query with named parameters, which are the arguments of the operator.
    :param parameters: JSON schema of the arguments; a ``default`` in it stands for one that a call leaves out.
    :param columns: of its table, as the dry run gave them.
    :param process: empty: one with post-processing, of an earlier release, serves nothing.
    :param example: arguments of the dry run, those of a call that had failed.
    :param status: an ``unverified`` one serves the task that made it alone.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    operator: str
    number: int = 0
    dialect: CypherDialect
    schema: str
    template: str
    parameters: Mapping[str, Any]
    columns: tuple[ResultColumn, ...] = ()
    process: str = ""
    example: Mapping[str, Any] = field(default_factory=dict)
    status: VersionStatus = "unverified"

    @property
    def name(self) -> str:
        """``OPERATOR.NUMBER``."""
        return f"{self.operator}.{self.number}"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of everything but the status."""
        content = VERSION.dump_python(self, mode="json", exclude={"status"})
        return hashlib.sha256(canonical_text(content).encode("utf-8", "surrogatepass")).hexdigest()

    def is_for(self, dialect: CypherDialect, schema: str) -> bool:
        """Whether it may run on graphs of this schema, a fingerprint."""
        return (self.dialect, self.schema) == (dialect, schema)


VERSION: TypeAdapter[OperatorVersion] = TypeAdapter(OperatorVersion)


def version_lines(version: OperatorVersion) -> Iterator[str]:
    """Yield the lines that a person reads before approving it, and that two versions are compared by."""
    yield f"operator: {version.operator}"
    yield f"dialect: {version.dialect}"
    yield f"schema: {version.schema}"
    yield "template:"
    yield from (f"  {line}" for line in version.template.splitlines())
    yield "parameters:"
    yield from (f"  {line}" for line in json.dumps(version.parameters, indent=1, sort_keys=True).splitlines())
    yield f"columns: {', '.join(f'{each.name} ({each.node_type or each.type})' for each in version.columns)}"
    yield from [f"process: {version.process}"] if version.process else []
    yield f"tried with: {json.dumps(version.example, sort_keys=True, ensure_ascii=False)}"


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
        for each in self._names():
            file = self.path / each[0]
            if file.is_file():
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
        new = replace(version, status="unverified")
        with only_writer(self.path):
            for each in self.versions():
                if each.status == "unverified" and replace(each, number=0) == new:
                    return each
            numbers = [int(found["number"]) for found in self._names() if found["operator"] == new.operator]
            return self._write(replace(new, number=max(numbers, default=0) + 1))

    def mark(self, name: str, status: VersionStatus) -> OperatorVersion:
        """Change the status of a version.

        :raises NotFoundError: as :meth:`get`.
        :raises StorageError: as :meth:`add`.
        """
        with only_writer(self.path):
            return self._write(replace(self.get(name), status=status))

    def _write(self, version: OperatorVersion) -> OperatorVersion:
        content = {"digest": version.digest, "version": VERSION.dump_python(version, mode="json")}
        write_file(self.path / f"{version.name}.json", f"{json.dumps(content, indent=1, sort_keys=True)}\n")
        return version

    def _names(self) -> Iterator[re.Match[str]]:
        if self.path.is_dir():
            with disk_errors(self.path):
                names = sorted(os.listdir(self.path))
            yield from (found for name in names if (found := _NAME.fullmatch(name)))


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
