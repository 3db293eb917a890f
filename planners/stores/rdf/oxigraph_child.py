"""A process that evaluates SPARQL with pyoxigraph, so that what takes too long or too much memory can be ended.

A script of its own: the process imports nothing of the project. Each line of its input is a request and each of its output
an answer, both JSON. Terms are ``[kind, value, datatype]``. Its argument is a filter of system calls as hexadecimal digits, which leaves it
no network; where the machine does not take it, the process says so and goes on.
"""

from __future__ import annotations

import ctypes
import json
import resource
import sys
from typing import Any

_MEMORY_BYTES = 1 * 2**30
"""Address space: chosen as ten times what a process with a graph of 522 nodes, the paper's largest, was seen to reserve."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
"""Of linux/prctl.h and linux/seccomp.h; an instruction of a filter has 8 bytes."""
_ANSWER_CHARACTERS = 32 * 2**20
"""Of one answer."""


def main() -> None:
    """Answer requests until the input ends."""
    filtered = _take_filter(
        bytes.fromhex(sys.argv[1])
    )  # before any thread is started, since it holds for those that come
    from pyoxigraph import Store

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    store = Store()
    for line in sys.stdin:
        try:
            request = json.loads(line)
            answer = {"filtered": filtered} if request["do"] == "start" else _answer(store, request)
        except MemoryError:
            answer = {"fault": "it takes more memory than is allowed"}
        except (ValueError, SyntaxError, OSError, RuntimeError, NotImplementedError) as error:
            answer = {"fault": str(error)[:1_000] or type(error).__name__}
        text = json.dumps(answer)
        if len(text) > _ANSWER_CHARACTERS:
            text = json.dumps({"fault": f"the answer has more than {_ANSWER_CHARACTERS:,} characters"})
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


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


def _answer(store: Any, request: dict[str, Any]) -> dict[str, Any]:
    from pyoxigraph import RdfFormat, Store

    if request["do"] == "load":
        store.clear()
        store.load(request["triples"].encode(), RdfFormat.N_TRIPLES)
        return {}
    if request["do"] == "change":
        store.update(request["text"])
        return {}
    if request["do"] == "query":
        return _rows(store.query(request["text"]), request["rows"])
    copy = Store()
    copy.load(request["triples"].encode(), RdfFormat.N_TRIPLES)
    copy.update(request["text"])
    return {"triples": [[_term(quad.subject), _term(quad.predicate), _term(quad.object)] for quad in copy]}


def _rows(found: Any, most: int) -> dict[str, Any]:
    from pyoxigraph import QueryBoolean

    if isinstance(found, QueryBoolean):
        return {"boolean": bool(found)}
    columns = [variable.value for variable in found.variables]
    rows: list[list[Any]] = []
    for solution in found:
        rows.append([None if term is None else _term(term) for term in solution])
        if len(rows) > most:
            break
    return {"columns": columns, "rows": rows}


def _term(term: Any) -> list[str]:
    from pyoxigraph import BlankNode, Literal, NamedNode

    if isinstance(term, NamedNode):
        return ["iri", term.value, ""]
    if isinstance(term, Literal):
        return ["literal", term.value, term.datatype.value]
    if isinstance(term, BlankNode):
        return ["blank", term.value, ""]
    raise ValueError("a triple cannot be part of another triple")


if __name__ == "__main__":
    main()
