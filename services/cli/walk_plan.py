"""The planner of the page: words → graph → tools over gRPC → execution, each step as an event."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial

from planners.calls.tool_access import CallLimits, ToolAccess, never
from planners.calls.tool_finder import Documents, ToolFinder
from planners.dfs.executor import answer_graph
from planners.dfs.tool_resolver import ToolResolver
from planners.query import load_parser
from planners.query.domain import Domain
from services.web.live_runs import OpenClient, Plan, PlanRequest, RunEvent, in_thread, observed

__all__ = ["walk_plan"]

_PARSING = ThreadPoolExecutor(2, "parse")  # their own, so that a long sentence keeps nothing else of the server waiting
_MOST_VISITORS = 32


def walk_plan(
    domains: Mapping[str, Domain],
    access: ToolAccess,
    open_client: OpenClient,
    *,
    limits: CallLimits,
    today: Callable[[], date] = date.today,
) -> Plan:
    """Return the planner of the page.

    :param domains: by name, the default first.
    """
    parser = load_parser("rules.v1", None)
    known: OrderedDict[bytes, Documents] = OrderedDict()

    def documents(asked: PlanRequest) -> Documents:
        """What the runs of one visitor have read; the snapshot in its keys keeps it right."""
        visitor = hashlib.sha256(f"{asked.tenant}\n{asked.token}".encode()).digest()  # the token itself is not kept
        found = known.setdefault(visitor, OrderedDict())
        known.move_to_end(visitor)
        if len(known) > _MOST_VISITORS:
            known.popitem(last=False)
        return found

    async def work(asked: PlanRequest, observe: Callable[[RunEvent], None]) -> None:
        domain = domains[asked.domain or next(iter(domains))]
        day = today()
        parsed = await in_thread(_PARSING, partial(parser.parse, asked.request, domain, day))
        told = {"notes": list(parsed.notes), "left_out": list(parsed.left_out)}
        observe({"event": "GraphMade", "graph": parsed.graph.to_json(), **told})

        def said(text: str) -> None:
            observe({"event": "Said", "text": text})

        async with open_client(asked.token, asked.tenant) as client, access.calling(never, limits) as invoker:
            finder = ToolFinder(client, documents=documents(asked))
            resolver = ToolResolver(domain, finder, invoker, said=said)
            execution = await answer_graph(parsed.graph, domain, resolver, today=day, limits=limits, observe=observe)
        observe({"event": "Answered", "execution": execution})

    return observed(work)
