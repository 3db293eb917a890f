"""A process that reads a Ladybug file, so that a crash of the engine ends nothing else, and time and memory have an end.

A script of its own: the process imports nothing of the project. Each line of its input is a request, and each has one line
as its answer, both JSON.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import fcntl
import json
import math
import resource
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_MORE_BYTES = 2 * 2**30
"""Address space beyond what the open database has reserved, in which its buffers (1 GiB) stand: for results and sorted rows, and chosen as
twice the buffers. A query that filled the buffers took 1.1 GiB in all.
"""
_PART_CHARACTERS = 4 * 2**20
"""Of one line of an answer, beyond its last row."""
_LIST_OFFSETS = 200
"""Nodes that are looked up by their offsets at once: the time of a lookup grows with the product of nodes and list."""
_CHUNK_ROWS = 100
"""Rows that are read at once, before the characters of a batch are counted."""
_SCALARS = frozenset(
    "BOOL STRING UUID DATE TIMESTAMP DOUBLE FLOAT DECIMAL SERIAL INT8 INT16 INT32 INT64 INT128 UINT8 UINT16 UINT32 UINT64".split()
)
"""Types of values that have no others in them, which might be nodes."""


class _Engine:
    """The database of this process."""

    def __init__(self) -> None:
        self._database: Any = None
        self._connection: Any = None
        self._stream: _Stream | None = None
        self._identities: _Identities | None = None
        self._lock: Any = None

    def open(self, request: dict[str, Any]) -> None:
        """Open the database so that nothing can write, and bound the memory that may be taken from now on."""
        import ladybug

        self._database = ladybug.Database(
            request["path"],
            buffer_pool_size=request["buffer_bytes"],
            max_db_size=request["database_bytes"],
            max_num_threads=1,
            read_only=True,
        )
        self._connection = ladybug.Connection(self._database)
        self._lock = _read_lock(request["path"])
        statm = Path("/proc/self/statm")
        if statm.exists():
            most = int(statm.read_text(encoding="utf-8").split()[0]) * resource.getpagesize() + _MORE_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def stream(self, request: dict[str, Any]) -> None:
        """Run a query, and write its first batch; ``next`` gives the others, and after the last the stream has ended. So has an older one."""
        self.stop()
        self._connection.set_query_timeout(int(request["seconds"] * 1000))
        result = self._connection.execute(request["text"], request["parameters"])
        if self._identities is None:
            self._identities = _Identities(self._database)
        self._stream = _Stream(result, request["most"], request["batch"], self._identities)
        self.next()

    def next(self) -> None:
        """Write the next batch of the stream."""
        if self._stream is None:
            raise ValueError("no query is open")
        if not self._stream.write():
            self.stop()

    def stop(self) -> None:
        """End the stream."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class _Stream:
    """The rows of a query, written in batches that are asked for one by one.

    :param most: rows in all.
    :param batch: rows of one batch; long rows make it shorter.
    """

    def __init__(self, result: Any, most: int, batch: int, identities: _Identities) -> None:
        self._result = result
        self._columns = result.get_column_names()
        self._is_plain = all(kind.split("(")[0] in _SCALARS for kind in result.get_column_data_types())
        self._left = most
        self._batch = batch
        self._identities = identities

    def write(self) -> bool:
        """Write a batch, and return whether there is another: ``next`` in it; ``cut`` says that there are more than may be given."""
        texts, given, characters = list[str](), 0, 0
        most = min(self._batch, self._left)
        while given < most and characters < _PART_CHARACTERS and self._result.has_next():
            rows = self._result.get_n(min(_CHUNK_ROWS, most - given))
            texts.append(self._text(rows)[1:-1])
            given, characters = given + len(rows), characters + len(texts[-1])
        self._left -= given
        more = bool(self._result.has_next())
        following = more and self._left > 0
        _write({"columns": self._columns, "next": following, "cut": more and not following}, texts)
        return following

    def _text(self, rows: list[list[Any]]) -> str:
        if self._is_plain:
            with contextlib.suppress(ValueError):  # a number that is not finite
                return json.dumps(rows, default=_plain, allow_nan=False)
        self._identities.look_up(rows)
        return json.dumps([[self._identities.plain(value) for value in row] for row in rows], default=_plain)

    def close(self) -> None:
        """Free the rows."""
        self._result.close()


