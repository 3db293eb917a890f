"""A Ladybug database in a process of its own: its statements, and its failures as errors of graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ontology.errors import StatementError, StorageError
from planners.graphs.engine_process import EngineEndedError, EngineProcess
from planners.graphs.property_graph import Value

__all__ = ["CypherRows", "LadybugProcess", "WrittenCypher", "ladybug_fault"]

WrittenCypher: TypeAlias = tuple[str, dict[str, Any]]
"""A statement and its parameters."""
_SCRIPT = Path(__file__).with_name("ladybug_child.py")
_BUFFER_BYTES = 1 << 30
"""Memory of pages at most: 1 GiB, taken as it is used. A type of edges takes 9 MiB, and there are 100 at most; a query that takes
more stops here."""
_DATABASE_BYTES = 1 << 34
"""Address space of one graph: 16 GiB, sixteen times its buffers."""
_READ_BYTES = 1 << 36
"""Address space of a database that is only read: 64 GiB, as it is for those that ingestion writes."""
_OWN_S = 60.0
"""Seconds for a request that no model wrote; 20 statements of 500 rows take under a second."""
_GRACE_S = 3.0
"""Seconds that a query may go on after its limit, until the process is ended: the engine looks at its clock between operators."""
_STATEMENTS = 20
"""In one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CypherRows:
    """Rows as Ladybug gives them.

    :param cut: whether there were more.
    """

    columns: list[str]
    rows: list[list[Any]]
    cut: bool


class LadybugProcess:
    """A database that is open; :meth:`open` opens one. All methods raise StatementError where the engine fails, ends or is late."""

    def __init__(self, process: EngineProcess, path: Path | None) -> None:
        self._process = process
        self._path = path
        self._has_ended = False
        self._has_crashed = False

    @classmethod
    async def open(cls, path: Path | None, *, read_only: bool = False) -> LadybugProcess:
        """Start a process and open a database in it.

        :param path: its file; None: it stands in memory.
        :param read_only: open it so that nothing can write; others can read the file at the same time.
        :raises StorageError: when the file cannot be opened.
        """
        opened = cls(await EngineProcess.start(_SCRIPT, "Ladybug"), path)
        sizes = {"buffer_bytes": _BUFFER_BYTES, "database_bytes": _READ_BYTES if read_only else _DATABASE_BYTES}
        request = {"do": "open", "path": ":memory:" if path is None else str(path), "read_only": read_only, **sizes}
        try:
            await opened._ask(request, _OWN_S)
        except StatementError as error:
            await opened.end()
            raise _storage_error(error.problem, path) from None
        return opened

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone, and the graph with it if it stood in memory."""
        return self._has_ended or self._process.has_ended

    @property
    def has_crashed(self) -> bool:
        """Whether it ended by itself, in the middle of a request."""
        return self._has_crashed

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    async def write(self, statements: Sequence[WrittenCypher]) -> None:
        """Run statements that no model wrote; where one fails, the transaction around them is rolled back."""
        for at in range(0, len(statements), _STATEMENTS):
            await self._ask({"do": "write", "statements": list(statements[at : at + _STATEMENTS])}, _OWN_S)

    async def read(self, text: str) -> list[list[Any]]:
        """Return all rows of a statement that no model wrote."""
        request: dict[str, Any] = {"do": "read", "text": text, "parameters": {}, "most": None, "seconds": _OWN_S}
        return (await self._rows(request, _OWN_S)).rows

    async def run(self, text: str, parameters: Mapping[str, Value], seconds: float) -> None:
        """Run a statement of a model in the transaction that is open."""
        await self._rows(_request("read", text, parameters, 0, seconds), seconds)

    async def query(self, text: str, parameters: Mapping[str, Value], most: int, seconds: float) -> CypherRows:
        """Return rows of a query of a model; it cannot write.

        :param most: rows.
        """
        return await self._rows(_request("query", text, parameters, most, seconds), seconds)

    async def stream(
        self, text: str, parameters: Mapping[str, Value | None], most: int, batch: int, seconds: float
    ) -> dict[str, Any]:
        """Run a query, and return the first batch: ``columns``, ``rows``, ``next`` (there are more), ``cut`` (more than ``most``)."""
        request = _request("stream", text, parameters, most, seconds)
        return (await self._ask({**request, "batch": batch}, seconds))[0]

    async def next_batch(self) -> dict[str, Any]:
        """Return the next batch of the stream."""
        return (await self._ask({"do": "next"}, _OWN_S))[0]

    async def stop_stream(self) -> None:
        """End the stream."""
        await self._ask({"do": "stop"}, _OWN_S)

    async def roll_back(self) -> None:
        """Roll back the transaction that is open, if there is one."""
        if not self.has_ended:
            with contextlib.suppress(StatementError):  # an error of the engine has ended it already
                await self._ask({"do": "write", "statements": [("ROLLBACK", {})]}, _OWN_S)

    async def close(self) -> None:
        """Close the database and end the process."""
        if not self.has_ended:
            with contextlib.suppress(StatementError):
                await self._ask({"do": "close"}, _OWN_S)
        await self.end()

    async def end(self) -> None:
        """End the process, as it stands."""
        self._has_ended = True
        await self._process.end()

    async def _rows(self, request: Mapping[str, Any], seconds: float) -> CypherRows:
        parts = await self._ask(request, seconds)
        rows = [row for part in parts for row in part["rows"]]
        return CypherRows(columns=parts[-1]["columns"], rows=rows, cut=parts[-1]["cut"])

    async def _ask(self, request: Mapping[str, Any], seconds: float) -> list[dict[str, Any]]:
        try:
            parts = await self._process.ask(request, seconds + _GRACE_S)
        except EngineEndedError as error:
            self._has_ended = self._has_crashed = True
            raise _ended(error.signal_name) from None
        except TimeoutError:
            self._has_ended = True
            raise _late(seconds) from None
        except BaseException:  # cancelled
            self._has_ended = True
            raise
        if "fault" in parts[-1]:
            raise self._failure(parts[-1], seconds)
        return parts

    def _failure(self, answer: Mapping[str, str], seconds: float) -> StatementError | StorageError:
        text = answer["fault"]
        if "Interrupted" in text:
            return _late(seconds)
        if answer["of"] == "OSError" or text.startswith("IO exception") or "No space left" in text:
            return _storage_error(text, self._path)
        return ladybug_fault(text)


def ladybug_fault(problem: str) -> StatementError:
    """Return the error of a statement that is refused, or that fails."""
    return StatementError(
        problem.rstrip(". \n"), subject="Cypher", remedy="Correct the statement; the graph is as before"
    )


def _request(kind: str, text: str, parameters: Mapping[str, Value | None], most: int, seconds: float) -> dict[str, Any]:
    return {"do": kind, "text": text, "parameters": dict(parameters), "most": most, "seconds": seconds}


def _late(seconds: float) -> StatementError:
    return ladybug_fault(f"it takes longer than {seconds:g} s")


def _ended(signal_name: str) -> StatementError:
    how = f"by {signal_name}" if signal_name else "or sent more than is allowed"
    return StatementError(
        f"the engine Ladybug has ended while it ran this, {how}",
        subject="Cypher",
        remedy="Write it another way, in smaller statements; the graph is as before, in a new process",
    )


def _storage_error(problem: str, path: Path | None) -> StorageError:
    return StorageError(
        f"the Ladybug database cannot be used: {problem}".rstrip("."),
        subject=str(path or "in memory"),
        remedy="Check that its folder is writable and has room, and that no other process holds it open",
    )
