"""The results of a run: tables in one DuckDB file, under handles, with summaries (section 4.2 of the paper)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from ontology.errors import InvalidArgumentError, NotFoundError, StorageError
from planners.calls.model_text import prompt_tokens
from planners.stores.property_graph import Scalar

Cell: TypeAlias = Scalar | None
# ``node``: the id of a node, which further operators can start from
ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "node"]
Sought: TypeAlias = str | float | tuple[str, ...]  # a name, a number, or several names of which one is enough
Rows: TypeAlias = Sequence[tuple[Cell, ...]]
_Cursor: TypeAlias = duckdb.DuckDBPyConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """A column of a table; ``node_type`` is that of a column of nodes."""

    name: str
    type: ColumnType
    node_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """A table that DuckDB computes of others."""

    columns: tuple[ResultColumn, ...]
    # SQL without LIMIT. A table is named like its handle, in double quotes; its columns are ``c0``, ``c1``, …
    text: str
    parameters: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A table that stands on disk; the result of ``show`` is of kind ``presentation``, and has the handle of what is shown."""

    handle: str  # ``t1``, ``t2``, … within a run
    kind: Literal["table", "presentation"]
    size: int  # its rows
    summary: str  # what a model sees: at most 600 tokens, whatever the size
    columns: tuple[ResultColumn, ...] = ()
    cut: bool = False  # whether there was more than the limit of the operator
    notes: tuple[str, ...] = ()  # of the operator, each one sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """A result; ``counts`` are numbers that are true of it and stand in no cell: rows, values, distinct values."""

    result: Result
    counts: tuple[int, ...] = ()


_RECORD = TypeAdapter(_Record)


def order_of(handle: str) -> int:
    """Return the number of a handle, which is that of the invocation that made it."""
    return int(handle[1:])


# Summaries

CUT = "…"  # stands behind what was cut
_HEAD, _TAIL = 25, 5  # first and last rows that a summary may show
# Rows of a table that does not stand whole: few, so that prompts are about as long for a graph a tenth as large
_SAMPLE_HEAD, _SAMPLE_TAIL = 8, 3
_MOST_DISTINCT = 1_000
_MOST_COLUMNS = 40  # of which a summary says more than the name
_MOST_TOKENS = 600
_LIKELY = 4  # characters of a token: a longer text is not counted at all
_TITLE = 4  # a title may have as many characters as this number of cells
# From all to little; the first that fits is taken. Rows go before columns: a column that is not named cannot be asked for.
# Columns, rows of the head and of the tail, characters of a cell, notes
_TABLE_DETAILS = ((40, 25, 5, 80, 6), (40, 6, 3, 40, 4), (24, 4, 2, 32, 3), (8, 3, 1, 20, 2), (1, 1, 0, 8, 0))


class _ColumnStats(NamedTuple):
    column: ResultColumn
    values: int
    distinct: int
    least: Cell
    greatest: Cell