class _Identities:
    """Nodes and relationships as readers see them: the id of a node is its label and primary key, ``Person:k1``.

    The engine names ends of relationships by table and offset; their keys are read, unless their nodes stand in the same batch. In a
    path it gives wrong values for nodes whose tables have a column of one name and different types: these nodes are read again.
    """

    def __init__(self, database: Any) -> None:
        self._database = database
        self._connection: Any = None
        self._tables: dict[int, tuple[str, str]] = {}
        self._mixed: set[str] = set()
        self._known: dict[tuple[int, int], str] = {}
        self._read_again: dict[tuple[int, int], dict[str, Any]] = {}

    def look_up(self, rows: list[list[Any]]) -> None:
        """Learn the ids of all nodes and ends of rows."""
        self._known, self._read_again = {}, {}
        wanted: set[tuple[int, int]] = set()
        for value in (value for row in rows for value in row if isinstance(value, dict | list)):
            self._collect(value, wanted)
        again = self._read_again.keys()
        for (table, offset), (node,) in self._of_places(again, "n"):
            self._known[table, offset] = self._id(node)
            self._read_again[table, offset] = node
        for (table, offset), (key,) in self._of_places(wanted - self._known.keys(), None):
            self._known[table, offset] = f"{self._tables[table][0]}:{key}"

    def plain(self, value: Any) -> Any:
        """Return a value as JSON has it, with ids."""
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, list):
            return [self.plain(member) for member in value]
        if not isinstance(value, dict):
            return value
        if "_NODES" in value and "_RELS" in value:
            nodes = [self._read_again.get(_place(node["_ID"]), node) for node in value["_NODES"]]
            return {"nodes": self.plain(nodes), "edges": self.plain(value["_RELS"])}
        if "_LABEL" not in value:
            return {str(name): self.plain(member) for name, member in value.items()}
        properties = {
            name: self.plain(member)
            for name, member in value.items()
            if member is not None and name not in ("_ID", "_LABEL", "_SRC", "_DST")
        }
        if "_SRC" in value:
            ends = {"source": self._known[_place(value["_SRC"])], "target": self._known[_place(value["_DST"])]}
            return {"type": value["_LABEL"], **ends, "properties": properties}
        return {"id": self._known[_place(value["_ID"])], "label": value["_LABEL"], "properties": properties}

    def _collect(self, value: Any, wanted: set[tuple[int, int]]) -> None:
        if isinstance(value, list):
            for member in value:
                self._collect(member, wanted)
        elif isinstance(value, dict) and "_LABEL" in value:
            self._load_tables()
            if "_SRC" in value:
                wanted |= {_place(value["_SRC"]), _place(value["_DST"])}
            else:
                self._known[_place(value["_ID"])] = self._id(value)
        elif isinstance(value, dict) and "_NODES" in value and "_RELS" in value:
            self._load_tables()
            if "REL" in self._mixed:
                raise RuntimeError(
                    "a path cannot be returned here, as relationships have properties of one name and different types; "
                    "return properties of its relationships"
                )
            self._collect(value["_RELS"], wanted)
            if "NODE" in self._mixed:
                self._read_again.update((_place(node["_ID"]), node) for node in value["_NODES"])
            else:
                self._collect(value["_NODES"], wanted)
        elif isinstance(value, dict):
            self._collect(list(value.values()), wanted)

    def _id(self, node: dict[str, Any]) -> str:
        label, key = self._tables[node["_ID"]["table"]]
        return f"{label}:{node[key]}"

    def _load_tables(self) -> None:
        """Read the labels and primary keys of tables, once."""
        if self._connection is not None:
            return
        import ladybug

        self._connection = ladybug.Connection(self._database)
        types: dict[tuple[str, str], set[str]] = {}
        for number, name, kind in self._rows("CALL show_tables() RETURN id, name, type"):
            quoted = name.replace("\\", "\\\\").replace("'", "\\'")
            returned = "name, type, `primary key`" if kind == "NODE" else "name, type, false"
            for column, type_, is_key in self._rows(f"CALL table_info('{quoted}') RETURN {returned}"):
                types.setdefault((kind, column), set()).add(type_)
                if is_key:
                    self._tables[number] = (name, column)
        self._mixed = {kind for (kind, _), found in types.items() if len(found) > 1}

    def _of_places(
        self, places: Iterable[tuple[int, int]], returned: str | None
    ) -> Iterator[tuple[tuple[int, int], list[Any]]]:
        """Yield what a query returns of nodes, with their places; None: their keys as text."""
        by_table: dict[int, list[int]] = {}
        for table, offset in sorted(places):
            by_table.setdefault(table, []).append(offset)
        for table, offsets in by_table.items():
            label, key = (name.replace("`", "``") for name in self._tables[table])
            what = returned or f"CAST(n.`{key}` AS STRING)"
            text = f"MATCH (n:`{label}`) WHERE offset(id(n)) IN $o RETURN offset(id(n)), {what}"
            for at in range(0, len(offsets), _LIST_OFFSETS):
                for offset, *found in self._rows(text, {"o": offsets[at : at + _LIST_OFFSETS]}):
                    yield (table, offset), found

    def _rows(self, text: str, parameters: dict[str, Any] | None = None) -> list[list[Any]]:
        with contextlib.closing(self._connection.execute(text, parameters or {})) as result:
            return list(result.get_all())


def _read_lock(path: str) -> Any:
    """Return a file that is locked against writers until it is closed: an open for reading alone ignores them, and does not stop them.

    :raises OSError: when a process has the file open for writing.
    """
    file = Path(path).open("rb")
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise OSError("a writer holds the lock of the file") from None
    return file


def _place(identity: dict[str, int]) -> tuple[int, int]:
    return identity["table"], identity["offset"]


def main() -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    engine = _Engine()
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request["do"] == "stream":
                engine.stream(request)
            elif request["do"] == "next":
                engine.next()
            else:
                if request["do"] == "open":
                    engine.open(request)
                else:
                    engine.stop()
                _write({})
        except (RuntimeError, OSError, MemoryError, ValueError, TypeError, LookupError, OverflowError) as error:
            of = "OSError" if isinstance(error, OSError) else type(error).__name__
            _write({"fault": str(error)[:1_000].strip() or of, "of": of})


def _write(answer: dict[str, Any], rows: list[str] | None = None) -> None:
    text = json.dumps(answer)
    if rows is not None:
        text = f'{text[:-1]}, "rows": [{", ".join(rows)}]}}'
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> object:
    """Return what JSON lacks as it has it."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


if __name__ == "__main__":
    main()
