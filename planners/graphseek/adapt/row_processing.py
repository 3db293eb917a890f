"""Post-processing: Python of a version over its rows, in the sandbox. It has no network, no files of the user, and a limit of time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ontology.errors import StatementError
from planners.calls.sandbox import Sandbox, SandboxLimits

__all__ = ["process_sandbox", "processed_rows"]

_PROCESS_SECONDS = 5.0
"""Of one run: the interpreter starts in 0.1 s, and 10,000 rows are read and written in as much."""
_BYTES = 16 * 2**20  # of the rows that it gives: 10,000 of 1,600 characters
_SAID = 300  # characters of a traceback's end
_HARNESS = """

def _run():
    import json, sys
    given, out, sys.stdout = json.load(sys.stdin), sys.stdout, sys.stderr
    json.dump(process(given["rows"], given["arguments"]), out)

_run()
"""


def process_sandbox(seconds: float = _PROCESS_SECONDS) -> Sandbox:
    """Return a sandbox for post-processing."""
    return Sandbox(SandboxLimits(seconds=seconds, output_bytes=_BYTES))


async def processed_rows(
    code: str, rows: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any], sandbox: Sandbox
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the columns and rows that ``process(rows, arguments)`` gives.

    :raises StatementError: when it fails, takes too long, or gives something else than rows of the same columns.
    :raises IsolationError: when code cannot be isolated here.
    """
    given = json.dumps({"rows": list(rows), "arguments": dict(arguments)}, default=str)
    ran = await sandbox.run(code + _HARNESS, stdin=given.encode("utf-8", "backslashreplace"))
    if ran.ended != "ok":
        said = ran.stderr.strip().rpartition("\n")[2][-_SAID:]
        raise _fault(f"it ended with {ran.ended}{f': {said}' if said else ''}")
    try:
        made: Any = json.loads(ran.stdout, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise _fault(f"what it returned is no JSON ({str(error)[:_SAID]})") from error
    if not isinstance(made, list) or not all(isinstance(row, dict) for row in made):
        raise _fault("process must return a list of dicts")
    columns = tuple(made[0]) if made else ()
    if any(tuple(row) != columns for row in made):
        raise _fault("its rows have different columns")
    return columns, [tuple(row.values()) for row in made]


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _fault(problem: str) -> StatementError:
    return StatementError(
        problem, subject="post-processing", remedy="Define process(rows, arguments) over lists of dicts"
    )
