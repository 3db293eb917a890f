"""The results of a run, on disk in one SQLite file, under handles, within a budget of bytes (section 4.2 of the paper)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from ontology.errors import InvalidArgumentError, NotFoundError
from planners.graphseek.results.graph_summary import graph_summary
from planners.graphseek.results.result import (
    Cell,
    EvictedError,
    GraphPart,
    Presentation,
    Result,
    ResultColumn,
    TableRows,
)
from planners.graphseek.results.result_record import ResultRecord, graph_json, order_of, parsed_graph, with_tuples
from planners.graphseek.results.result_slot import ResultSlot
from planners.graphseek.results.shown_cell import shown_text
from planners.graphseek.results.store_file import StoreFile
from planners.graphseek.results.table_filling import TableFilling, TableQuery, columns_with_names, drop_result
from planners.graphseek.results.table_summary import table_summary
from planners.graphseek.results.value_search import Sought, graph_has, table_has

__all__ = ["ResultStore"]

BUDGET_BYTES = 512 * 2**20
"""Of the results of a run: some twenty tables of the size of the graph of the paper (230,000 nodes with 7 properties)."""
_AGAIN = "It had been evicted for space, and was computed again."
_TITLE_CHARS = 60  # in the line about a presentation


class ResultStore:
    """The results of one run. Several operators may write at once.

    Results are numbered by the invocation that made them, whatever its kind: ``t1``, ``g2``, ``t3``. Before the invocations of a step
    run, each gets its own view with :meth:`for_invocation`, so that the numbers do not depend on who ends first.

    :param folder: has one file. It is made where it is missing; the results of a finished run can only be read.
    :param budget: bytes; beyond it the results that were not used for longest are evicted.
    :raises StorageError: when the folder cannot be written, or the file is damaged.
    """

    def __init__(self, folder: Path, *, budget: int = BUDGET_BYTES) -> None:
        self._budget = budget
        self._file = StoreFile(folder)
        self._records = self._file.run(_read_records)
        self._slot = ResultSlot(inner=max((order_of(each)[0] for each in self._records), default=0))
        if not self._file.finished:
            self._file.run(self._drop_unknown)

    def for_invocation(self, operator: str, arguments: Mapping[str, Any], *, number: int | None = None) -> ResultStore:
        """Return a view for one invocation. What it keeps first gets the next number; what it keeps further, ``3.1`` and so on.

        :param number: where a run goes on: that of the invocation in the run, from 1.
        """
        return self._view(ResultSlot(self._slot.next_label(number), operator, arguments))

    def again(self, handle: str) -> ResultStore:
        """Return a view whose first result takes the place of an evicted one."""
        record = self._record(handle)
        return self._view(ResultSlot(handle[1:], record.operator, record.arguments, again=handle))

    async def keep_table(self, rows: TableRows, *, title: str, most: int, notes: Sequence[str] = ()) -> Result:
        """Write a table. Of more than ``most`` rows the first are kept, and the result is ``cut``.

        Columns of equal names get different ones. A cell that is no value of the type of its column is emptied, and a note says so.

        :raises StorageError: when the disk is full.
        """
        filling = self._filling(rows.columns, most)
        with _dropped_if_it_fails(filling):
            async with _closed(rows.batches):
                last = await self._fill(filling, rows.batches)
            return await asyncio.to_thread(self._finish_table, filling, title, notes, last)

    async def _fill(
        self, filling: TableFilling, batches: AsyncIterator[Sequence[tuple[Cell, ...]]]
    ) -> Sequence[tuple[Cell, ...]]:
        """Write all batches but the last, which is returned. While one is written, the next comes."""
        written: asyncio.Future[bool] | None = None
        try:
            batch: Sequence[tuple[Cell, ...]] | None = await anext(batches, None)
            while batch is not None:
                following = await anext(batches, None)
                if written is not None and not await written:
                    return ()
                if following is None:
                    return batch
                written = asyncio.ensure_future(asyncio.to_thread(filling.add, batch))
                batch = following
            return ()
        except BaseException:
            if written is not None:
                await asyncio.wait([written])
            raise

    async def keep_query(self, query: TableQuery, *, title: str, most: int, notes: Sequence[str] = ()) -> Result:
        """Write a table that is computed of others, inside SQLite.

        :raises EvictedError: when one of them was evicted.
        :raises InvalidArgumentError: when a sum has more than 64 bits.
        :raises StorageError: when the disk is full.
        """
        for handle in query.of:
            self._present(handle, "table")
        filling = self._filling(query.columns, most)
        with _dropped_if_it_fails(filling):
            await asyncio.to_thread(filling.add_query, query)
            return await asyncio.to_thread(self._finish_table, filling, title, notes)

    async def keep_graph(self, part: GraphPart, *, title: str, cut: bool = False, notes: Sequence[str] = ()) -> Result:
        """Write a graph."""
        handle = self._handle("g")
        said = self._notes(notes)
        return await asyncio.to_thread(self._finish_graph, handle, part, title, cut, said)

    async def keep_presentation(self, shown: Presentation) -> Result:
        """Write a presentation.

        :raises NotFoundError: when the result that it shows does not exist.
        """
        self.result(shown.of)
        handle = self._handle("p")
        told = ", ".join(f"{name} {value}" for name, value in sorted(shown.options.items()))
        titled = f': "{shown_text(shown.title, _TITLE_CHARS)}"' if shown.title else ""
        summary = shown_text(f"{handle}: {shown.kind} of {shown.of}{titled}" + (f" ({told})" if told else ""), 400)
        result = Result(handle=handle, kind="presentation", size=1, summary=summary)
        record = self._made(result, size=0)
        await asyncio.to_thread(self._save, record, json.dumps(asdict(shown)))
        return result

    @property
    def handles(self) -> tuple[str, ...]:
        """The handles there are, in the order of the invocations."""
        return tuple(sorted(self._records, key=order_of))

    def result(self, handle: str) -> Result:
        """Return what stands under a handle.

        :raises NotFoundError: when nothing does; the remedy lists the handles there are.
        """
        return self._record(handle).result

    def made_by(self, handle: str) -> tuple[str, Mapping[str, Any]]:
        """Return the operator and the arguments that made a result."""
        record = self._record(handle)
        return record.operator, record.arguments

    async def rows(self, handle: str, *, offset: int = 0, limit: int = 100) -> list[tuple[Cell, ...]]:
        """Return rows of a table, in their order.

        :raises EvictedError: when they were evicted.
        """
        columns = self._present(handle, "table").result.columns
        query = f'SELECT * FROM "{handle}" WHERE rowid > ? ORDER BY rowid LIMIT ?'
        found = await self._fetch(query, (offset, limit))
        truths = {at for at, column in enumerate(columns) if column.type == "boolean"}
        if not truths:
            return found
        return [
            tuple(bool(cell) if at in truths and cell is not None else cell for at, cell in enumerate(row))
            for row in found
        ]

    async def graph(self, handle: str) -> GraphPart:
        """Return a graph.

        :raises EvictedError: when it was evicted.
        """
        self._present(handle, "graph")
        return parsed_graph(await self._body(handle))

    async def presentation(self, handle: str) -> Presentation:
        """Return a presentation."""
        self._present(handle, "presentation")
        fields = json.loads(await self._body(handle))
        options = with_tuples(fields.pop("options"))
        return Presentation(**fields, options=options)

    async def has_value(self, value: Sought, *, tolerance: float = 0.0, of: Sequence[str] = ()) -> str | None:
        """Return the handle of a result in which a number, a name or one of several names stands; None where none does.

        All rows are read, not the previews. Names are equal without case; one that ends in ``…`` is the beginning of one. Numbers are
        also counts: of rows and distinct values of a table that is not cut, of nodes and relationships by type, and those in notes.

        :param tolerance: how far a number may be off: half a unit of the last digit that is shown.
        :param of: handles to look in, in this order; all, the newest first, where there are none.
        :raises EvictedError: when one of ``of`` was evicted.
        """
        for handle in of or reversed(self.handles):
            record = self._record(handle)
            if not of and record.evicted:
                continue
            if await asyncio.to_thread(self._has, self._present(handle, record.result.kind), value, tolerance):
                return handle
        return None

    async def close_for_writing(self) -> None:
        """End the run: from now on its results can only be read, here and wherever the folder is opened again."""
        if not self._file.finished:
            await asyncio.to_thread(self._file.finish)

    def branch(self, folder: Path, *, upto: int | None = None) -> ResultStore:
        """Copy results into another folder, for a run that goes on from there.

        :param upto: number of the last invocation whose results are kept; all where it is None.
        """
        self._file.copy(folder)
        other = ResultStore(folder, budget=self._budget)
        if upto is not None:
            other._records = {each: kept for each, kept in other._records.items() if order_of(each)[0] <= upto}
            other._file.run(other._drop_unknown)
            other._slot.inner = upto
        return other

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _view(self, slot: ResultSlot) -> ResultStore:
        view = copy.copy(self)
        view._slot = slot
        return view

    def _handle(self, kind: Literal["t", "g", "p"]) -> str:
        if self._file.finished:
            raise InvalidArgumentError(
                "the results of a finished run cannot be changed", subject="results", remedy="Branch the run"
            )
        return self._slot.handle(kind)

    def _record(self, handle: str) -> ResultRecord:
        if handle not in self._records:
            known = ", ".join(self.handles[-20:]) or "none yet"
            raise NotFoundError("there is no such result", subject=handle, remedy=f"Results are: {known}")
        return self._records[handle]

    def _present(self, handle: str, kind: str) -> ResultRecord:
        """Return the record of a result that is about to be read."""
        record = self._record(handle)
        if record.result.kind != kind:
            raise InvalidArgumentError(f"it is a {record.result.kind}, not a {kind}", subject=handle)
        if record.evicted:
            raise EvictedError(handle, record.operator, record.arguments)
        record.used = max(record.used, self._now)
        return record

    @property
    def _now(self) -> int:
        """The number of the invocation: what is used is ordered by it and not by time, so that equal runs evict the same."""
        return order_of(f" {self._slot.label or self._slot.inner}")[0]

    def _notes(self, notes: Sequence[str]) -> tuple[str, ...]:
        return (*notes, *([_AGAIN] if self._slot.again else []))

    def _made(self, result: Result, *, size: int, counts: Sequence[float] = ()) -> ResultRecord:
        slot = self._slot
        return ResultRecord(
            result=result,
            operator=slot.operator,
            arguments=slot.arguments,
            size=size,
            counts=tuple(counts),
            used=self._now,
        )

    def _filling(self, columns: Sequence[ResultColumn], most: int) -> TableFilling:
        return TableFilling(self._file, self._handle("t"), columns_with_names(columns), most=most, budget=self._budget)

    def _finish_table(
        self, filling: TableFilling, title: str, notes: Sequence[str], rows: Sequence[tuple[Cell, ...]] = ()
    ) -> Result:
        """Write the last rows, and the record of the table."""
        filling.add(rows)
        census, said = filling.census, self._notes([*notes, *filling.notes])
        counted = [float(each.distinct) for each in census.columns if each.distinct is not None]
        result = Result(
            handle=filling.handle,
            kind="table",
            size=census.rows,
            summary=table_summary(filling.handle, title, census, cut=filling.cut, notes=said),
            columns=tuple(each.column for each in census.columns),
            cut=filling.cut,
            notes=said,
        )
        counts = [] if filling.cut else [float(census.rows), *(float(each.count) for each in census.columns), *counted]
        self._save(self._made(result, size=census.size, counts=counts))
        return result

    def _finish_graph(self, handle: str, part: GraphPart, title: str, cut: bool, notes: tuple[str, ...]) -> Result:
        summary = graph_summary(handle, title, part, cut=cut, notes=notes)
        result = Result(handle=handle, kind="graph", size=len(part.nodes), summary=summary, cut=cut, notes=notes)
        types = Counter([*(each.type for each in part.nodes), *(each.type for each in part.edges)])
        counts = [] if cut else map(float, (len(part.nodes), len(part.edges), *types.values()))
        body = graph_json(part)
        self._save(self._made(result, size=len(body), counts=tuple(counts)), body)
        return result

    def _save(self, record: ResultRecord, body: str | None = None) -> None:
        """Write a result whose rows are written, and evict others where there is too much."""
        handle = record.result.handle

        def save(connection: sqlite3.Connection) -> None:
            if not connection.in_transaction:
                connection.execute("BEGIN")
            if body is not None:
                connection.execute("INSERT OR REPLACE INTO bodies VALUES (?, ?)", (handle, body))
            self._records[handle] = record
            for each in self._victims(handle):
                drop_result(connection, each.result.handle)
                each.evicted = True
                _write_record(connection, each)
            _write_record(connection, record)
            connection.execute("COMMIT")

        self._file.run(save)

    def _victims(self, kept: str) -> list[ResultRecord]:
        there = [each for handle, each in self._records.items() if not each.evicted and each.size and handle != kept]
        too_much = self._records[kept].size + sum(each.size for each in there) - self._budget
        victims = []
        for each in sorted(there, key=lambda record: (record.used, order_of(record.result.handle))):
            if too_much <= 0:
                break
            too_much -= each.size
            victims.append(each)
        return victims

    def _has(self, record: ResultRecord, value: Sought, tolerance: float) -> bool:
        result = record.result
        if isinstance(value, int | float) and any(abs(each - value) <= tolerance for each in record.numbers()):
            return True
        if result.kind == "presentation":
            return False
        if result.kind == "graph":
            return self._file.run(lambda connection: graph_has(connection, result.handle, value, tolerance))
        return self._file.run(lambda connection: table_has(connection, result, value, tolerance))

    async def _fetch(self, query: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(
            self._file.run, lambda connection: connection.execute(query, parameters).fetchall()
        )

    async def _body(self, handle: str) -> str:
        return str((await self._fetch("SELECT body FROM bodies WHERE handle = ?", (handle,)))[0][0])

    def _drop_unknown(self, connection: sqlite3.Connection) -> None:
        """Drop what belongs to no record: a table that a process left half written, or results behind a branch."""
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if name not in ("records", "bodies") and name not in self._records:
                drop_result(connection, name)
        for (name,) in connection.execute("SELECT handle FROM records").fetchall():
            if name not in self._records:
                drop_result(connection, name)
                connection.execute("DELETE FROM records WHERE handle = ?", (name,))


def _read_records(connection: sqlite3.Connection) -> dict[str, ResultRecord]:
    found = connection.execute("SELECT handle, record FROM records").fetchall()
    return {handle: ResultRecord.from_json(text) for handle, text in found}


def _write_record(connection: sqlite3.Connection, record: ResultRecord) -> None:
    connection.execute("INSERT OR REPLACE INTO records VALUES (?, ?)", (record.result.handle, record.to_json()))


@contextlib.contextmanager
def _dropped_if_it_fails(filling: TableFilling) -> Iterator[None]:
    try:
        yield
    except BaseException:
        filling.drop()
        raise


@contextlib.asynccontextmanager
async def _closed(batches: AsyncIterator[Any]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if isinstance(batches, AsyncGenerator):
            await batches.aclose()
