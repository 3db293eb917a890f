"""A process that runs an engine of graphs, Ladybug or Oxigraph, so that what crashes, takes too long or too much memory can be ended.

A script of its own: the process imports nothing of the project. Its arguments are the engine and a filter of system calls as hexadecimal
digits, which leaves it no network; where the machine does not take it, the process says so and goes on. Each line of its input is a
request, and each has one line as its answer, both JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import decimal
import fcntl
import itertools
import json
import math
import resource
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
"""Of linux/prctl.h and linux/seccomp.h; an instruction of a filter has 8 bytes."""
_OXIGRAPH_BYTES = 1 * 2**30
"""Address space: chosen as ten times what a process with a graph of 522 nodes, the paper's largest, was seen to reserve."""
_ANSWER_CHARACTERS = 32 * 2**20
"""Of one answer of Oxigraph."""
_LADYBUG_BYTES = 2 * 2**30
"""Address space beyond what the open database has reserved, in which its buffers (1 GiB) stand: for results and sorted rows, and chosen as
twice the buffers. A query that filled the buffers took 1.1 GiB in all."""
_PART_CHARACTERS = 4 * 2**20
"""Of one line of an answer of Ladybug, beyond its last row."""
_LIST_OFFSETS = 200
"""Nodes that are looked up by their offsets at once: the time of a lookup grows with the product of nodes and list."""
_CHUNK_ROWS = 100
"""Rows that are read at once, before the characters of a batch are counted."""
_SCALARS = frozenset(
    "BOOL STRING UUID DATE TIMESTAMP DOUBLE FLOAT DECIMAL SERIAL INT8 INT16 INT32 INT64 INT128 UINT8 UINT16 UINT32 UINT64".split()
)
"""Types of values that have no others in them, which might be nodes."""
_Place: TypeAlias = tuple[int, int]


