"""A process that runs Ladybug, so that a crash of the engine ends nothing else, and time and memory have an end.

A script of its own: the process imports nothing of the project. Each line of its input is a request, all lines up to one
without ``more`` are the answer, both JSON.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import resource
import sys
from pathlib import Path
from typing import Any

_MORE_BYTES = 2 * 2**30
"""Address space beyond what the open database has reserved, in which its buffers (1 GiB) stand: for results and sorted rows, and chosen as
twice the buffers. A query that filled the buffers took 1.1 GiB in all.
"""
_PART_CHARACTERS = 4 * 2**20
"""Of one line of an answer, beyond its last row."""
_ANSWER_CHARACTERS = 32 * 2**20
"""Of the rows that a query of a model gives."""


class _Engine:
    """The database of this process."""

    def __init__(self) -> None:
        self._database: Any = None
        self._connection: Any = None

    def open(self, request: dict[str, Any]) -> None:
        """Open the database, and bound the memory that may be taken from now on."""
        import ladybug

        self._database = ladybug.Database(
            request["path"],
            buffer_pool_size=request["buffer_bytes"],
            max_db_size=request["database_bytes"],
            max_num_threads=1,
        )
        self._connection = ladybug.Connection(self._database)
        statm = Path("/proc/self/statm")
        if statm.exists():
            most = int(statm.read_text(encoding="utf-8").split()[0]) * resource.getpagesize() + _MORE_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def close(self) -> None:
        """Close the database: a file then holds everything."""
        if self._connection is not None:
            self._connection.close()
            self._database.close()

    def write(self, statements: list[list[Any]]) -> None:
        """Run statements, in one transaction where it is opened and closed among them."""
        try:
            for text, parameters in statements:
                self._connection.execute(text, parameters).close()
        except BaseException:
            self._roll_back()
            raise

    def read(self, request: dict[str, Any]) -> None:
        """Run a statement, and write its rows out."""
        self._connection.set_query_timeout(int(request["seconds"] * 1000))
        try:
            result = self._connection.execute(request["text"], request["parameters"])
        finally:
            self._connection.set_query_timeout(0)
        with contextlib.closing(result):
            _write_rows(result, request["most"])

    def query(self, request: dict[str, Any]) -> None:
        """Run a query of a model, in a transaction that cannot write."""
        self._connection.execute("BEGIN TRANSACTION READ ONLY").close()
        try:
            self.read(request)
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        with contextlib.suppress(RuntimeError):  # an error of the engine has ended it already
            self._connection.execute("ROLLBACK").close()


def main() -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    engine = _Engine()
    for line in sys.stdin:
        try:
            request = json.loads(line)
            if request["do"] in ("read", "query"):
                getattr(engine, request["do"])(request)
                continue
            if request["do"] == "write":
                engine.write(request["statements"])
            elif request["do"] == "open":
                engine.open(request)
            else:
                engine.close()
            _write({})
        except (RuntimeError, OSError, MemoryError, ValueError, TypeError, OverflowError) as error:
            of = "OSError" if isinstance(error, OSError) else type(error).__name__
            _write({"fault": str(error)[:1_000].strip() or of, "of": of})


def _write_rows(result: Any, most: int | None) -> None:
    """Write rows, in several parts where they are many.

    :param most: rows of a query of a model, whose answer is bounded; None: all of them.
    """
    columns, rows = result.get_column_names(), list[str]()
    count = characters = 0
    while result.has_next() and (most is None or count < most):
        rows.append(json.dumps([_without_nulls(value) for value in result.get_next()], default=_plain))
        count, characters = count + 1, characters + len(rows[-1])
        if most is not None and characters > _ANSWER_CHARACTERS:
            raise RuntimeError(f"the answer has more than {_ANSWER_CHARACTERS:,} characters")
        if most is None and characters > _PART_CHARACTERS:
            _write({"more": True, "columns": columns, "cut": False}, rows)
            rows, characters = [], 0
    _write({"columns": columns, "cut": result.has_next()}, rows)


def _without_nulls(value: Any) -> Any:
    """Return a node or an edge without the columns that it has no value in: there are hundreds at times."""
    if isinstance(value, dict) and "_LABEL" in value:
        return {name: member for name, member in value.items() if member is not None}
    return value


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
