"""The source ``python.v1``: a module is read in a process of its own, so that whatever its code does ends that process and not the build.

The code of a module runs when it is imported: it may print, never end, end its process, or raise from any attribute. The
process has a deadline, writes its tools as JSON, and is killed with all processes that it started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import typing_extensions

from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord, Source
from ontology.errors import DocumentError
from ontology.tool import Tool

#: Seconds to import the module and to describe its functions.
TIMEOUT_S = 60.0
#: Maximum size of all its tools as JSON.
MAX_ANSWER_BYTES = 64 * 2**20

_MAX_MEMORY_BYTES = 8 * 2**30
_REMEDY = "Import it by hand and see what its code does"
# The path of modules comes from this process, also where a program changed it. The PYTHONPATH of the source goes before it, once the
# modules that read are imported: a folder of the source must not stand in for one of ours.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from ingest.sources.python import child; child.main()"
)


class PythonSource(Source):
    """Callables of an importable module. An import runs the module, so only modules that the user names are imported."""

    name = "python.v1"
    live_prefixes = ("python:",)

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for the named callable, or for each public function of the module; raises as :func:`read_module`."""
        yield from read_module(document.address, env=document.access.resolved_env())


def read_module(
    address: str, *, timeout_s: float = TIMEOUT_S, env: Mapping[str, str] | None = None
) -> Iterator[Tool | RejectedRecord]:
    """Yield the tools of ``python:module`` or ``python:module:name``, read in a process of its own."""
    answer = _run(address, timeout_s, env or {})
    try:
        rows = json.loads(answer)
    except ValueError:
        raise _failure(address, "the module ended the process that read it") from None
    for row in rows:
        if "error" in row:
            raise DocumentError(**row["error"])
        yield RejectedRecord(*row["rejected"]) if "rejected" in row else Tool.from_json(row["tool"])


def _run(address: str, timeout_s: float, env: Mapping[str, str]) -> bytes:
    command = [sys.executable, "-c", _START, address, json.dumps(sys.path), env.get("PYTHONPATH", "")]
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **env},
            start_new_session=True,
        )
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise _failure(address, f"the module was not read within {timeout_s:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if answer.seek(0, os.SEEK_END) >= MAX_ANSWER_BYTES:
            raise _failure(address, f"its tools are larger than {MAX_ANSWER_BYTES} bytes")
        answer.seek(0)
        return answer.read()


def _failure(address: str, problem: str) -> DocumentError:
    return DocumentError(problem, subject=address, remedy=_REMEDY, reason="not-importable")


def main() -> None:
    """Write the tools of the module at the address in the arguments, as one JSON list."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the module prints is not part of the answer
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_ANSWER_BYTES, MAX_ANSWER_BYTES))
    json.dump(list(_rows(sys.argv[1])), out)
    out.flush()
    os._exit(0)  # threads and exit handlers of the module do not matter any more


def _rows(address: str) -> Iterator[dict[str, Any]]:
    from ingest.sources.python.callables import describe_module

    if sys.version_info < (3, 12):  # pydantic reads no fields of a typing.TypedDict there
        typing.TypedDict = typing_extensions.TypedDict
    from ingest.sources.sanitize import sanitize_tool

    # The current folder is on the path as with ``python -m``; an installed command does not have it there.
    sys.path[:0] = [*filter(None, sys.argv[3].split(os.pathsep)), os.getcwd()]
    try:
        for item in describe_module(Document(address)):
            if isinstance(item, RejectedRecord):
                yield {"rejected": [item.subject, item.reason, item.detail]}
            else:
                yield {"tool": sanitize_tool(item).to_json()}
    except DocumentError as error:
        yield {"error": {key: getattr(error, key) for key in ("problem", "subject", "remedy", "reason")}}
    except BaseException as error:  # the module's code may raise anything, at any attribute
        problem = f"its code raises {type(error).__name__}"
        yield {"error": {"problem": problem, "subject": address, "remedy": _REMEDY, "reason": "not-importable"}}
