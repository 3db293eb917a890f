"""A Ladybug file that a process of its own reads: its queries, and its failures as errors of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ontology.errors import StatementError, StorageError
from planners.stores.engine_process import EngineEndedError, EngineProcess
from planners.stores.property_graph import Value

__all__ = ["LadybugProcess"]

_SCRIPT = Path(__file__).with_name("ladybug_child.py")
_BUFFER_BYTES = 1 << 30
"""Memory of pages at most: 1 GiB, taken as it is used; a query that takes more stops here."""
_DATABASE_BYTES = 1 << 36
"""Address space of a database: 64 GiB, as it is for those that ingestion writes."""
_OWN_S = 60.0
"""Seconds for a request that runs no query of a caller; a batch takes under a second."""
_GRACE_S = 3.0
"""Seconds that a query may go on after its limit, until the process is ended: the engine looks at its clock between operators."""


class LadybugProcess:
    """A database that is open; :meth:`open` opens one. All methods raise StatementError where the engine fails, ends or is late."""

    def __init__(self, process: EngineProcess, path: Path) -> None:
        self._process = process
        self._path = path
        self._has_ended = False
        self._has_crashed = False

    @classmethod
    async def open(cls, path: Path) -> LadybugProcess:
        """Start a process and open a file in it so that nothing can write; others can read the file at the same time.

        :raises StorageError: when the file cannot be opened.
        """
        opened = cls(await EngineProcess.start(_SCRIPT, "Ladybug"), path)
        sizes = {"buffer_bytes": _BUFFER_BYTES, "database_bytes": _DATABASE_BYTES}
        try:
            await opened._ask({"do": "open", "path": str(path), **sizes}, _OWN_S)
        except StatementError as error:
            await opened.end()
            raise _storage_error(error.problem, path) from None
        return opened

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._has_ended or self._process.has_ended

    @property
    def has_crashed(self) -> bool:
        """Whether it ended by itself, in the middle of a request."""
        return self._has_crashed

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    async def stream(
        self, text: str, parameters: Mapping[str, Value | None], most: int, batch: int, seconds: float
    ) -> dict[str, Any]:
        """Run a query, and return the first batch: ``columns``, ``rows``, ``next`` (there are more), ``cut`` (more than ``most``)."""
        request = {"text": text, "parameters": dict(parameters), "most": most, "seconds": seconds, "batch": batch}
        return await self._ask({"do": "stream", **request}, seconds)

    async def next_batch(self) -> dict[str, Any]:
        """Return the next batch of the stream."""
        return await self._ask({"do": "next"}, _OWN_S)

    async def stop_stream(self) -> None:
        """End the stream."""
        await self._ask({"do": "stop"}, _OWN_S)

    async def end(self) -> None:
        """End the process, as it stands."""
        self._has_ended = True
        await self._process.end()

    async def _ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        try:
            answer = await self._process.ask(request, seconds + _GRACE_S)
        except EngineEndedError as error:
            self._has_ended = self._has_crashed = True
            raise _ended(error.signal_name) from None
        except TimeoutError:
            self._has_ended = True
            raise _late(seconds) from None
        except BaseException:  # cancelled
            self._has_ended = True
            raise
        if "fault" in answer:
            raise self._failure(answer, seconds)
        return answer

    def _failure(self, answer: Mapping[str, str], seconds: float) -> StatementError | StorageError:
        text = answer["fault"]
        if "Interrupted" in text:
            return _late(seconds)
        if answer["of"] == "OSError" or text.startswith("IO exception") or "No space left" in text:
            return _storage_error(text, self._path)
        return _fault(text)


def _fault(problem: str) -> StatementError:
    """Return the error of a query that is refused, or that fails."""
    return StatementError(problem.rstrip(". \n"), subject="Cypher", remedy="Correct the query")


def _late(seconds: float) -> StatementError:
    return _fault(f"it takes longer than {seconds:g} s")


def _ended(signal_name: str) -> StatementError:
    how = f"by {signal_name}" if signal_name else "or sent more than is allowed"
    return StatementError(
        f"the engine Ladybug has ended while it ran this, {how}",
        subject="Cypher",
        remedy="Write it another way, or ask for less; it starts anew",
    )


def _storage_error(problem: str, path: Path) -> StorageError:
    return StorageError(
        f"the Ladybug database cannot be used: {problem}".rstrip("."),
        subject=str(path),
        remedy="Check that the file can be read, that its disk has room, and that no process has it open for writing",
    )
