"""The engine Ladybug in a process of its own: one that crashes, takes too long or too much memory ends alone.

This file is the script of that process too, so it imports nothing of the project there. Its argument is a filter of system calls as hexadecimal
digits, which leaves it no network where the machine takes it. A request is a line of JSON, and so is its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import datetime
import decimal
import fcntl
import itertools
import json
import math
import platform
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

_LINE_BYTES = 64 * 2**20  # of an answer: more than the script writes


class EngineEndedError(Exception):
    """The process has ended, or does not write answers any more; it is gone when this is raised. ``signal_name`` is
    that of the signal that ended it (``SIGSEGV``), empty where none did."""

    def __init__(self, signal_name: str) -> None:
        super().__init__(signal_name)
        self.signal_name = signal_name


class EngineProcess:
    """A process that runs the engine; start it with :meth:`start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> EngineProcess:
        """Start one; raises StorageError when no process can be started."""
        from ontology.errors import IsolationError, StorageError
        from planners.calls.sandbox import syscall_filter

        program = b""
        with contextlib.suppress(IsolationError):  # a processor whose calls are not known
            program = syscall_filter(platform.machine())
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        command = [sys.executable, "-I", __file__, program.hex()]
        try:
            return cls(
                await asyncio.create_subprocess_exec(
                    *command, stdin=pipe, stdout=pipe, stderr=null, env={}, limit=_LINE_BYTES
                )
            )
        except OSError as error:
            problem = f"no process can be started for Ladybug: {error.strerror}"
            raise StorageError(problem, subject="ladybug", remedy="Free memory, or allow more processes") from None

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended."""
        return self._process.returncode is not None

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request, and return its answer, one request at a time. Raises EngineEndedError when the process ends
        before it has answered, TimeoutError when it takes longer. The process is then ended, and so it is where the
        caller is cancelled: an answer to nobody would be left in the pipe."""
        if self._process.stdin is None or self._process.stdout is None:
            raise EngineEndedError("")
        try:
            async with asyncio.timeout(seconds):
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                await self._process.stdin.drain()
                answer: dict[str, Any] = json.loads(await self._process.stdout.readline())
                return answer
        except (ValueError, ConnectionError):  # no line, or half of one
            with contextlib.suppress(TimeoutError):  # what ended it is known a moment later
                async with asyncio.timeout(1):
                    await self._process.wait()
            await self.end()
            code = self._process.returncode or 0
            known = {-each.value: each.name for each in signal.Signals}
            raise EngineEndedError(known.get(code, str(code)) if code < 0 else "") from None
        except BaseException:
            await self.end()
            raise

    async def end(self) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


# --- In the process -------------------------------------------------------------------------------------------------------------------

# Address space beyond what the open database has reserved, in which its buffers (1 GiB) stand: a query that filled them
# took 1.1 GiB
_LADYBUG_BYTES = 2 * 2**30
_PART_CHARACTERS = 4 * 2**20  # of one line of an answer of Ladybug, beyond its last rows
# Nodes that are looked up by their offsets at once: the time of a lookup grows with the product of nodes and list
_LIST_OFFSETS = 200
_CHUNK_ROWS = 100
_Place: TypeAlias = tuple[int, int]


class _Program(ctypes.Structure):
    """``struct sock_fprog`` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _Ladybug:
    """A database file, open so that nothing can write, and the rows of one query."""

    def __init__(self) -> None:
        self._connection: Any = None
        self._identities: Any = None
        self._result: Any = None

    def answer(self, request: dict[str, Any]) -> str:
        """Open the database, start a query, or go on with it: rows, up to a number of characters; ``next`` says that
        there are others, ``cut`` that there are more than may be given."""
        if request["do"] == "open":
            self._open(request)
            return "{}"
        if request["do"] == "query":
            if self._result is not None:
                self._result.close()
            self._connection.set_query_timeout(int(request["seconds"] * 1000))
            self._result = self._connection.execute(request["text"], request["parameters"])
            self._identities = self._identities or _Identities(self._database)
            self._columns = self._result.get_column_names()
            self._left = request["most"]
        texts, characters = list[str](), 0
        while self._left and characters < _PART_CHARACTERS and self._result.has_next():
            rows = self._result.get_n(min(_CHUNK_ROWS, self._left))
            texts.append(self._identities.rows_text(rows)[1:-1])
            self._left, characters = self._left - len(rows), characters + len(texts[-1])
        more = bool(self._result.has_next())
        head = json.dumps({"columns": self._columns, "next": more and self._left > 0, "cut": more and self._left <= 0})
        return f'{head[:-1]}, "rows": [{", ".join(texts)}]}}'

    def _open(self, request: dict[str, Any]) -> None:
        """Open the database, and bound the memory that may be taken from now on."""
        import ladybug

        sizes = {"buffer_pool_size": request["buffer_bytes"], "max_db_size": request["database_bytes"]}
        self._database = ladybug.Database(request["path"], max_num_threads=1, read_only=True, **sizes)
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


class _Identities:
    """Nodes and relationships as readers see them: the id of a node is its label and primary key, ``Person:k1``. The
    engine names ends of relationships by table and offset; their keys are read, unless their nodes stand in the same
    rows. In a path it gives wrong values where tables have a column of one name and different types: then no path is
    given."""

    def __init__(self, database: Any) -> None:
        import ladybug

        self._connection: Any = ladybug.Connection(database)
        self._tables: dict[int, tuple[str, str]] = {}
        self._known: dict[_Place, str] = {}
        types: dict[tuple[str, str], set[str]] = {}
        for number, name, kind in self._rows("CALL show_tables() RETURN id, name, type"):
            quoted = name.replace("\\", "\\\\").replace("'", "\\'")
            key = "`primary key`" if kind == "NODE" else "false"
            for column, type_, is_key in self._rows(f"CALL table_info('{quoted}') RETURN name, type, {key}"):
                types.setdefault((kind, column), set()).add(type_)
                if is_key:
                    self._tables[number] = (name, column)
        self._mixed = [column for (_, column), found in types.items() if len(found) > 1]

    def rows_text(self, rows: list[list[Any]]) -> str:
        """Return rows as JSON, with the ids of nodes and of ends."""
        if not any(isinstance(value, list | dict) for row in rows for value in row):
            with contextlib.suppress(ValueError):  # a number that is not finite
                return json.dumps(rows, default=_plain, allow_nan=False)
        wanted: set[_Place] = set()
        self._collect(rows, wanted)
        self._known = {}
        for table, offsets in itertools.groupby(sorted(wanted), lambda place: place[0]):
            label, key = (name.replace("`", "``") for name in self._tables[table])
            text = f"MATCH (n:`{label}`) WHERE offset(id(n)) IN $o RETURN offset(id(n)), CAST(n.`{key}` AS STRING)"
            while some := [offset for _, offset in itertools.islice(offsets, _LIST_OFFSETS)]:
                for offset, found in self._rows(text, {"o": some}):
                    self._known[table, offset] = f"{self._tables[table][0]}:{found}"
        return json.dumps(self._plain(rows), default=_plain)

    def _collect(self, value: Any, wanted: set[_Place]) -> None:
        """Learn the places of nodes whose keys stand nowhere in the rows: the ends of relationships."""
        if isinstance(value, list):
            for member in value:
                self._collect(member, wanted)
        elif isinstance(value, dict) and "_SRC" in value:
            wanted |= {_place(value["_SRC"]), _place(value["_DST"])}
        elif isinstance(value, dict) and "_LABEL" not in value:
            if "_NODES" in value and "_RELS" in value and self._mixed:
                why = f"as types have a property {self._mixed[0]} of different types"
                told = "return properties of its nodes and relationships"
                raise RuntimeError(f"a path cannot be returned here, {why}; {told}")
            self._collect(list(value.values()), wanted)

    def _plain(self, value: Any) -> Any:
        """Return a value as JSON has it, with ids."""
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, list):
            return [self._plain(member) for member in value]
        if not isinstance(value, dict):
            return value
        if "_NODES" in value and "_RELS" in value:
            return {"nodes": self._plain(value["_NODES"]), "edges": self._plain(value["_RELS"])}
        if "_LABEL" not in value:
            return {str(name): self._plain(member) for name, member in value.items()}
        own = {name: each for name, each in value.items() if name not in ("_ID", "_LABEL", "_SRC", "_DST")}
        properties = {name: self._plain(each) for name, each in own.items() if each is not None}
        if "_SRC" in value:
            ends = {"source": self._known[_place(value["_SRC"])], "target": self._known[_place(value["_DST"])]}
            return {"type": value["_LABEL"], **ends, "properties": properties}
        label, key = self._tables[value["_ID"]["table"]]
        return {"id": f"{label}:{value[key]}", "label": value["_LABEL"], "properties": properties}

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
    if sys.platform == "linux":  # a query may go on for ever, and no answer of it would be read any more
        control, program = ctypes.CDLL(None, use_errno=True).prctl, bytes.fromhex(sys.argv[1])
        control(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
        # The filter of system calls is taken before any thread is started, as it holds for those that come.
        if program and not control(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
            control(22, 2, ctypes.byref(_Program(len(program) // 8, program)), 0, 0)  # PR_SET_SECCOMP
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    engine = _Ladybug()
    for line in sys.stdin:
        try:
            text = engine.answer(json.loads(line))
        except MemoryError:
            text = json.dumps({"fault": "it takes more memory than is allowed", "of": "MemoryError"})
        except (RuntimeError, OSError, ValueError, TypeError, LookupError, OverflowError, SyntaxError) as error:
            of = "OSError" if isinstance(error, OSError) else type(error).__name__
            text = json.dumps({"fault": str(error)[:1_000].strip() or of, "of": of})
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