def _table_summary(result: Result, title: str, stats: Sequence[_ColumnStats], head: Rows, tail: Rows) -> str:
    """Title, size, columns with counts and ranges, first and last rows."""
    text = ""
    for columns, first, last, cell, notes in _TABLE_DETAILS:
        lines = [f"{result.handle}: {shown_text(title, _TITLE * cell)}"]
        lines += [f"rows: {result.size}" + (" (cut: there were more)" if result.cut else ""), "columns:"]
        lines += [_column_line(each, cell) for each in stats[:columns]]
        if more := result.columns[columns:]:
            names = ", ".join(shown_text(each.name, cell) for each in more[: columns // 2])
            lines.append(f"and {len(more)} more columns" + (f": {names}, …" if names else ""))
        whole = result.size <= min(first + last, len(head))
        first = len(head) if whole else min(first, _SAMPLE_HEAD, len(head))
        last = 0 if whole else min(last, _SAMPLE_TAIL, result.size - first, len(tail))
        shown = range(min(len(stats), columns))
        places = [at for at in shown if stats[at].column.type != "node"] or list(shown)
        if result.size and places:
            names = " | ".join(shown_text(stats[at].column.name, cell) for at in places)
            lines.append(f"rows 1 to {first} ({names}):")
            lines += [shown_row(row, places, cell) for row in head[:first]]
        if result.size and places and last:
            lines.append(f"rows {result.size - last + 1} to {result.size}:")
            lines += [shown_row(row, places, cell) for row in tail[-last:]]
        lines += [f"note: {shown_text(note, _TITLE * cell)}" for note in result.notes[:notes]]
        text = "\n".join(lines)
        if fits(text):
            break
    return text


def _column_line(each: _ColumnStats, most: int) -> str:
    column = each.column
    kind = f"node of {shown_text(column.node_type, most)}" if column.node_type else column.type
    distinct = f"more than {_MOST_DISTINCT}" if each.distinct > _MOST_DISTINCT else str(each.distinct)
    line = f"- {shown_text(column.name, most)}: {kind}, {each.values} values, {distinct} distinct"
    if column.type == "node" or not each.values:
        return line
    return f"{line}, {shown_cell(each.least, most)} to {shown_cell(each.greatest, most)}"


def fits(text: str) -> bool:
    """Whether a text is a summary that a model may see."""
    return len(text) <= _MOST_TOKENS * _LIKELY and prompt_tokens(text) <= _MOST_TOKENS


def shown_row(row: Sequence[Cell], places: Sequence[int], most: int) -> str:
    """Return some cells of a row on one line, texts cut behind ``most`` characters."""
    return " | ".join(shown_cell(row[at], most) for at in places)


def shown_text(text: str, most: int) -> str:
    """Return a title or a name: at most ``most`` characters of it, on one line."""
    line = " ".join(text[: most * 2 + 1].split())
    return _on_one_line(line if len(line) <= most and len(text) <= most * 2 else line[:most] + CUT)


def shown_cell(cell: Cell, most: int) -> str:
    """Return a cell: a JSON string of at most ``most`` characters; numbers are never cut, so they can be read back."""
    if not isinstance(cell, str):
        return repr(cell) if type(cell) is float and math.isfinite(cell) else json.dumps(cell)
    text = _on_one_line(json.dumps(cell[:most], ensure_ascii=False))
    return text if len(cell) <= most else text + CUT


def _on_one_line(text: str) -> str:
    """A text with an escape in place of each character that is not printed: control, format, surrogate."""
    if text.isprintable():
        return text
    escaped = (
        each if each.isprintable() else json.dumps(each)[1:-1] if each <= "\uffff" else "\ufffd" for each in text
    )
    return "".join(escaped)


# The file

_OPEN, _FINISHED = "results.duckdb", "results-finished.duckdb"
_SETTINGS: dict[str, Any] = {"threads": 1, "memory_limit": "512MB", "autoinstall_known_extensions": False}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (handle VARCHAR, record VARCHAR);
CREATE MACRO IF NOT EXISTS fold(x) AS lower(nfc_normalize(x))
"""
_SQL_TYPES = {"string": "VARCHAR", "node": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_DTYPES: Mapping[str, Any] = {"integer": np.int64, "number": np.float64, "boolean": np.bool_}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LEADING_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_ROUNDING = 1e-6  # of a tolerance: 99.425 is shown as 99.42 or 99.43, and lies a little off the middle of both


class ResultStore:
    """The results of one run. Several operators may write at once.

    Results are numbered by the invocation that made them. Before the invocations of a step run, each gets its own view with
    :meth:`for_invocation`, so that the numbers do not depend on who ends first.

    :param folder: has one file, which only its owner may read. It is made where it is missing; that of a finished run has another
        name, and is never written.
    :raises StorageError: when the folder cannot be written, or the file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = Lock()  # a call that is taken again after a cancellation writes the same table
        self._finished = (folder / _FINISHED).exists()
        self._path = folder / (_FINISHED if self._finished else _OPEN)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = self._connect()
        except (OSError, duckdb.Error) as error:
            damaged = "not a valid" in str(error) or not isinstance(error, duckdb.IOException | OSError)
            raise self._unusable(error, "The file is damaged: delete it, and ask again" if damaged else "") from error
        rows = self._fetch("SELECT record FROM records")
        records = [_RECORD.validate_json(text) for (text,) in rows]
        self._records = {each.result.handle: each for each in records}
        self._last = [max(map(order_of, self._records), default=0)]
        self._number = 0

    def for_invocation(self, number: int | None = None) -> ResultStore:
        """Return a view for one invocation, the next one or that of a number, whose one result gets this number."""
        view = copy.copy(self)
        view._number = self._take(number)
        return view

    async def keep_table(
        self, columns: Sequence[ResultColumn], rows: Rows, *, title: str, cut: bool = False, notes: Sequence[str] = ()
    ) -> Result:
        """Write a table; ``cut``: there were more rows. A cell that is no value of the type of its column is emptied, and a note says so.

        :raises StorageError: when the disk is full.
        """

        def fill(cursor: _Cursor, handle: str) -> tuple[bool, Sequence[str]]:
            return cut, (*notes, *_insert(cursor, handle, columns, rows))

        return await self._kept(columns, title, fill)

    async def keep_query(self, query: TableQuery, *, title: str, most: int, notes: Sequence[str] = ()) -> Result:
        """Write a table that is computed of others.

        :raises InvalidArgumentError: when a sum has more than 64 bits.
        :raises StorageError: when the disk is full.
        """

        def fill(cursor: _Cursor, handle: str) -> tuple[bool, Sequence[str]]:
            insert = f'INSERT INTO "{handle}" {query.text} LIMIT {most + 1}'
            ((count,),) = cursor.execute(insert, list(query.parameters)).fetchall()
            if count > most:
                cursor.execute(f'DELETE FROM "{handle}" WHERE rowid = (SELECT max(rowid) FROM "{handle}")')
            return count > most, notes

        return await self._kept(query.columns, title, fill)

    async def _kept(
        self, columns: Sequence[ResultColumn], title: str, fill: Callable[[_Cursor, str], tuple[bool, Sequence[str]]]
    ) -> Result:
        """Make a table and its record; ``fill`` writes its rows, and tells whether there were more, and its notes."""
        if self._finished:
            problem = "the results of a finished run cannot be changed"
            raise InvalidArgumentError(problem, subject="results", remedy="Ask again, with another journal")
        handle = f"t{self._number or self._take()}"
        forms = ", ".join(f"c{at} {_SQL_TYPES[each.type]}" for at, each in enumerate(columns))

        def kept() -> Result:
            with self._transaction() as cursor:
                cursor.execute(f'CREATE OR REPLACE TABLE "{handle}" ({forms})')
                cut, notes = fill(cursor, handle)
                return self._finish_table(cursor, handle, columns, title, cut, notes)

        return await asyncio.to_thread(kept)

    @property
    def handles(self) -> tuple[str, ...]:
        """The handles there are, in the order of the invocations."""
        return tuple(sorted(self._records, key=order_of))

    def result(self, handle: str) -> Result:
        """Return what stands under a handle; raises NotFoundError, whose remedy lists the handles there are, when nothing does."""
        if handle not in self._records:
            known = ", ".join(self.handles[-20:]) or "none yet"
            raise NotFoundError("there is no such result", subject=handle, remedy=f"Results are: {known}")
        return self._records[handle].result

    async def rows(self, handle: str, *, offset: int = 0, limit: int = 100) -> list[tuple[Cell, ...]]:
        """Return rows of a table, in their order."""
        self.result(handle)
        query = f'SELECT * FROM "{handle}" ORDER BY rowid LIMIT ? OFFSET ?'
        return await asyncio.to_thread(self._fetch, query, [limit, offset])

    async def has_value(self, value: Sought, *, tolerance: float = 0.0) -> str | None:
        """Return the handle of the newest result in which a number, a name or one of several names stands; None where none does.

        All rows are read, not the previews. Names are equal without case; one that ends in ``…`` is the beginning of one. Numbers are
        also counts: of rows and distinct values of a table that is not cut, of nodes and relationships by type, and those in notes.

        :param tolerance: how far a number may be off: half a unit of the last digit that is shown.
        """
        for handle in reversed(self.handles):
            if await asyncio.to_thread(self._has, self._records[handle], value, tolerance):
                return handle
        return None

    async def close_for_writing(self) -> None:
        """End the run: from now on its results can only be read, here and wherever the folder is opened again."""
        if not self._finished:
            self._connection.close()
            self._path, self._finished = self._path.rename(self._path.with_name(_FINISHED)), True
            self._connection = self._connect()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _connect(self) -> _Cursor:
        connection = duckdb.connect(self._path, read_only=self._finished, config=_SETTINGS)
        if not self._finished:
            self._path.chmod(0o600)
            connection.execute(_SCHEMA)
        return connection

    def _take(self, number: int | None = None) -> int:
        number = number or self._last[0] + 1
        self._last[0] = max(self._last[0], number)
        return number

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[_Cursor]:
        """Give a cursor; what it wrote is there whole at the end, or, when something fails or is cancelled, not at all."""
        try:
            with self._lock, self._connection.cursor() as cursor:
                cursor.begin()
                yield cursor
        except duckdb.DataError as error:
            raise InvalidArgumentError("a sum has more than 64 bits", subject="results") from error
        except (OSError, duckdb.Error) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception, remedy: str = "") -> StorageError:
        remedy = remedy or "Check free space and permissions, and that no other process uses it, then ask again"
        return StorageError(f"results cannot be kept or read: {error}", subject=str(self._path), remedy=remedy)

    def _finish_table(
        self, cursor: _Cursor, handle: str, columns: Sequence[ResultColumn], title: str, cut: bool, notes: Sequence[str]
    ) -> Result:
        """Write the record of a table, with its size and its summary."""
        named, of = _named_apart(columns), f'FROM "{handle}"'
        ((size,),) = cursor.execute(f"SELECT count(*) {of}").fetchall()
        head = cursor.execute(f"SELECT * {of} ORDER BY rowid LIMIT {_HEAD}").fetchall()
        tail = cursor.execute(f"SELECT * {of} ORDER BY rowid OFFSET {max(0, size - _TAIL)}").fetchall()
        stats = list[_ColumnStats]()
        for at, each in enumerate(named[:_MOST_COLUMNS]):
            aggregates = f"count(c{at}), count(DISTINCT c{at}), min(c{at}), max(c{at})"
            stats += [_ColumnStats(each, *row) for row in cursor.execute(f"SELECT {aggregates} {of}").fetchall()]
        told = tuple(map(written, notes))
        result = Result(handle=handle, kind="table", size=size, summary="", columns=tuple(named), cut=cut, notes=told)
        result = replace(result, summary=_table_summary(result, title, stats, head, tail))
        distinct = [each.distinct for each in stats if each.distinct <= _MOST_DISTINCT]
        record = _Record(result=result, counts=() if cut else (size, *(each.values for each in stats), *distinct))
        if handle in self._records:  # of an invocation that is taken again
            cursor.execute("DELETE FROM records WHERE handle = ?", [handle])
        cursor.execute("INSERT INTO records VALUES (?, ?)", [handle, _RECORD.dump_json(record).decode()])
        cursor.commit()
        self._records[handle] = record
        return result

    def _has(self, record: _Record, value: Sought, tolerance: float) -> bool:
        result = record.result
        if isinstance(value, int | float):
            noted = (float(found) for note in result.notes for found in _NUMBER.findall(note))
            if any(abs(each - value) <= tolerance for each in (*record.counts, *noted)):
                return True
        text, number, values = _conditions(value, tolerance)
        of_kind = {"string": text, "node": text, "integer": number, "number": number}
        tests = [test.format(f"c{at}") for at, each in enumerate(result.columns) if (test := of_kind.get(each.type))]
        query = f'SELECT 1 FROM "{result.handle}" WHERE {" OR ".join(tests)} LIMIT 1'
        return bool(tests and self._fetch(query, values))

    def _fetch(self, query: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        with self._transaction() as cursor:
            found = cursor.execute(query, parameters).fetchall()
            cursor.commit()
            return found


def _insert(cursor: _Cursor, handle: str, columns: Sequence[ResultColumn], rows: Rows) -> Iterator[str]:
    """Write rows, and return a note for each column that lost cells."""
    if not rows:
        return
    part: dict[str, npt.NDArray[Any]] = {}
    for at, (each, cells) in enumerate(zip(columns, zip(*rows, strict=True), strict=True)):
        fitting = [None if cell is None else _as_type(each.type, cell) for cell in cells]
        if each.type in ("string", "node"):
            part[f"c{at}"] = np.empty(len(fitting), dtype=object)
            part[f"c{at}"][:] = fitting
        else:
            values = np.array([0 if cell is None else cell for cell in fitting], dtype=_DTYPES[each.type])
            part[f"c{at}"] = np.ma.array(values, mask=[cell is None for cell in fitting])
        if lost := fitting.count(None) - cells.count(None):
            yield f"{lost} cells of {each.name} are no {each.type} and were emptied."
    cursor.register("part", part)
    cursor.execute(f'INSERT INTO "{handle}" SELECT * FROM part')
    cursor.unregister("part")


def _named_apart(columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """Columns with different names: of equal ones the second becomes ``name_2``, and so on."""
    named: dict[str, ResultColumn] = {}
    for column in columns:
        stem, number = written(column.name), 2
        name = stem
        while name in named:
            name, number = f"{stem}_{number}", number + 1
        named[name] = replace(column, name=name)
    return list(named.values())


def _as_type(kind: ColumnType, cell: Any) -> Cell:
    if kind in ("string", "node"):
        text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)
        return text if text.isascii() else written(text)
    if kind == "boolean":
        return bool(cell) if cell in (0, 1) else None
    if not isinstance(cell, int | float) or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    if kind == "number":
        return float(cell) if abs(cell) <= sys.float_info.max else None
    return int(cell) if cell == int(cell) and abs(cell) < 2**63 else None


def _conditions(value: Sought, tolerance: float) -> tuple[str, str, dict[str, Any]]:
    """The conditions on a cell of texts and on one of numbers, empty where its type rules the value out, and their parameters."""
    if isinstance(value, tuple):
        names = "SELECT fold(name) FROM (SELECT unnest($names) AS name)"
        return f"fold({{0}}) IN ({names})", "", {"names": [written(each) for each in value]}
    if isinstance(value, str):
        test = "starts_with(fold({0}), fold($name))" if value.endswith(CUT) else "fold({0}) = fold($name)"
        return test, "", {"name": written(value.removesuffix(CUT))}
    slack, between = tolerance * (1 + _ROUNDING), "BETWEEN $least AND $greatest"
    number = f"TRY_CAST(regexp_extract({{0}}, '{_LEADING_NUMBER}') AS DOUBLE)"
    return f"{number} {between}", f"{{0}} {between}", {"least": value - slack, "greatest": value + slack}


def written(text: str) -> str:
    """Return a text as the file has it: without lone surrogates."""
    return text.encode(errors="replace").decode()
