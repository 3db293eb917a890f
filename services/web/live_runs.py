"""Runs of the page: each is one request whose answer are its events while it works; whoever goes away ends it.

A planner gets a request and yields events. An event is a JSON object; ``event`` is its name. The page draws ``GraphMade``,
``VariableEntered``, ``SetResolved``, ``EdgeTraversed``, ``Said``, ``Intersected``, ``Filtered``, ``Pruned``, ``Called`` and ``BranchFailed``
of :mod:`planners.dfs.executor`, and lists the others in its log. ``Answered`` ``{execution}`` ends a run; ``QuestionAnswered``
``{pages, error}`` that of a question of a graph, whose other events are those of :mod:`planners.graphseek.turn`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import Executor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from egotools import AsyncClient
from egotools.client_errors import ClientError, UnavailableError
from ontology.errors import EgotoolsError, OverloadedError, UnsupportedError
from planners.journal.step_log import abandoned_calls
from services.server.calls import fields, report_incident

_LOG = logging.getLogger("egotools.web")
_MOST_RUNNING, _MOST_EVENTS = 8, 20_000
_MOST_SHOWN = 500  # entities of an answer, and of a variable, that are sent
_T = TypeVar("_T")

RunEvent: TypeAlias = Mapping[str, Any]
# Makes a client of the gRPC service with the token and the tenant of a visitor
OpenClient: TypeAlias = Callable[[str, str], AsyncClient]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a run is asked."""

    request: str
    domain: str = ""  # its name; empty for the planner's default
    # Of the user, for calls to the tool service; empty without access control.
    token: str = field(default="", repr=False)
    tenant: str = ""


# Works on a request. Its errors are those of egotools and of its client; when it is cancelled it leaves no task behind.
Plan: TypeAlias = Callable[[PlanRequest], AsyncGenerator[RunEvent, None]]


def error_json(error: Exception) -> dict[str, Any]:
    """Return an error as an object: ``code``, ``message``, ``subject``, ``remedy``. Of a bug only the id of its entry in the log."""
    if isinstance(error, EgotoolsError):
        return _as_json(error.grpc_code, error.problem, error.subject, error.remedy)
    if isinstance(error, UnavailableError) and not error.reason:  # the transport's own words are for its developers
        _LOG.warning("the tool service does not answer", extra=fields(details=error.message))
        return _as_json(error.code, "the tool service does not answer", "", "See whether it still runs, and try again")
    if isinstance(error, ClientError):
        return _as_json(error.code, error.message, error.subject, error.remedy)
    sent = report_incident("the page")
    return _as_json("INTERNAL", sent.message, "", sent.remedy)


def _as_json(code: str, message: str, subject: str, remedy: str) -> dict[str, Any]:
    return {"code": code, "message": message, "subject": subject, "remedy": remedy}


async def in_thread(threads: Executor, work: Callable[[], _T]) -> _T:
    """Return what work on a thread returns. When this is cancelled, work that has begun is waited for."""
    submitted = threads.submit(work)
    future = asyncio.wrap_future(submitted)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not submitted.cancel():
            await _ended(future)
        raise


async def _ended(future: asyncio.Future[Any]) -> None:
    """Wait until a task or future has ended, also when the caller is cancelled meanwhile."""
    while not future.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([future])


def observed(work: Callable[[PlanRequest, Callable[[RunEvent], None]], Awaitable[None]]) -> Plan:
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
            await _ended(task)

    return plan


class LiveRuns:
    """The runs of a page that are under way."""

    def __init__(self) -> None:
        self._running = 0

    def check_room(self) -> None:
        """Check that one more may begin; OverloadedError when too many are under way, calls that cancelled runs left at a model included."""
        if self._running + abandoned_calls() >= _MOST_RUNNING:
            raise OverloadedError("too many runs at once", remedy="Wait until one has ended, or cancel one")

    async def events(self, plan: Plan, asked: PlanRequest) -> AsyncGenerator[RunEvent, None]:
        """Yield the events of a run: the last one is its answer, or ``Failed`` with the error."""
        self._running += 1
        count = 0
        try:
            async with aclosing(plan(asked)) as events:
                async for event in events:
                    count += 1
                    if count > _MOST_EVENTS:
                        raise OverloadedError("the run has too many events", remedy="Ask for less at once")
                    yield _shown(event) if event["event"] == "Answered" else event
                    if event["event"] in ("Answered", "QuestionAnswered"):
                        return
            raise UnsupportedError("the planner gave no answer", remedy="Ask in other words")
        except Exception as error:
            yield {"event": "Failed", "error": error_json(error)}
        finally:
            self._running -= 1


def _shown(last: RunEvent) -> RunEvent:
    """An answer as it is sent: the first entities only, and no calls, which were told before."""
    execution = last["execution"]
    rest = {name: value for name, value in execution.items() if name not in ("answer", "candidates", "calls")}
    candidates = execution.get("candidates", {}).items()
    return {
        "event": "Answered",
        "answer": list(execution.get("answer", ()))[:_MOST_SHOWN],
        "sizes": {var: len(found) for var, found in candidates},
        "first": {var: list(found)[:_MOST_SHOWN] for var, found in candidates},
        **rest,
    }
