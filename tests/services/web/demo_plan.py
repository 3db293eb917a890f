"""A run of the page's tests: the request of the paper's Figure 1 with events as the executor's, and what can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from ontology.errors import InvalidArgumentError
from services.web.live_runs import PlanRequest, RunEvent

FIGURE_1 = "Find the file folders that contain email attachments from Jane Doe."
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
GRAPH = {
    "action": "find",
    "return_var": "dir",
    "return_mode": "all",
    "vars": {"dir": "Folder", "f": "File", "e": "Email", "p": "Person"},
    "constraints": [
        {"kind": "edge", "from": "f", "edge": "parent", "to": "dir"},
        {"kind": "edge", "from": "e", "edge": "has_attachment", "to": "f"},
        {"kind": "edge", "from": "e", "edge": "from", "to": "p"},
        {"kind": "filter", "var": "p", "field": "name", "op": "=", "value": "Jane Doe"},
    ],
}


def _call(kind: str, what: str, sources: int, rows: int, error: str = "") -> RunEvent:
    call = {"kind": kind, "what": what, "sources": sources, "rows": rows, "ms": 1.25, "error": error}
    return {"event": "Called", "call": call}


def _entities(var: str, number: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"id": f"{var}-{at}", "fields": {"name": f"{var} number {at}", **fields}} for at in range(number)]


EVENTS: tuple[RunEvent, ...] = (
    {"event": "GraphMade", "graph": GRAPH, "notes": []},
    *({"event": "VariableEntered", "var": var, "kind": GRAPH["vars"][var]} for var in ("dir", "f", "e", "p")),  # type: ignore[index]
    _call("find", "Person.name = Jane Doe", 0, 1),
    {"event": "SetResolved", "var": "p", "size": 1},
    _call("follow", "Email ← from Person", 1, 461),
    {"event": "EdgeTraversed", "start": "p", "edge": "from", "end": "e", "sources": 1, "pairs": 461},
    {"event": "SetResolved", "var": "e", "size": 461, "first": _entities("e", 50, subject=f"Minutes {HOSTILE}")},
    _call("follow", "Email has_attachment File", 461, 235),
    {"event": "EdgeTraversed", "start": "e", "edge": "has_attachment", "end": "f", "sources": 461, "pairs": 235},
    {"event": "SetResolved", "var": "f", "size": 235},
    _call("follow", "File parent Folder", 235, 235),
    {"event": "EdgeTraversed", "start": "f", "edge": "parent", "end": "dir", "sources": 235, "pairs": 235},
    {"event": "SetResolved", "var": "dir", "size": 6},
    {"event": "Pruned", "sizes": {"dir": 6, "e": 180, "f": 235, "p": 1}},
    {"event": "Done", "count": 6, "calls": 4, "rows": 932},
)
CANDIDATES = {
    "dir": _entities("dir", 6),
    "f": _entities("f", 235),
    "e": _entities("e", 180, subject=f"Minutes {HOSTILE}"),
    "p": [{"id": "jane@example.com", "fields": {"name": "Jane Doe"}}],
}
EXECUTION = {
    "answer": CANDIDATES["dir"],
    "count": 6,
    "candidates": CANDIDATES,
    "missing": [],
    "calls": [],
    "totals": {"calls": 4, "rows": 932, "wall_ms": 5.0},
    "exact": True,
}


class DemoPlan:
    """Plays the events. Words of the request say what happens: ``wait``, ``fail``, ``broken``.

    :param steps: for ``wait``: one permit an event.
    """

    def __init__(self) -> None:
        self.steps = asyncio.Semaphore(0)
        self.cancelled = 0
        self.asked: list[PlanRequest] = []

    async def __call__(self, asked: PlanRequest) -> AsyncGenerator[RunEvent, None]:
        self.asked.append(asked)
        words = asked.request.split()
        try:
            for event in EVENTS:
                if "wait" in words:
                    await self.steps.acquire()
                yield event
                if event["event"] == "SetResolved" and "fail" in words:
                    raise InvalidArgumentError(f"no graph for {HOSTILE}", subject="graph", remedy="Ask otherwise")
                if event["event"] == "SetResolved" and "broken" in words:
                    raise ZeroDivisionError("secret")
            yield {"event": "Answered", "execution": EXECUTION}
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
