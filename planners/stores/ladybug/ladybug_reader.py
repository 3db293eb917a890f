"""A Ladybug database file that is only read: each query runs in a process that opened the file so that it cannot write.

A process serves one query at a time. Concurrent queries get processes of their own; one that ends is replaced at the next call.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ingest.stores.ladybug_connection import check_ladybug
from ontology.errors import StatementError, StorageError
from planners.stores.graph_census import TYPE_PROPERTIES, graph_census
from planners.stores.graph_schema import GraphSchema
from planners.stores.ladybug.ladybug_process import LadybugProcess
from planners.stores.ladybug.ladybug_schema import ladybug_schema
from planners.stores.ladybug.whole_numbers import with_whole_numbers
from planners.stores.property_graph import QueryLimits, Value
from planners.stores.readable_graph import CypherDialect

__all__ = ["LadybugReader", "open_ladybug_reader"]

_LIMITS = QueryLimits()
_PROCESSES = 4
"""At once: as many as the agent runs invocations at the same time; each takes at most 1 GiB of buffers."""
_BATCH_ROWS = 1_000
"""Of a batch: some 100 KiB of ordinary rows, and few enough requests that 230,000 rows spend under a tenth of their time in them."""
_Stamp: TypeAlias = tuple[int, int, int, int]


@contextlib.asynccontextmanager
async def open_ladybug_reader(path: Path) -> AsyncIterator[LadybugReader]:
    """Open a file, and end its processes at the end.

    :raises MissingExtraError: when the package ``ladybug`` is not installed.
    :raises StorageError: when the file is no database that can be read.
    """
    check_ladybug("graphs in Ladybug files")
    reader = LadybugReader(path)
    try:
        await reader.open()
        yield reader
    finally:
        await reader.close()


class LadybugReader:
    """A graph in a file. :func:`open_ladybug_reader` opens it.

    Another file that takes the place of this one is seen at the next call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._slots = asyncio.Semaphore(_PROCESSES)
        self._idle: list[LadybugProcess] = []
        self._stamp: _Stamp | None = None
        self._schema: tuple[_Stamp, GraphSchema] | None = None

    def __repr__(self) -> str:
        return f"LadybugReader({str(self._path)!r})"

    @property
    def dialect(self) -> CypherDialect:
        """That of Ladybug."""
        return "ladybug"

    async def open(self) -> None:
        """Start a process.

        :raises StorageError: when the file is no database that can be read.
        """
        process = await self._take()  # which may replace the list
        self._idle.append(process)

    async def close(self) -> None:
        """End the processes."""
        idle, self._idle = self._idle, []
        for process in idle:
            await process.end()

    async def schema(self) -> GraphSchema:
        """Return the types; they are read anew when the file has changed."""
        stamp = self._file_stamp()
        if self._schema is None or self._schema[0] != stamp:
            self._schema = stamp, await ladybug_schema(self, TYPE_PROPERTIES)
        return self._schema[1]

    async def census(self) -> GraphSchema:
        """Return the types with what was counted."""
        return await graph_census(self, await self.schema())

    @contextlib.asynccontextmanager
    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = _LIMITS
    ) -> AsyncIterator[LadybugStream]:
        """Run a query. At most four are open at once; more wait.

        A call that is cancelled ends its process, and with it the query.
        """
        written, bound = with_whole_numbers(text, parameters or {})
        async with self._slots:
            process = await self._take()
            stream: LadybugStream | None = None
            try:
                with _reader_errors(process, self._path):
                    first = await process.stream(written, bound, limits.rows, _BATCH_ROWS, limits.seconds)
                stream = LadybugStream(process, first, self._path)
                yield stream
            finally:
                await self._give_back(process, is_read=stream is not None and stream.is_read)

    async def _take(self) -> LadybugProcess:
        """Return a process that has the file open as it is now."""
        stamp = self._file_stamp()
        if stamp != self._stamp:
            await self.close()
            self._stamp = stamp
        while self._idle:
            process = self._idle.pop()
            if not process.has_ended:
                return process
        try:
            return await LadybugProcess.open(self._path)
        except StorageError as error:
            raise _cannot_open(error.problem, self._path) from None

    async def _give_back(self, process: LadybugProcess, *, is_read: bool) -> None:
        """Keep a process for the next query.

        :param is_read: whether it has given all rows, so that no query is open in it.
        """
        if process.has_ended:
            return
        if self._file_stamp_or_none() != self._stamp:
            await process.end()
            return
        with contextlib.suppress(StatementError, StorageError):  # it has ended: the next call starts another
            if not is_read:
                await process.stop_stream()
            self._idle.append(process)

    def _file_stamp(self) -> _Stamp:
        stamp = self._file_stamp_or_none()
        if stamp is None or stamp[-1] == 0:  # Ladybug takes an empty file for an empty graph
            raise StorageError(
                "there is no such file, it is empty, or it cannot be read",
                subject=str(self._path),
                remedy="Check the path and its permissions, or build the graph again",
            )
        return stamp

    def _file_stamp_or_none(self) -> _Stamp | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


class LadybugStream:
    """The rows of a query."""

    def __init__(self, process: LadybugProcess, first: Mapping[str, Any], path: Path) -> None:
        self._process = process
        self._part = first
        self._path = path
        self._cut = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._part["columns"])

    @property
    def is_read(self) -> bool:
        """Whether the engine has given the last batch."""
        return not self._part["next"]

    @property
    def cut(self) -> bool:
        """After the last batch: whether there were more rows than the limit."""
        return self._cut

    async def batches(self) -> AsyncIterator[Sequence[tuple[object, ...]]]:
        """Yield batches of rows, once."""
        while True:
            if self._part["rows"]:
                yield [tuple(row) for row in self._part["rows"]]
            if not self._part["next"]:
                self._cut = bool(self._part["cut"])
                return
            with _reader_errors(self._process, self._path):
                self._part = await self._process.next_batch()


@contextlib.contextmanager
def _reader_errors(process: LadybugProcess, path: Path) -> Iterator[None]:
    """Tell a query that fails from an engine that ends."""
    try:
        yield
    except StatementError as error:
        if not process.has_crashed:
            raise
        raise StorageError(
            error.problem,
            subject=str(path),
            remedy="Ask again, it starts anew; if it ends at this query once more, ask for less",
        ) from None


def _cannot_open(problem: str, path: Path) -> StorageError:
    remedy = "Check that it is a file that Ladybug 0.22 wrote, complete and readable; else build it again"
    if "lock" in problem.lower():
        problem, remedy = (
            "another process holds the database open for writing",
            "End that process, or read a copy of the file",
        )
    return StorageError(problem, subject=str(path), remedy=remedy)
