"""The results of a run, in one DuckDB file, under handles, within a budget of bytes (section 4.2 of the paper)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from ontology.errors import InvalidArgumentError, NotFoundError, StorageError
from planners.graphseek.results.result import (
    Cell,
    ColumnType,
    EvictedError,
    GraphPart,
    Presentation,
    Result,
    ResultColumn,
    ResultEdge,
    ResultNode,
    Sought,
    TableQuery,
    TableRows,
    order_of,
    with_tuples,
)
from planners.graphseek.results.summaries import (
    CUT,
    HEAD,
    MOST_DISTINCT,
    TAIL,
    ColumnStats,
    TableStats,
    graph_summary,
    shown_text,
    table_summary,
)

T = TypeVar("T")
Rows = Sequence[tuple[Cell, ...]]
BUDGET_BYTES = 512 * 2**20
"""Of the results of a run: some twenty tables of the size of the graph of the paper (230,000 nodes with 7 properties)."""
_OPEN, _FINISHED = "results.duckdb", "results-finished.duckdb"
_SETTINGS: dict[str, Any] = {"threads": 1, "memory_limit": "512MB", "autoinstall_known_extensions": False}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (handle VARCHAR, record VARCHAR, body VARCHAR);
CREATE MACRO IF NOT EXISTS fold(x) AS lower(nfc_normalize(x))
"""
_SQL_TYPES = {"string": "VARCHAR", "node": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_DTYPES: Mapping[str, Any] = {"integer": np.int64, "number": np.float64, "boolean": np.bool_}
_FITTING: Mapping[str, set[type]] = {
    "string": {str},
    "node": {str},
    "integer": {int},
    "number": {int, float},
    "boolean": {bool},
}
_MOST_INTEGER = 2**63 - 1
_PART = 20_000  # rows that are written at once
_COUNTED = 12  # columns whose values are counted at once: distinct ones take a megabyte each
_PREVIEW = 257  # characters of a cell that a summary is made of
_AGAIN = "It had been evicted for space, and was computed again."
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LEADING_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_ROUNDING = 1e-6  # of a tolerance: 99.425 is shown as 99.42 or 99.43, and lies a little off the middle of both


@dataclass(slots=True, kw_only=True)
class _Record:
    """A result, the invocation that made it, and what eviction looks at.

    :param counts: numbers that are true of the result and stand in no cell: rows, distinct values, nodes of a type.
    :param used: number of the last invocation that read it.
    """

    result: Result
    operator: str
    arguments: Mapping[str, Any]
    size: int
    counts: Sequence[float] = ()
    used: int = 0
    evicted: bool = False


@dataclass(slots=True)
class _Slot:
    """Where the next result gets its number: the run, or one invocation in it, ``label``: ``3``, ``3.1``.

    :param again: the handle that is computed again.
    :param inner: how many numbers were given inside.
    """

    label: str = ""
    operator: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    again: str = ""
    inner: int = 0
    taken: bool = False

    def next_label(self, number: int | None = None) -> str:
        number = number or self.inner + 1
        self.inner = max(self.inner, number)
        return f"{self.label}.{number}" if self.label else str(number)

    def handle(self, kind: Literal["t", "g", "p"]) -> str:
        """Give a handle: the first has the number of the invocation, the others numbers inside."""
        first, self.taken = not self.taken, True
        if first and self.again:
            return self.again
        return f"{kind}{self.label if first and self.label else self.next_label()}"


class _File:
    """The file of a folder; that of a finished run has another name, and is never written. Only its owner may read it."""

    def __init__(self, folder: Path) -> None:
        self.finished = (folder / _FINISHED).exists()
        self.path = folder / (_FINISHED if self.finished else _OPEN)
        if any(folder.glob("results*.sqlite3")):
            problem, remedy = "these results are of an earlier version", "Ask again, with another journal"
            raise StorageError(problem, subject=str(folder), remedy=remedy)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = self._connect()
        except (OSError, duckdb.Error) as error:
            damaged = "not a valid" in str(error) or not isinstance(error, duckdb.IOException | OSError)
            raise self._unusable(error, "The file is damaged: delete it, and ask again" if damaged else "") from error

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(self.path, read_only=self.finished, config=_SETTINGS)
        if not self.finished:
            self.path.chmod(0o600)
            connection.execute(_SCHEMA)
        return connection

    def run(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run ``work`` in a transaction. It may be called in any thread."""
        try:
            with self._connection.cursor() as cursor:
                cursor.begin()
                found = work(cursor)
                cursor.commit()
                return found
        except duckdb.DataError as error:
            raise InvalidArgumentError("a sum has more than 64 bits", subject="results") from error
        except (OSError, duckdb.Error) as error:
            raise self._unusable(error) from error

    def finish(self) -> None:
        """Write everything to the disk, and go on with a file that cannot be written."""
        self._connection.close()
        self.path, self.finished = self.path.rename(self.path.with_name(_FINISHED)), True
        self._connection = self._connect()

    def copy(self, folder: Path) -> None:
        """Copy it into another folder, as the file of a run that goes on."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in folder.glob(f"{_OPEN}*"):
            old.unlink()
        if self.finished:
            shutil.copyfile(self.path, folder / _OPEN)
            return
        quoted = str(folder / _OPEN).replace("'", "''")
        with self._connection.cursor() as cursor:
            cursor.execute(f"ATTACH '{quoted}' AS other; COPY FROM DATABASE {self.path.stem} TO other; DETACH other")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _unusable(self, error: Exception, remedy: str = "") -> StorageError:
        remedy = remedy or "Check free space and permissions, and that no other process uses it, then ask again"
        return StorageError(f"results cannot be kept or read: {error}", subject=str(self.path), remedy=remedy)


class _Table:
    """A table while it is written."""

    def __init__(self, handle: str, columns: Sequence[ResultColumn], most: int, budget: int) -> None:
        self.handle, self.columns, self._most, self._budget = handle, _named_apart(columns), most, budget
        self.rows = self.size = 0
        self.cut = self.dropped = False
        self._lost: Counter[str] = Counter()

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: Rows) -> bool:
        """Write rows, and return whether there is room for more."""
        if self.dropped:
            return False
        if not (self.rows or self.cut):
            named = ", ".join(f"c{at} {_SQL_TYPES[each.type]}" for at, each in enumerate(self.columns))
            cursor.execute(f'CREATE OR REPLACE TABLE "{self.handle}" ({named})')
        kept = rows[: self._most - self.rows]
        self.cut |= len(kept) < len(rows) or self.size > self._budget
        if kept and self.size <= self._budget:
            part: dict[str, npt.NDArray[Any]] = {}
            for at, (each, cells) in enumerate(zip(self.columns, zip(*kept, strict=True), strict=True)):
                part[f"c{at}"], size, lost = _array(each.type, cells)
                self.size += size
                self._lost[each.name] += lost
            cursor.register("part", part)
            cursor.execute(f'INSERT INTO "{self.handle}" SELECT * FROM part')
            cursor.unregister("part")
            self.rows += len(kept)
        return not self.cut

    def stats(self, cursor: duckdb.DuckDBPyConnection) -> TableStats:
        """Return what the summary says."""
        if self.rows <= MOST_DISTINCT:  # DuckDB takes ten times as long for a few rows
            rows = cursor.execute(f'SELECT * FROM "{self.handle}" ORDER BY rowid').fetchall()
            columns = []
            for each, given in zip(
                self.columns, zip(*rows, strict=True) if rows else [()] * len(self.columns), strict=True
            ):
                values = [cell for cell in given if cell is not None]
                least, greatest = min(values, default=None), max(values, default=None)
                columns.append(ColumnStats(each, len(values), len(set(values)), least, greatest))
            return TableStats(rows=self.rows, columns=columns, head=rows[:HEAD], tail=rows[-TAIL:])
        names = [f"c{at}" for at in range(len(self.columns))]
        kinds = [each.type in ("string", "node") for each in self.columns]
        cells = [f"left({name}, {_PREVIEW})" if text else name for name, text in zip(names, kinds, strict=True)]
        counts = [
            f"count({name}), count(DISTINCT {name}), min({cell}), max({cell})"
            for name, cell in zip(names, cells, strict=True)
        ]
        columns = []
        for start in range(0, len(names), _COUNTED):
            counted = f'SELECT {", ".join(counts[start : start + _COUNTED])} FROM "{self.handle}"'
            found = cursor.execute(counted).fetchall()[0]
            for at, each in enumerate(self.columns[start : start + _COUNTED]):
                count, distinct, least, greatest = found[4 * at : 4 * at + 4]
                known = distinct if distinct <= MOST_DISTINCT else None
                columns.append(ColumnStats(each, count, known, least, greatest))
        select = f'SELECT {", ".join(cells)} FROM "{self.handle}" WHERE rowid'
        head = cursor.execute(f"{select} < ? ORDER BY rowid", [HEAD]).fetchall()
        tail = cursor.execute(f"{select} >= ? ORDER BY rowid", [self.rows - TAIL]).fetchall()
        return TableStats(rows=self.rows, columns=columns, head=head, tail=tail)

    @property
    def notes(self) -> list[str]:
        """What is to be said of the table."""
        types = {each.name: each.type for each in self.columns}
        notes = [f"{n} cells of {name} are no {types[name]} and were emptied." for name, n in self._lost.items() if n]
        if self.cut and self.rows < self._most:
            notes.append(f"The table was cut at row {self.rows}: no result may be larger than {self._budget} bytes.")
        return notes


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
        self._file = _File(folder)
        self._saving = Lock()
        found = self._fetch("SELECT handle, record FROM records")
        self._records = {handle: _record_of(text) for handle, text in found}
        self._slot = _Slot(inner=max((order_of(each)[0] for each in self._records), default=0))
        self._drop_unknown()

    def for_invocation(self, operator: str, arguments: Mapping[str, Any], *, number: int | None = None) -> ResultStore:
        """Return a view for one invocation. What it keeps first gets the next number; what it keeps further, ``3.1`` and so on.

        :param number: where a run goes on: that of the invocation in the run, from 1.
        """
        return self._view(_Slot(self._slot.next_label(number), operator, arguments))

    def again(self, handle: str) -> ResultStore:
        """Return a view whose first result takes the place of an evicted one."""
        record = self._record(handle)
        return self._view(_Slot(handle[1:], record.operator, record.arguments, again=handle))

    async def keep_table(self, rows: TableRows, *, title: str, most: int, notes: Sequence[str] = ()) -> Result:
        """Write a table. Of more than ``most`` rows the first are kept, and the result is ``cut``.

        Columns of equal names get different ones. A cell that is no value of the type of its column is emptied, and a note says so.

        :raises StorageError: when the disk is full.
        """
        table = self._table(rows.columns, most)
        with self._dropped_if_it_fails(table):
            async with _closed(rows.batches):
                waiting: list[tuple[Cell, ...]] = []
                async for batch in rows.batches:
                    waiting += batch
                    if len(waiting) >= min(_PART, most + 1):
                        if not await asyncio.to_thread(self._write, table, waiting):
                            waiting = []
                            break
                        waiting = []
            return await asyncio.to_thread(self._finish_table, table, waiting, title, notes)

    async def keep_query(self, query: TableQuery, *, title: str, most: int, notes: Sequence[str] = ()) -> Result:
        """Write a table that is computed of others.

        :raises EvictedError: when one of them was evicted.
        :raises InvalidArgumentError: when a sum has more than 64 bits.
        :raises StorageError: when the disk is full.
        """
        for handle in query.of:
            self._present(handle, "table")
        table = self._table(query.columns, most)

        def copied(cursor: duckdb.DuckDBPyConnection) -> None:
            with cursor.cursor() as reading:
                reading.execute(f"{query.text} LIMIT {most + 1}", list(query.parameters))
                while (part := reading.fetchmany(_PART)) and table.write(cursor, part):
                    pass

        with self._dropped_if_it_fails(table):
            await asyncio.to_thread(self._file.run, copied)
            return await asyncio.to_thread(self._finish_table, table, (), title, notes)

    async def keep_graph(self, part: GraphPart, *, title: str, cut: bool = False, notes: Sequence[str] = ()) -> Result:
        """Write a graph."""
        handle, said = self._handle("g"), self._notes(notes)
        summary = graph_summary(handle, title, part, cut=cut, notes=said)
        result = Result(handle=handle, kind="graph", size=len(part.nodes), summary=summary, cut=cut, notes=said)
        types = Counter([*(each.type for each in part.nodes), *(each.type for each in part.edges)])
        counts = [] if cut else [len(part.nodes), len(part.edges), *types.values()]
        body = json.dumps(asdict(part))
        await asyncio.to_thread(self._keep, self._made(result, len(body), counts), body)
        return result

    async def keep_presentation(self, shown: Presentation) -> Result:
        """Write a presentation.

        :raises NotFoundError: when the result that it shows does not exist.
        """
        self.result(shown.of)
        handle = self._handle("p")
        told = ", ".join(f"{name} {value}" for name, value in sorted(shown.options.items()))
        titled = f': "{shown_text(shown.title, 60)}"' if shown.title else ""
        summary = shown_text(f"{handle}: {shown.kind} of {shown.of}{titled}" + (f" ({told})" if told else ""), 400)
        result = Result(handle=handle, kind="presentation", size=1, summary=summary)
        await asyncio.to_thread(self._keep, self._made(result, 0), json.dumps(asdict(shown)))
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
        self._present(handle, "table")
        query = f'SELECT * FROM "{handle}" WHERE rowid >= ? AND rowid < ? ORDER BY rowid'
        return await asyncio.to_thread(self._fetch, query, [offset, offset + limit])

    async def graph(self, handle: str) -> GraphPart:
        """Return a graph.

        :raises EvictedError: when it was evicted.
        """
        self._present(handle, "graph")
        return await asyncio.to_thread(self._graph, handle)

    async def presentation(self, handle: str) -> Presentation:
        """Return a presentation."""
        self._present(handle, "presentation")
        fields = json.loads(await asyncio.to_thread(self._body, handle))
        return Presentation(**{**fields, "options": with_tuples(fields["options"])})

    async def has_value(self, value: Sought, *, tolerance: float = 0.0) -> str | None:
        """Return the handle of the newest result in which a number, a name or one of several names stands; None where none does.

        All rows are read, not the previews. Names are equal without case; one that ends in ``…`` is the beginning of one. Numbers are
        also counts: of rows and distinct values of a table that is not cut, of nodes and relationships by type, and those in notes.

        :param tolerance: how far a number may be off: half a unit of the last digit that is shown.
        """
        for handle in reversed(self.handles):
            record = self._record(handle)
            if not record.evicted and await asyncio.to_thread(self._has, record, value, tolerance):
                record.used = max(record.used, self._now)
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
            other._drop_unknown()
            other._slot.inner = upto
        return other

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _view(self, slot: _Slot) -> ResultStore:
        view = copy.copy(self)
        view._slot = slot
        return view

    def _handle(self, kind: Literal["t", "g", "p"]) -> str:
        if self._file.finished:
            problem = "the results of a finished run cannot be changed"
            raise InvalidArgumentError(problem, subject="results", remedy="Branch the run")
        return self._slot.handle(kind)

    def _record(self, handle: str) -> _Record:
        if handle not in self._records:
            known = ", ".join(self.handles[-20:]) or "none yet"
            raise NotFoundError("there is no such result", subject=handle, remedy=f"Results are: {known}")
        return self._records[handle]

    def _present(self, handle: str, kind: str) -> _Record:
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

    def _made(self, result: Result, size: int, counts: Sequence[float] = ()) -> _Record:
        slot = self._slot
        return _Record(
            result=result, operator=slot.operator, arguments=slot.arguments, size=size, counts=counts, used=self._now
        )

    def _table(self, columns: Sequence[ResultColumn], most: int) -> _Table:
        return _Table(self._handle("t"), columns, most, self._budget)

    def _write(self, table: _Table, rows: Rows) -> bool:
        return self._file.run(lambda cursor: table.write(cursor, rows))

    def _finish_table(self, table: _Table, rows: Rows, title: str, notes: Sequence[str]) -> Result:
        """Write the last rows, and the record of the table, in one transaction: each waits for the disk."""

        def finish(cursor: duckdb.DuckDBPyConnection) -> Result:
            if rows or not (table.rows or table.cut):
                table.write(cursor, rows)
            stats, said = table.stats(cursor), self._notes([*notes, *table.notes])
            counts = [stats.rows, *(each.count for each in stats.columns)]
            counts += [each.distinct for each in stats.columns if each.distinct is not None]
            result = Result(
                handle=table.handle,
                kind="table",
                size=table.rows,
                summary=table_summary(table.handle, title, stats, cut=table.cut, notes=said),
                columns=tuple(table.columns),
                cut=table.cut,
                notes=said,
            )
            self._save(cursor, self._made(result, table.size, () if table.cut else counts))
            return result

        with self._saving:
            return self._file.run(finish)

    def _keep(self, record: _Record, body: str) -> None:
        with self._saving:
            self._file.run(lambda cursor: self._save(cursor, record, body))

    def _save(self, cursor: duckdb.DuckDBPyConnection, record: _Record, body: str | None = None) -> None:
        """Write the record of a result, and evict others where there is too much."""
        handle = record.result.handle
        self._records[handle] = record
        for each in self._victims(handle):
            each.evicted = True
            cursor.execute(f'DROP TABLE IF EXISTS "{each.result.handle}"')
            _write_record(cursor, each, None)
        _write_record(cursor, record, body)

    def _victims(self, kept: str) -> Iterator[_Record]:
        there = [each for handle, each in self._records.items() if not each.evicted and each.size and handle != kept]
        too_much = self._records[kept].size + sum(each.size for each in there) - self._budget
        for each in sorted(there, key=lambda record: (record.used, order_of(record.result.handle))):
            if too_much > 0:
                too_much -= each.size
                yield each

    def _has(self, record: _Record, value: Sought, tolerance: float) -> bool:
        result = record.result
        if isinstance(value, int | float):
            noted = (float(found) for note in result.notes for found in _NUMBER.findall(note))
            if any(abs(each - value) <= tolerance for each in (*record.counts, *noted)):
                return True
        text, number, values = _sought(value, tolerance)
        if result.kind == "table":
            of_kind = {"string": text, "node": text, "integer": number, "number": number}
            kinds = [of_kind.get(each.type, "") for each in result.columns]
            tests = [test.format(f"c{at}") for at, test in enumerate(kinds) if test]
            source = f'"{result.handle}"'
        else:
            part = self._graph(result.handle) if result.kind == "graph" else GraphPart()
            tests, source = [text.format("c0")], "(SELECT unnest($leaves) AS c0)"
            values["leaves"] = list(dict.fromkeys(_leaves(part)))
        return bool(tests and self._fetch(f"SELECT 1 FROM {source} WHERE {' OR '.join(tests)} LIMIT 1", values))

    def _fetch(self, query: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        return self._file.run(lambda cursor: cursor.execute(query, parameters).fetchall())

    def _body(self, handle: str) -> str:
        return str(self._fetch("SELECT body FROM records WHERE handle = ?", [handle])[0][0])

    def _graph(self, handle: str) -> GraphPart:
        body = json.loads(self._body(handle))
        return GraphPart(
            nodes=tuple(
                ResultNode(**{**each, "properties": with_tuples(each["properties"])}) for each in body["nodes"]
            ),
            edges=tuple(
                ResultEdge(**{**each, "properties": with_tuples(each["properties"])}) for each in body["edges"]
            ),
        )

    @contextlib.contextmanager
    def _dropped_if_it_fails(self, table: _Table) -> Iterator[None]:
        try:
            yield
        except BaseException:
            table.dropped = True
            if not self._slot.again:
                self._records.pop(table.handle, None)
            with contextlib.suppress(StorageError):
                self._fetch(f'DROP TABLE IF EXISTS "{table.handle}"')
            raise

    def _drop_unknown(self) -> None:
        """Drop what belongs to no record: a table that a process left half written, or results behind a branch."""
        if self._file.finished:
            return
        for (name,) in self._fetch("SELECT table_name FROM duckdb_tables() WHERE table_name <> 'records'"):
            if name not in self._records:
                self._fetch(f'DROP TABLE "{name}"')
        self._fetch("DELETE FROM records WHERE NOT list_contains(?::VARCHAR[], handle)", [list(self._records)])


def _write_record(cursor: duckdb.DuckDBPyConnection, record: _Record, body: str | None) -> None:
    handle = record.result.handle
    cursor.execute("DELETE FROM records WHERE handle = ?", [handle])
    cursor.execute("INSERT INTO records VALUES (?, ?, ?)", [handle, json.dumps(asdict(record)), body])


def _record_of(text: str) -> _Record:
    members = json.loads(text)
    result = members.pop("result")
    columns, notes = tuple(ResultColumn(**each) for each in result.pop("columns")), tuple(result.pop("notes"))
    return _Record(**members, result=Result(**result, columns=columns, notes=notes))


def _named_apart(columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """Return columns with different names: of equal ones the second becomes ``name_2``, and so on."""
    named: dict[str, ResultColumn] = {}
    for column in columns:
        name, number = column.name, 2
        while name in named:
            name, number = f"{column.name}_{number}", number + 1
        named[name] = replace(column, name=name)
    return list(named.values())


def _array(kind: ColumnType, cells: Sequence[Any]) -> tuple[npt.NDArray[Any], int, int]:
    """Return the cells of a column as they are stored, about how many bytes they are, and how many were lost."""
    lost = 0
    try:
        array = _fitting(kind, cells)
    except (TypeError, ValueError, OverflowError):
        stored = [None if cell is None else _as_type(kind, cell) for cell in cells]
        lost = sum(new is None and old is not None for new, old in zip(stored, cells, strict=True))
        cells, array = stored, _fitting(kind, stored)
    is_text = kind in ("string", "node")
    return array, sum(len(cell) + 2 for cell in cells if cell is not None) if is_text else 9 * len(cells), lost


def _fitting(kind: ColumnType, cells: Sequence[Any]) -> npt.NDArray[Any]:
    """Return cells that are all of the type of a column, or empty.

    :raises TypeError: when one is of another type; other errors, when DuckDB has no such value.
    """
    if not set(map(type, cells)) <= _FITTING[kind] | {type(None)}:
        raise TypeError
    if kind in ("string", "node"):
        "".join(filter(None, cells)).encode()
        texts = np.empty(len(cells), dtype=object)
        texts[:] = cells
        return texts
    values = np.array([0 if cell is None else cell for cell in cells], dtype=_DTYPES[kind])
    if not np.isfinite(values).all():
        raise ValueError
    return np.ma.array(values, mask=[cell is None for cell in cells])


def _as_type(kind: ColumnType, cell: Any) -> Cell:
    """Return a cell as the column can hold it; None where it cannot."""
    if kind in ("string", "node"):
        text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)
        return text.encode(errors="replace").decode()
    if kind == "boolean":
        return bool(cell) if cell in (0, 1) else None
    try:
        number = float(cell) if isinstance(cell, int | float) else math.nan
    except OverflowError:
        return None
    if kind == "number":
        return number if math.isfinite(number) else None
    return int(cell) if number.is_integer() and abs(cell) <= _MOST_INTEGER else None


def _sought(value: Sought, tolerance: float) -> tuple[str, str, dict[str, Any]]:
    """Return the conditions on a cell of texts and on one of numbers, empty where its type rules the value out, and their parameters."""
    if isinstance(value, tuple):
        names = "SELECT fold(name) FROM (SELECT unnest($names) AS name)"
        return f"fold({{0}}) IN ({names})", "", {"names": [_written(each) for each in value]}
    if isinstance(value, str):
        test = "starts_with(fold({0}), fold($name))" if value.endswith(CUT) else "fold({0}) = fold($name)"
        return test, "", {"name": _written(value.removesuffix(CUT))}
    slack, between = tolerance * (1 + _ROUNDING), "BETWEEN $least AND $greatest"
    number = f"TRY_CAST(regexp_extract({{0}}, '{_LEADING_NUMBER}') AS DOUBLE)"
    return f"{number} {between}", f"{{0}} {between}", {"least": value - slack, "greatest": value + slack}


def _written(name: str) -> str:
    """Return a name as the file has it: without lone surrogates."""
    return name.encode(errors="replace").decode()


def _leaves(part: GraphPart) -> Iterator[str]:
    """Yield the ids, types and values of a graph as texts."""
    for node in part.nodes:
        yield from (node.id, node.type)
    for edge in part.edges:
        yield from (edge.type, edge.source, edge.target)
    for properties in [each.properties for each in part.nodes] + [each.properties for each in part.edges]:
        for value in properties.values():
            members = value if isinstance(value, tuple) else (value,)
            yield from (_written(str(one)) for one in members if not isinstance(one, bool))


@contextlib.asynccontextmanager
async def _closed(batches: AsyncIterator[Any]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if isinstance(batches, AsyncGenerator):
            await batches.aclose()