class _Program(ctypes.Structure):
    """``struct sock_fprog`` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _take_filter(program: bytes) -> bool:
    """Take a filter of system calls, for good, and say whether it holds."""
    if not program or sys.platform != "linux":
        return False
    control = ctypes.CDLL(None, use_errno=True).prctl
    if control(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    taken: int = control(_SECCOMP, _FILTER, ctypes.byref(_Program(len(program) // 8, program)), 0, 0)
    return taken == 0


class _Oxigraph:
    """One graph in memory."""

    def __init__(self) -> None:
        from pyoxigraph import Store

        resource.setrlimit(resource.RLIMIT_AS, (_OXIGRAPH_BYTES, _OXIGRAPH_BYTES))
        self._store = Store()

    def answer(self, request: dict[str, Any]) -> str:
        from pyoxigraph import QueryBoolean, RdfFormat

        if "triples" in request:
            self._store.clear()
            self._store.load(request["triples"].encode(), RdfFormat.N_TRIPLES)
        text, most = request["text"], request["rows"]
        if request["do"] == "update":
            self._store.update(text)
            text, most = "SELECT ?s ?p ?o { ?s ?p ?o }", sys.maxsize - 1
        found: Any = self._store.query(text)
        if isinstance(found, QueryBoolean):
            answer: dict[str, Any] = {"boolean": bool(found)}
        else:
            rows = [[self._term(term) for term in solution] for solution in itertools.islice(found, most + 1)]
            answer = {"columns": [variable.value for variable in found.variables], "rows": rows}
        text = json.dumps(answer)
        if len(text) > _ANSWER_CHARACTERS:
            raise ValueError(f"the answer has more than {_ANSWER_CHARACTERS:,} characters")
        return text

    def _term(self, term: Any) -> list[str] | None:
        from pyoxigraph import BlankNode, Literal, NamedNode

        if term is None:
            return None
        if isinstance(term, Literal):
            return ["literal", term.value, term.datatype.value]
        if isinstance(term, NamedNode | BlankNode):
            return ["iri" if isinstance(term, NamedNode) else "blank", term.value, ""]
        raise ValueError("a triple cannot be part of another triple")


class _Ladybug:
    """A database file, open so that nothing can write, and the rows of one query."""

    def __init__(self) -> None:
        self._database: Any = None
        self._connection: Any = None
        self._lock: Any = None
        self._identities: Any = None
        self._result: Any = None

    def answer(self, request: dict[str, Any]) -> str:
        if request["do"] == "open":
            self._open(request)
        elif request["do"] == "query":
            self._close_result()
            self._connection.set_query_timeout(int(request["seconds"] * 1000))
            self._result = self._connection.execute(request["text"], request["parameters"])
            self._identities = self._identities or _Identities(self._database)
            self._columns = self._result.get_column_names()
            self._is_plain = all(kind.split("(")[0] in _SCALARS for kind in self._result.get_column_data_types())
            self._left, self._batch = request["most"], request["batch"]
            return self._next_batch()
        elif request["do"] == "next":
            return self._next_batch()
        else:
            self._close_result()
        return "{}"

    def _open(self, request: dict[str, Any]) -> None:
        """Open the database, and bound the memory that may be taken from now on."""
        import ladybug

        self._database = ladybug.Database(
            request["path"],
            buffer_pool_size=request["buffer_bytes"],
            max_db_size=request["database_bytes"],
            max_num_threads=1,
            read_only=True,
        )
        self._connection = ladybug.Connection(self._database)
        # An open for reading alone ignores writers, and does not stop them: so it is locked against them until it is closed.
        self._lock = Path(request["path"]).open("rb")
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            raise OSError("a writer holds the lock of the file") from None
        statm = Path("/proc/self/statm")
        if statm.exists():
            most = int(statm.read_text(encoding="utf-8").split()[0]) * resource.getpagesize() + _LADYBUG_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def _next_batch(self) -> str:
        """Return a batch; ``next`` says that there is another, ``cut`` that there are more rows than may be given."""
        texts, given, characters = list[str](), 0, 0
        most = min(self._batch, self._left)
        while given < most and characters < _PART_CHARACTERS and self._result.has_next():
            rows = self._result.get_n(min(_CHUNK_ROWS, most - given))
            texts.append(self._rows_text(rows)[1:-1])
            given, characters = given + len(rows), characters + len(texts[-1])
        self._left -= given
        more = bool(self._result.has_next())
        following = more and self._left > 0
        if not following:
            self._close_result()
        head = json.dumps({"columns": self._columns, "next": following, "cut": more and not following})
        return f'{head[:-1]}, "rows": [{", ".join(texts)}]}}'

    def _rows_text(self, rows: list[list[Any]]) -> str:
        if self._is_plain:
            with contextlib.suppress(ValueError):  # a number that is not finite
                return json.dumps(rows, default=_plain, allow_nan=False)
        self._identities.look_up(rows)
        return json.dumps([[self._identities.plain(value) for value in row] for row in rows], default=_plain)

    def _close_result(self) -> None:
        if self._result is not None:
            self._result.close()
            self._result = None


class _Identities:
    """Nodes and relationships as readers see them: the id of a node is its label and primary key, ``Person:k1``.

    The engine names ends of relationships by table and offset; their keys are read, unless their nodes stand in the same rows. In a
    path it gives wrong values for nodes whose tables have a column of one name and different types: these nodes are read again.
    """

    def __init__(self, database: Any) -> None:
        import ladybug

        self._connection: Any = ladybug.Connection(database)
        self._tables: dict[int, tuple[str, str]] = {}
        self._known: dict[_Place, str] = {}
        self._read_again: dict[_Place, dict[str, Any]] = {}
        types: dict[tuple[str, str], set[str]] = {}
        for number, name, kind in self._rows("CALL show_tables() RETURN id, name, type"):
            quoted = name.replace("\\", "\\\\").replace("'", "\\'")
            key = "`primary key`" if kind == "NODE" else "false"
            for column, type_, is_key in self._rows(f"CALL table_info('{quoted}') RETURN name, type, {key}"):
                types.setdefault((kind, column), set()).add(type_)
                if is_key:
                    self._tables[number] = (name, column)
        self._mixed = {kind for (kind, _), found in types.items() if len(found) > 1}

    def look_up(self, rows: list[list[Any]]) -> None:
        """Learn the ids of all nodes and ends of rows."""
        self._known, self._read_again = {}, {}
        wanted: set[_Place] = set()
        self._collect(rows, wanted)
        for place, node in self._of_places(self._read_again, "n"):
            self._read_again[place], self._known[place] = node, self._id(node)
        for place, key in self._of_places(wanted - self._known.keys(), None):
            self._known[place] = f"{self._tables[place[0]][0]}:{key}"

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
        own = {name: each for name, each in value.items() if name not in ("_ID", "_LABEL", "_SRC", "_DST")}
        properties = {name: self.plain(each) for name, each in own.items() if each is not None}
        if "_SRC" in value:
            ends = {"source": self._known[_place(value["_SRC"])], "target": self._known[_place(value["_DST"])]}
            return {"type": value["_LABEL"], **ends, "properties": properties}
        return {"id": self._known[_place(value["_ID"])], "label": value["_LABEL"], "properties": properties}

    def _collect(self, value: Any, wanted: set[_Place]) -> None:
        if isinstance(value, list):
            for member in value:
                self._collect(member, wanted)
        elif not isinstance(value, dict):
            return
        elif "_SRC" in value:
            wanted |= {_place(value["_SRC"]), _place(value["_DST"])}
        elif "_LABEL" in value:
            self._known[_place(value["_ID"])] = self._id(value)
        elif "_NODES" in value and "_RELS" in value:
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
        else:
            self._collect(list(value.values()), wanted)

    def _id(self, node: dict[str, Any]) -> str:
        label, key = self._tables[node["_ID"]["table"]]
        return f"{label}:{node[key]}"

    def _of_places(self, places: Iterable[_Place], returned: str | None) -> Iterator[tuple[_Place, Any]]:
        """Yield what a query returns of nodes, with their places; None: their keys as text."""
        by_table: dict[int, list[int]] = {}
        for table, offset in sorted(places):
            by_table.setdefault(table, []).append(offset)
        for table, offsets in by_table.items():
            label, key = (name.replace("`", "``") for name in self._tables[table])
            what = returned or f"CAST(n.`{key}` AS STRING)"
            text = f"MATCH (n:`{label}`) WHERE offset(id(n)) IN $o RETURN offset(id(n)), {what}"
            for at in range(0, len(offsets), _LIST_OFFSETS):
                for offset, found in self._rows(text, {"o": offsets[at : at + _LIST_OFFSETS]}):
                    yield (table, offset), found

    def _rows(self, text: str, parameters: dict[str, Any] | None = None) -> list[list[Any]]:
        with contextlib.closing(self._connection.execute(text, parameters or {})) as result:
            return list(result.get_all())


def _place(identity: dict[str, int]) -> _Place:
    return identity["table"], identity["offset"]


def _plain(value: Any) -> object:
    """Return what JSON lacks as it has it."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def main() -> None:
    """Answer requests until the input ends."""
    filtered = _take_filter(
        bytes.fromhex(sys.argv[2])
    )  # before any thread is started, since it holds for those that come
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    engine = _Ladybug() if sys.argv[1] == "ladybug" else _Oxigraph()
    for line in sys.stdin:
        try:
            request = json.loads(line)
            text = json.dumps({"filtered": filtered}) if request["do"] == "start" else engine.answer(request)
        except MemoryError:
            text = json.dumps({"fault": "it takes more memory than is allowed", "of": "MemoryError"})
        except (RuntimeError, OSError, ValueError, TypeError, LookupError, OverflowError, SyntaxError) as error:
            of = "OSError" if isinstance(error, OSError) else type(error).__name__
            text = json.dumps({"fault": str(error)[:1_000].strip() or of, "of": of})
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
