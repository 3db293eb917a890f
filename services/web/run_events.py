"""The seam between the page and a planner: a request goes in, events come out while it is worked on.

An event is a JSON object; ``event`` is its name. The page draws these, and lists the others in its log as they are:

* ``GraphMade`` ``{graph, notes, left_out}``: the query graph in the JSON form of the paper QueryWeaver (section 4.1); ``left_out`` are notes of
  what is not in it.
* ``VariableEntered`` ``{var}``, ``SetResolved`` ``{var, size, first}``, ``EdgeTraversed`` ``{start, edge, end, sources, pairs}``,
  ``Said`` ``{text}``, ``Intersected`` and ``Filtered`` ``{var, after, first}``, ``Pruned`` ``{sizes, first}``, ``Called`` ``{call}``, ``BranchFailed`` ``{missing}``.
  ``first`` are at most 50 candidates as ``{id, fields}``, of a variable (of ``Pruned``: by variable).
* ``Answered`` ``{execution}`` ends a run: ``answer``, ``count``, ``candidates`` (variable → entities), ``missing``, ``totals``.
* ``TurnEnded`` ``{turn, pages, error}`` ends the run of a question of a graph, whose other events are those of
  :mod:`planners.graphseek.turn`: ``pages`` are results to be shown, ``error`` says why there is no sure answer.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from egotools import Tool
from egotools.client_errors import ClientError, UnavailableError
from ontology.errors import EgotoolsError
from services.server.logs import fields

__all__ = ["Plan", "PlanRequest", "RunEvent", "error_json", "in_thread", "observed"]

_LOG = logging.getLogger("egotools.web")


def error_json(error: Exception) -> dict[str, Any]:
    """Return an error as an object: ``code``, ``message``, ``subject``, ``remedy``. Of a bug only the id of its entry in the log."""
    if isinstance(error, EgotoolsError):
        return {
            "code": error.grpc_code,
            "message": error.problem,
            "subject": error.subject,
            "remedy": error.remedy,
        }
    if isinstance(error, UnavailableError) and not error.reason:  # the transport's own words are for its developers
        _LOG.warning("the tool service does not answer", extra=fields(details=error.message))
        return {
            "code": error.code,
            "message": "the tool service does not answer",
            "subject": "",
            "remedy": "See whether it still runs, and try again",
        }
    if isinstance(error, ClientError):
        return {"code": error.code, "message": error.message, "subject": error.subject, "remedy": error.remedy}
    incident = uuid.uuid4().hex
    _LOG.error("unexpected error of the page", exc_info=error, extra=fields(incident_id=incident))
    return {
        "code": "INTERNAL",
        "message": "an unexpected error",
        "subject": "",
        "remedy": f"Report the incident {incident}",
    }


_T = TypeVar("_T")


async def in_thread(threads: Executor, work: Callable[[], _T]) -> _T:
    """Return what work on a thread returns. When this is cancelled, work that has begun is waited for."""
    submitted = threads.submit(work)
    future = asyncio.wrap_future(submitted)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not submitted.cancel():
            await ended(future)
        raise


async def ended(future: asyncio.Future[Any]) -> None:
    """Wait until a task or future has ended, also when the caller is cancelled meanwhile."""
    while not future.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([future])


RunEvent: TypeAlias = Mapping[str, Any]
Ask: TypeAlias = Callable[[Tool, Mapping[str, Any]], Awaitable[bool]]
"""Asks the user whether a call that may change something may be made, with its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a run is asked.

    :param domain: name of a domain; empty for the planner's default.
    :param token: of the user, for calls to the tool service; empty where there is no access control.
    :param tenant: likewise.
    :param ask: is to be called before what may change something.
    """

    request: str
    ask: Ask
    domain: str = ""
    token: str = field(default="", repr=False)
    tenant: str = ""


Plan: TypeAlias = Callable[[PlanRequest], AsyncGenerator[RunEvent, None]]
"""Works on a request. Its errors are those of egotools and of its client; when it is cancelled it leaves no task behind."""


Work: TypeAlias = Callable[[PlanRequest, Callable[[RunEvent], None]], Awaitable[None]]
"""Works on a request in the event loop, and calls the observer with each event, the last one too."""


def observed(work: Work) -> Plan:
    """Return work with an observer as a plan. Whoever stops to read the events cancels the work and waits for its end."""

    async def plan(asked: PlanRequest) -> AsyncGenerator[RunEvent, None]:
        waiting: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        task = asyncio.ensure_future(work(asked, waiting.put_nowait))
        task.add_done_callback(lambda ended: waiting.put_nowait(None))
        try:
            while (event := await waiting.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            await ended(task)

    return plan
