"""The results of a run: tables, graphs and presentations in one DuckDB file, under handles, with summaries (section 4.2 of the paper)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from ontology.errors import InvalidArgumentError, NotFoundError, StorageError
from planners.calls.model_text import PromptTokens
from planners.stores.property_graph import Properties, Scalar

Cell: TypeAlias = Scalar | None
ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "node"]
"""``node``: the id of a node, which further operators can start from."""
Sought: TypeAlias = str | float | tuple[str, ...]
"""A name, the beginning of one (with ``…`` behind it), a number, or several names of which one is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """A column of a table; ``node_type`` is that of a column of nodes."""

    name: str
    type: ColumnType
    node_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """A table that is being made: its rows come in batches, with one cell for each column."""

    columns: tuple[ResultColumn, ...]
    batches: AsyncIterator[Sequence[tuple[Cell, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """A table that DuckDB computes of others.

    :param text: SQL without LIMIT. A table is named like its handle, in double quotes; its columns are ``c0``, ``c1``, …
    :param of: handles of the tables that it reads.
    """

    columns: tuple[ResultColumn, ...]
    text: str
    of: tuple[str, ...]
    parameters: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultNode:
    """A node; the same node has the same id in all results of one run."""

    id: str
    type: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEdge:
    """A relationship; ``source`` and ``target`` are ids of nodes."""

    type: str
    source: str
    target: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPart:
    """A part of a graph: at most 2,000 nodes and 5,000 relationships, so in memory."""

    nodes: tuple[ResultNode, ...] = ()
    edges: tuple[ResultEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How a table or a graph, ``of`` by its handle, is shown to a person; options are ``x``, ``y`` or ``columns``."""

    kind: Literal["table", "bar", "line", "scatter", "histogram", "graph"]
    of: str
    title: str = ""
    options: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result that stands on disk.

    :param handle: ``t1`` of a table, ``g1`` of a graph, ``p1`` of a presentation; numbered within a run.
    :param size: rows of a table, nodes of a graph.
    :param cut: whether there was more than the limit of the operator.
    :param summary: what a model sees: at most 600 tokens, whatever the size.
    :param notes: of the operator, each one sentence.
    """

    handle: str
    kind: Literal["table", "graph", "presentation"]
    size: int
    summary: str
    columns: tuple[ResultColumn, ...] = ()
    cut: bool = False
    notes: tuple[str, ...] = ()


def order_of(handle: str) -> int:
    """Return the number of a handle: of the invocation that made it."""
    return int(handle[1:])


def with_tuples(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties with tuples for lists: JSON and the engines give lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in properties.items()}


CUT = "…"
"""Stands behind what was cut."""
HEAD, TAIL = 25, 5
"""First and last rows that a summary may show."""
MOST_DISTINCT = 1_000
_MOST_TOKENS = 600
_LIKELY = 4  # characters of a token: a longer text is not counted at all
_TOKENS = PromptTokens()
_TITLE = 4  # a title may have as many characters as this number of cells
_SAMPLE_HEAD, _SAMPLE_TAIL = 8, 3
"""Rows of a table that does not stand whole: few, so that prompts are about as long for a graph a tenth as large."""
# From all to little; the first that fits is taken. Rows go before columns: a column that is not named cannot be asked for.
_TABLE_DETAILS = ((40, 25, 5, 80, 6), (40, 6, 3, 40, 4), (24, 4, 2, 32, 3), (8, 3, 1, 20, 2), (1, 1, 0, 8, 0))
"""Columns, rows of the head and of the tail, characters of a cell, notes."""
_GRAPH_DETAILS = ((8, 4, 60, 20, 4), (5, 4, 40, 12, 3), (3, 1, 16, 5, 2), (0, 0, 8, 1, 0))
"""Nodes, properties of a node, characters of a text, types, notes."""


@dataclass(slots=True)
class ColumnStats:
    """Of the values of a column; ``distinct`` is None above :data:`MOST_DISTINCT`."""

    column: ResultColumn
    count: int = 0
    least: Any = None
    greatest: Any = None
    _values: set[Cell] = field(default_factory=set)

    @property
    def distinct(self) -> int | None:
        """How many different values there are."""
        return None if len(self._values) > MOST_DISTINCT else len(self._values)

    def add(self, cells: Sequence[Cell]) -> None:
        """Take further values of the column."""
        some: list[Any] = [cell for cell in cells if cell is not None]
        if some:
            ranged = some if self.count == 0 else [self.least, self.greatest, *some]
            self.least, self.greatest = min(ranged), max(ranged)
            self.count += len(some)
            if self.distinct is not None:
                self._values.update(some)


@dataclass(slots=True, kw_only=True)
class TableStats:
    """Of a table; ``head`` and ``tail`` are its first and last rows, and may overlap."""

    columns: Sequence[ColumnStats]
    rows: int = 0
    head: list[tuple[Cell, ...]] = field(default_factory=list)
    tail: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, columns: Sequence[Sequence[Cell]]) -> None:
        """Take further rows, as columns."""
        for each, cells in zip(self.columns, columns, strict=True):
            each.add(cells)
        rows = list(zip(*columns, strict=True))
        self.rows += len(rows)
        self.head += rows[: HEAD - len(self.head)]
        self.tail = [*self.tail, *rows][-TAIL:]


def table_summary(handle: str, title: str, table: TableStats, *, cut: bool, notes: Sequence[str]) -> str:
    """Return the summary of a table: title, size, columns with counts and ranges, first and last rows."""
    text = ""
    for columns, head, tail, cell, most_notes in _TABLE_DETAILS:
        lines = [f"{handle}: {shown_text(title, _TITLE * cell)}"]
        lines += [f"rows: {table.rows}" + (" (cut: there were more)" if cut else ""), "columns:"]
        lines += [_column_line(each, cell) for each in table.columns[:columns]]
        if more := table.columns[columns:]:
            names = ", ".join(shown_text(each.column.name, cell) for each in more[: columns // 2])
            lines.append(f"and {len(more)} more columns" + (f": {names}, …" if names else ""))
        lines += _row_lines(table, columns, head, tail, cell)
        lines += [f"note: {shown_text(note, _TITLE * cell)}" for note in notes[:most_notes]]
        text = "\n".join(lines)
        if fits(text):
            break
    return text


def _column_line(each: ColumnStats, most: int) -> str:
    column = each.column
    kind = f"node of {shown_text(column.node_type, most)}" if column.node_type else column.type
    distinct = f"more than {MOST_DISTINCT}" if each.distinct is None else str(each.distinct)
    line = f"- {shown_text(column.name, most)}: {kind}, {each.count} values, {distinct} distinct"
    if column.type == "node" or not each.count:
        return line
    return f"{line}, {shown_cell(each.least, most)} to {shown_cell(each.greatest, most)}"


def _row_lines(table: TableStats, columns: int, head: int, tail: int, cell: int) -> Iterator[str]:
    """Show first and last rows, without the ids of nodes where there is something else to show."""
    shown = range(min(len(table.columns), columns))
    places = [at for at in shown if table.columns[at].column.type != "node"] or list(shown)
    if not table.rows or not places:
        return
    kept = len(table.head)
    whole = table.rows <= min(head + tail, kept)
    first = kept if whole else min(head, _SAMPLE_HEAD, kept)
    last = 0 if whole else min(tail, _SAMPLE_TAIL, table.rows - first, len(table.tail))
    yield f"rows 1 to {first} ({' | '.join(shown_text(table.columns[at].column.name, cell) for at in places)}):"
    yield from (shown_row(row, places, cell) for row in table.head[:first])
    if last:
        yield f"rows {table.rows - last + 1} to {table.rows}:"
        yield from (shown_row(row, places, cell) for row in table.tail[-last:])


def graph_summary(handle: str, title: str, part: GraphPart, *, cut: bool, notes: Sequence[str]) -> str:
    """Return the summary of a graph: counts by type and a small preview, as JSON."""
    text = ""
    for most, properties, chars, types, most_notes in _GRAPH_DETAILS:
        nodes, edges = _chosen(part, most)
        ids = {node.id: f"n{at}" for at, node in enumerate(nodes, 1)}
        said = ["There was more: the graph is cut."] if cut else []
        fields = {
            "summary": shown_text(title, _TITLE * chars),
            "graph_handle": handle,
            "preview_graph_stats": {
                "nodes": len(part.nodes),
                "relationships": len(part.edges),
                "node_types": _counts((each.type for each in part.nodes), types, chars),
                "relationship_types": _counts((each.type for each in part.edges), types, chars),
            },
            "preview_graph": {
                "nodes": [
                    {"id": ids[each.id], "type": shown_text(each.type, chars), **_some(each, properties, chars)}
                    for each in nodes
                ],
                "relationships": [
                    {"type": shown_text(each.type, chars), "source": ids[each.source], "target": ids[each.target]}
                    for each in edges
                ],
            },
            "notes": said + [shown_text(note, _TITLE * chars) for note in notes[:most_notes]],
        }
        text = _on_one_line(json.dumps(fields, ensure_ascii=False))
        if fits(text):
            break
    return text


def _counts(types: Iterable[str], most: int, chars: int) -> dict[str, int]:
    """Return the most frequent types with their counts; the others are counted together."""
    ranked = sorted(Counter(types).items(), key=lambda pair: (-pair[1], pair[0]))
    counts = {shown_text(name, chars): count for name, count in ranked[:most]}
    if rest := ranked[most:]:
        counts[f"{len(rest)} more types"] = sum(count for _, count in rest)
    return counts


def _chosen(part: GraphPart, most: int) -> tuple[list[ResultNode], list[ResultEdge]]:
    """Return nodes and the relationships among them: ends of relationships first."""
    known = {node.id: node for node in part.nodes}
    joined = [edge for edge in part.edges if edge.source in known and edge.target in known]
    ends = dict.fromkeys(end for edge in joined for end in (edge.source, edge.target))
    chosen = list(dict.fromkeys([*ends, *known]))[:most]
    return [known[each] for each in chosen], [e for e in joined if e.source in chosen and e.target in chosen][:most]


def _some(node: ResultNode, most: int, chars: int) -> dict[str, Any]:
    """Return a few properties, names first."""
    ranked = sorted(node.properties, key=lambda name: not name.casefold().endswith(("name", "title", "label")))
    found: dict[str, Any] = {}
    for name in ranked[:most]:
        value: Any = node.properties[name]
        if not isinstance(value, bool | int | float):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            value = text if len(text) <= chars else text[:chars] + CUT
        found[shown_text(f"{name}_" if name in ("id", "type") else name, chars)] = value
    return found


def fits(text: str) -> bool:
    """Whether a text is a summary that a model may see."""
    return len(text) <= _MOST_TOKENS * _LIKELY and _TOKENS.count(text) <= _MOST_TOKENS


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
    """Return a text with an escape in place of each character that is not printed: control, format, surrogate."""
    if text.isprintable():
        return text
    escaped = (
        each if each.isprintable() else json.dumps(each)[1:-1] if each <= "\uffff" else "\ufffd" for each in text
    )
    return "".join(escaped)


T = TypeVar("T")
Rows = Sequence[tuple[Cell, ...]]
MOST_BYTES = 512 * 2**20
"""Of one table: twenty times the largest that the graph of the paper gives (230,000 nodes with 7 properties)."""
_OPEN, _FINISHED = "results.duckdb", "results-finished.duckdb"
_SETTINGS: dict[str, Any] = {"threads": 1, "memory_limit": "512MB", "autoinstall_known_extensions": False}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (handle VARCHAR, record VARCHAR, body VARCHAR);
CREATE MACRO IF NOT EXISTS fold(x) AS lower(nfc_normalize(x))
"""
_SQL_TYPES = {"string": "VARCHAR", "node": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
_DTYPES: Mapping[str, Any] = {"integer": np.int64, "number": np.float64, "boolean": np.bool_}
_PART = 20_000  # rows that are written at once
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LEADING_NUMBER = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?"
_ROUNDING = 1e-6  # of a tolerance: 99.425 is shown as 99.42 or 99.43, and lies a little off the middle of both


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """A result; ``counts`` are numbers that are true of it and stand in no cell: rows, distinct values, nodes of a type."""

    result: Result
    counts: Sequence[float] = ()


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
        """Run ``work`` in a transaction, in any thread."""
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
    """A table while it is written, and what its summary says of the rows so far."""

    def __init__(self, handle: str, columns: Sequence[ResultColumn], most: int) -> None:
        self.handle, self.columns, self._most = handle, _named_apart(columns), most
        self.stats = TableStats(columns=[ColumnStats(each) for each in self.columns])
        self.size, self.cut, self.dropped = 0, False, False
        self._lost: Counter[str] = Counter()

    def write(self, cursor: duckdb.DuckDBPyConnection, rows: Rows) -> bool:
        """Write rows, and return whether there is room for more."""
        if self.dropped:
            return False
        if not (self.stats.rows or self.cut):
            named = ", ".join(f"c{at} {_SQL_TYPES[each.type]}" for at, each in enumerate(self.columns))
            cursor.execute(f'CREATE OR REPLACE TABLE "{self.handle}" ({named})')
        kept = rows[: self._most - self.stats.rows]
        self.cut |= len(kept) < len(rows) or self.size > MOST_BYTES
        if kept and self.size <= MOST_BYTES:
            part: dict[str, npt.NDArray[Any]] = {}
            stored = []
            for at, (each, cells) in enumerate(zip(self.columns, zip(*kept, strict=True), strict=True)):
                fitting = [None if cell is None else _as_type(each.type, cell) for cell in cells]
                self._lost[each.name] += fitting.count(None) - cells.count(None)
                self.size += sum(len(cell) + 2 if isinstance(cell, str) else 9 for cell in fitting)
                part[f"c{at}"] = _array(each.type, fitting)
                stored.append(fitting)
            cursor.register("part", part)
            cursor.execute(f'INSERT INTO "{self.handle}" SELECT * FROM part')
            cursor.unregister("part")
            self.stats.add(stored)
        return not self.cut

    @property
    def notes(self) -> list[str]:
        """What is to be said of the table."""
        types = {each.name: each.type for each in self.columns}
        notes = [f"{n} cells of {name} are no {types[name]} and were emptied." for name, n in self._lost.items() if n]
        if self.cut and self.stats.rows < self._most:
            notes.append(
                f"The table was cut at row {self.stats.rows}: no result may be larger than {MOST_BYTES} bytes."
            )
        return notes


class ResultStore:
    """The results of one run. Several operators may write at once.

    Results are numbered by the invocation that made them, whatever its kind: ``t1``, ``g2``, ``t3``. Before the invocations of a step
    run, each gets its own view with :meth:`for_invocation`, so that the numbers do not depend on who ends first.

    :param folder: has one file. It is made where it is missing; the results of a finished run can only be read.
    :raises StorageError: when the folder cannot be written, or the file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._file = _File(folder)
        self._saving = Lock()
        self._records = {handle: _record_of(text) for handle, text in self._fetch("SELECT handle, record FROM records")}
        self._last = [max(map(order_of, self._records), default=0)]
        self._number = 0
        self._drop_unknown()

    def for_invocation(self, number: int | None = None) -> ResultStore:
        """Return a view for one invocation, the next one or that of a number, whose one result gets this number."""
        view = copy.copy(self)
        view._number = self._take(number)
        return view

    def _take(self, number: int | None = None) -> int:
        number = number or self._last[0] + 1
        self._last[0] = max(self._last[0], number)
        return number

    async def keep_table(self, rows: TableRows, *, title: str, most: int, notes: Sequence[str] = ()) -> Result:
        """Write a table. Of more than ``most`` rows the first are kept, and the result is ``cut``.

        Columns of equal names get different ones. A cell that is no value of the type of its column is emptied, and a note says so.

        :raises StorageError: when the disk is full.
        """
        table = _Table(self._handle("t"), rows.columns, most)
        waiting: list[tuple[Cell, ...]] = []
        with self._dropped_if_it_fails(table):
            try:
                async for batch in rows.batches:
                    waiting += batch
                    if len(waiting) >= min(_PART, most + 1):
                        has_room = await asyncio.to_thread(self._file.run, partial(table.write, rows=waiting))
                        waiting = []
                        if not has_room:
                            break
            finally:
                if isinstance(rows.batches, AsyncGenerator):
                    await rows.batches.aclose()
            return await asyncio.to_thread(self._finish_table, table, waiting, title, notes)

    async def keep_query(self, query: TableQuery, *, title: str, most: int, notes: Sequence[str] = ()) -> Result:
        """Write a table that is computed of others.

        :raises InvalidArgumentError: when a sum has more than 64 bits.
        :raises StorageError: when the disk is full.
        """
        table = _Table(self._handle("t"), query.columns, most)

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
        handle, said = self._handle("g"), tuple(notes)
        summary = graph_summary(handle, title, part, cut=cut, notes=said)
        types = Counter([*(each.type for each in part.nodes), *(each.type for each in part.edges)])
        counts = [] if cut else [len(part.nodes), len(part.edges), *types.values()]
        result = Result(handle=handle, kind="graph", size=len(part.nodes), summary=summary, cut=cut, notes=said)
        return await asyncio.to_thread(self._keep, _Record(result=result, counts=counts), json.dumps(asdict(part)))

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
        return await asyncio.to_thread(self._keep, _Record(result=result), json.dumps(asdict(shown)))

    @property
    def handles(self) -> tuple[str, ...]:
        """The handles there are, in the order of the invocations."""
        return tuple(sorted(self._records, key=order_of))

    def result(self, handle: str) -> Result:
        """Return what stands under a handle.

        :raises NotFoundError: when nothing does; the remedy lists the handles there are.
        """
        if handle not in self._records:
            known = ", ".join(self.handles[-20:]) or "none yet"
            raise NotFoundError("there is no such result", subject=handle, remedy=f"Results are: {known}")
        return self._records[handle].result

    async def rows(self, handle: str, *, offset: int = 0, limit: int = 100) -> list[tuple[Cell, ...]]:
        """Return rows of a table, in their order."""
        self._check(handle, "table")
        query = f'SELECT * FROM "{handle}" WHERE rowid >= ? AND rowid < ? ORDER BY rowid'
        return await asyncio.to_thread(self._fetch, query, [offset, offset + limit])

    async def graph(self, handle: str) -> GraphPart:
        """Return a graph."""
        self._check(handle, "graph")
        return await asyncio.to_thread(self._graph, handle)

    async def presentation(self, handle: str) -> Presentation:
        """Return a presentation."""
        self._check(handle, "presentation")
        fields = await asyncio.to_thread(self._body, handle)
        return Presentation(**{**fields, "options": with_tuples(fields["options"])})

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
        if not self._file.finished:
            await asyncio.to_thread(self._file.finish)

    def branch(self, folder: Path, *, upto: int | None = None) -> ResultStore:
        """Copy results into another folder, for a run that goes on from there.

        :param upto: number of the last invocation whose results are kept; all where it is None.
        """
        self._file.copy(folder)
        other = ResultStore(folder)
        if upto is not None:
            other._records = {each: kept for each, kept in other._records.items() if order_of(each) <= upto}
            other._drop_unknown()
            other._last = [upto]
        return other

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _handle(self, kind: str) -> str:
        if self._file.finished:
            problem = "the results of a finished run cannot be changed"
            raise InvalidArgumentError(problem, subject="results", remedy="Branch the run")
        return f"{kind}{self._number or self._take()}"

    def _check(self, handle: str, kind: str) -> None:
        if (known := self.result(handle).kind) != kind:
            raise InvalidArgumentError(f"it is a {known}, not a {kind}", subject=handle)

    def _finish_table(self, table: _Table, rows: Rows, title: str, notes: Sequence[str]) -> Result:
        """Write the last rows, and the record of the table, in one transaction: each waits for the disk."""

        def finish(cursor: duckdb.DuckDBPyConnection) -> Result:
            if rows or not (table.stats.rows or table.cut):
                table.write(cursor, rows)
            stats, said = table.stats, (*notes, *table.notes)
            counts = [stats.rows, *(each.count for each in stats.columns)]
            counts += [each.distinct for each in stats.columns if each.distinct is not None]
            result = Result(
                handle=table.handle,
                kind="table",
                size=stats.rows,
                summary=table_summary(table.handle, title, stats, cut=table.cut, notes=said),
                columns=tuple(table.columns),
                cut=table.cut,
                notes=said,
            )
            return self._save(cursor, _Record(result=result, counts=() if table.cut else counts))

        with self._saving:
            return self._file.run(finish)

    def _keep(self, record: _Record, body: str) -> Result:
        with self._saving:
            return self._file.run(lambda cursor: self._save(cursor, record, body))

    def _save(self, cursor: duckdb.DuckDBPyConnection, record: _Record, body: str | None = None) -> Result:
        handle = record.result.handle
        if handle in self._records:
            cursor.execute("DELETE FROM records WHERE handle = ?", [handle])
        cursor.execute("INSERT INTO records VALUES (?, ?, ?)", [handle, json.dumps(asdict(record)), body])
        self._records[handle] = record
        return record.result

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

    def _body(self, handle: str) -> Any:
        return json.loads(self._fetch("SELECT body FROM records WHERE handle = ?", [handle])[0][0])

    def _graph(self, handle: str) -> GraphPart:
        made: tuple[tuple[str, Any], ...] = (("nodes", ResultNode), ("edges", ResultEdge))
        body = self._body(handle)
        return GraphPart(
            **{
                name: tuple(of(**{**each, "properties": with_tuples(each["properties"])}) for each in body[name])
                for name, of in made
            }
        )

    @contextlib.contextmanager
    def _dropped_if_it_fails(self, table: _Table) -> Iterator[None]:
        try:
            yield
        except BaseException:
            table.dropped = True
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


def _record_of(text: str) -> _Record:
    members = json.loads(text)
    result = members["result"]
    columns, notes = tuple(ResultColumn(**each) for each in result.pop("columns")), tuple(result.pop("notes"))
    return _Record(result=Result(**result, columns=columns, notes=notes), counts=members["counts"])


def _named_apart(columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """Return columns with different names: of equal ones the second becomes ``name_2``, and so on."""
    named: dict[str, ResultColumn] = {}
    for column in columns:
        name, number = column.name, 2
        while name in named:
            name, number = f"{column.name}_{number}", number + 1
        named[name] = replace(column, name=name)
    return list(named.values())


def _array(kind: ColumnType, cells: Sequence[Any]) -> npt.NDArray[Any]:
    if kind in ("string", "node"):
        texts = np.empty(len(cells), dtype=object)
        texts[:] = cells
        return texts
    values = np.array([0 if cell is None else cell for cell in cells], dtype=_DTYPES[kind])
    return np.ma.array(values, mask=[cell is None for cell in cells])


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


def _sought(value: Sought, tolerance: float) -> tuple[str, str, dict[str, Any]]:
    """Return the conditions on a cell of texts and on one of numbers, empty where its type rules the value out, and their parameters."""
    if isinstance(value, tuple):
        names = "SELECT fold(name) FROM (SELECT unnest($names) AS name)"
        return f"fold({{0}}) IN ({names})", "", {"names": [written(each) for each in value]}
    if isinstance(value, str):
        test = "starts_with(fold({0}), fold($name))" if value.endswith(CUT) else "fold({0}) = fold($name)"
        return test, "", {"name": written(value.removesuffix(CUT))}
    slack, between = tolerance * (1 + _ROUNDING), "BETWEEN $least AND $greatest"
    number = f"TRY_CAST(regexp_extract({{0}}, '{_LEADING_NUMBER}') AS DOUBLE)"
    return f"{number} {between}", f"{{0}} {between}", {"least": value - slack, "greatest": value + slack}


def written(name: str) -> str:
    """Return a text as the file has it: without lone surrogates."""
    return name.encode(errors="replace").decode()


def _leaves(part: GraphPart) -> Iterator[str]:
    """Yield the ids, types and values of a graph as texts."""
    for node in part.nodes:
        yield from (node.id, node.type)
    for edge in part.edges:
        yield from (edge.type, edge.source, edge.target)
    for properties in (each.properties for of in (part.nodes, part.edges) for each in of):
        for value in properties.values():
            members = value if isinstance(value, tuple) else (value,)
            yield from (written(str(one)) for one in members if not isinstance(one, bool))
