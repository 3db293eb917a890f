"""A graph in a folder of CSV files, with headers close to those of Neo4j's import.

::

    nodes_Person.csv               key:ID,name,age:int,born:date
    relationships_KNOWS.csv        :START_ID(Person),:END_ID(Person),since:int
    relationships_KNOWS.2.csv      :START_ID(Person),:END_ID(Company),since:int

The type stands in the name of the file, a further pair of ends in one with a number. ``:ID`` marks the key; ``:ID(int)`` has integers.
A type after a colon is one of string (the default), int, long, float, double, boolean, date. An empty cell is no value.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ontology.errors import DocumentError
from planners.stores.loading.cell_readers import CELL_READERS
from planners.stores.loading.loaded_tables import ColumnType, NodeTable, RelationshipTable

__all__ = ["csv_tables"]

_FILE = re.compile(r"(nodes|relationships)_(.+?)(?:\.\d+)?\.csv")
_TYPES: dict[str, ColumnType] = {
    "": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "number": "number",
    "boolean": "boolean",
    "date": "date",
}
_HEADER = re.compile(r"(?P<name>[^:]*)(?::(?P<word>ID|START_ID|END_ID)(?:\((?P<inner>[^)]*)\))?|:(?P<type>\w*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of a header.

    :param word: ``ID``, ``START_ID``, ``END_ID`` or empty.
    :param inner: what stands in brackets after it.
    """

    name: str
    word: str
    inner: str
    type: ColumnType


def csv_tables(folder: Path) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Return the tables of a folder; their rows are read when they are gone through.

    :raises DocumentError: when there is no file of nodes, or a header is at fault.
    """
    nodes: list[NodeTable] = []
    others: list[tuple[Path, str, list[_Column]]] = []
    for path in sorted(folder.glob("*.csv")):
        named = _FILE.fullmatch(path.name)
        if named is None:
            raise DocumentError(
                "the name says neither nodes nor relationships",
                subject=str(path),
                remedy="Call it nodes_TYPE.csv or relationships_TYPE.csv",
            )
        columns = _header(path)
        if named[1] == "nodes":
            nodes.append(_nodes(path, named[2], columns))
        else:
            others.append((path, named[2], columns))
    if not nodes:
        raise DocumentError(
            "the folder has no file of nodes", subject=str(folder), remedy="Put nodes_TYPE.csv there", reason="empty"
        )
    keys = {node.type: type_ for node in nodes for name, type_ in node.columns if name == node.key}
    return nodes, [_relationships(path, type_, columns, keys) for path, type_, columns in others]


def _nodes(path: Path, type_: str, columns: Sequence[_Column]) -> NodeTable:
    keys = [column for column in columns if column.word == "ID"]
    if len(keys) != 1 or any(not column.name for column in columns):
        raise _header_fault(
            path, "exactly one column must be the key, and each needs a name", "Write key:ID,name,age:int"
        )
    return NodeTable(
        type=type_,
        columns=tuple((column.name, column.type) for column in columns),
        key=keys[0].name,
        rows=_Rows(path, columns),
        source=str(path),
        lines=_Lines(path),
    )


def _relationships(
    path: Path, type_: str, columns: Sequence[_Column], keys: Mapping[str, ColumnType]
) -> RelationshipTable:
    """Return a table.

    :param keys: type of nodes → the type of their key.
    """
    words = [column.word for column in columns[:2]]
    ends = columns[:2]
    if words != ["START_ID", "END_ID"] or not all(end.inner for end in ends) or not all(c.name for c in columns[2:]):
        raise _header_fault(
            path,
            "the first columns must be the ends, with types of nodes",
            "Write :START_ID(Person),:END_ID(Person),since:int",
        )
    return RelationshipTable(
        type=type_,
        source_type=ends[0].inner,
        target_type=ends[1].inner,
        columns=tuple((column.name, column.type) for column in columns[2:]),
        rows=_Rows(path, [*(replace(end, type=keys.get(end.inner, "string")) for end in ends), *columns[2:]]),
        source=str(path),
        lines=_Lines(path),
    )


def _header(path: Path) -> list[_Column]:
    first = next(_cells(path), (1, list[str]()))[1]
    columns = []
    for cell in first:
        read = _HEADER.fullmatch(cell.strip())
        kind = _TYPES.get((read["type"] or "").lower()) if read else None
        if read is None or kind is None:
            raise _header_fault(path, f"{cell[:40]!r} is no column", f"Types are {', '.join(list(_TYPES)[1:])}")
        if read["word"] == "ID" and read["inner"] in ("int", "long", "integer"):
            kind = "integer"
        columns.append(
            _Column(name=read["name"].strip(), word=read["word"] or "", inner=read["inner"] or "", type=kind)
        )
    if not columns:
        raise _header_fault(path, "the file has no header", "Write key:ID,name,age:int")
    return columns


class _Rows:
    """The rows of a file, each time they are gone through."""

    def __init__(self, path: Path, columns: Sequence[_Column]) -> None:
        self._path = path
        self._columns = columns

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        converters = [CELL_READERS[column.type] for column in self._columns]
        rows = _cells(self._path)
        next(rows)
        for line, cells in rows:
            if len(cells) != len(converters):
                problem = f"the row has {len(cells)} cells for {len(converters)} columns"
                raise DocumentError(problem, subject=f"{self._path}:{line}", reason="wrong-columns")
            try:
                yield tuple([convert(cell) if cell else None for convert, cell in zip(converters, cells, strict=True)])
            except ValueError:
                raise self._fault(line, cells) from None

    def _fault(self, line: int, cells: Sequence[str]) -> DocumentError:
        for column, cell in zip(self._columns, cells, strict=True):
            try:
                _ = cell and CELL_READERS[column.type](cell)
            except ValueError:
                problem = f"{cell[:40]!r} in the column {column.name} is no {column.type}"
                return DocumentError(problem, subject=f"{self._path}:{line}", reason="wrong-type")
        return DocumentError("the row cannot be read", subject=f"{self._path}:{line}")


class _Lines:
    """The line of each row of a file, without that of the header."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[int]:
        rows = _cells(self._path)
        next(rows, None)
        return (line for line, _ in rows)


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file that are not empty, with the lines in which they end.

    :raises DocumentError: when it cannot be read, or is not UTF-8 or no CSV.
    """
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield line, cells
    except UnicodeDecodeError as error:
        raise DocumentError(f"it is not UTF-8: {error.reason}", subject=str(path), reason="not-utf8") from None
    except csv.Error as error:
        raise DocumentError(f"it is no CSV: {error}", subject=f"{path}:{line}", reason="invalid-csv") from None
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror}", subject=str(path)) from None


def _header_fault(path: Path, problem: str, remedy: str) -> DocumentError:
    return DocumentError(problem, subject=f"{path}:1", remedy=remedy, reason="wrong-columns")
