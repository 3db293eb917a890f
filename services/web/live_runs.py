"""Runs of the page: each is a task, whose events are kept so that a page that comes back sees all of them.

A planner gets a request and yields events while it works. An event is a JSON object; ``event`` is its name. The page draws ``GraphMade``,
``VariableEntered``, ``SetResolved``, ``EdgeTraversed``, ``Said``, ``Intersected``, ``Filtered``, ``Pruned``, ``Called`` and ``BranchFailed``
of :mod:`planners.dfs.executor`, and lists the others in its log. ``Answered`` ``{execution}`` ends a run; ``QuestionAnswered``
``{pages, error}`` that of a question of a graph, whose other events are those of :mod:`planners.graphseek.turn`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import Executor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from egotools import AsyncClient
from egotools.client_errors import ClientError, UnavailableError
from ontology.errors import EgotoolsError, NotFoundError, OverloadedError, UnsupportedError
from planners.journal.step_log import abandoned_calls
from services.server.logs import fields

__all__ = [
    "LiveRun",
    "LiveRuns",
    "OpenClient",
    "Plan",
    "PlanRequest",
    "RunEvent",
    "error_json",
    "in_thread",
    "observed",
]

_LOG = logging.getLogger("egotools.web")
_MOST_KEPT, _MOST_RUNNING, _MOST_EVENTS = 16, 8, 20_000
_ALONE_S = 20.0
"""A run that nobody follows for so long is cancelled: its page was closed. A browser that lost the connection is back after a second."""
_MOST_SHOWN = 500  # entities of an answer, and of a variable, that are sent
_LAST = ("Answered", "QuestionAnswered")
_T = TypeVar("_T")

RunEvent: TypeAlias = Mapping[str, Any]
OpenClient: TypeAlias = Callable[[str, str], AsyncClient]
"""Makes a client of the gRPC service with the token and the tenant of a visitor."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a run is asked.

    :param domain: name of a domain; empty for the planner's default.
    :param token: of the user, for calls to the tool service; empty where there is no access control.
    :param tenant: likewise.
    """

    request: str
    domain: str = ""
    token: str = field(default="", repr=False)
    tenant: str = ""


Plan: TypeAlias = Callable[[PlanRequest], AsyncGenerator[RunEvent, None]]
"""Works on a request. Its errors are those of egotools and of its client; when it is cancelled it leaves no task behind."""


def error_json(error: Exception) -> dict[str, Any]:
    """Return an error as an object: ``code``, ``message``, ``subject``, ``remedy``. Of a bug only the id of its entry in the log."""
    if isinstance(error, EgotoolsError):
        return _as_json(error.grpc_code, error.problem, error.subject, error.remedy)
    if isinstance(error, UnavailableError) and not error.reason:  # the transport's own words are for its developers
        _LOG.warning("the tool service does not answer", extra=fields(details=error.message))
        return _as_json(error.code, "the tool service does not answer", "", "See whether it still runs, and try again")
    if isinstance(error, ClientError):
        return _as_json(error.code, error.message, error.subject, error.remedy)
    incident = uuid.uuid4().hex
    _LOG.error("unexpected error of the page", exc_info=error, extra=fields(incident_id=incident))
    return _as_json("INTERNAL", "an unexpected error", "", f"Report the incident {incident}")


def _as_json(code: str, message: str, subject: str, remedy: str | None) -> dict[str, Any]:
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


class LiveRun:
    """One run.

    :param owner: key of the visitor who may see it.
    """

    def __init__(self, owner: str) -> None:
        self.id = secrets.token_urlsafe(12)
        self.owner = owner
        self.events: list[RunEvent] = []
        self.ended = False
        self.followers = 0
        self._last: RunEvent = {"event": "Cancelled"}
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._alone: asyncio.TimerHandle | None = None

    def start(self, plan: Plan, asked: PlanRequest) -> None:
        """Begin to work."""
        self._task = asyncio.ensure_future(self._work(plan, asked))
        self._task.add_done_callback(lambda task: self._end())  # also if it was cancelled before its first step
        self._wait_for_a_follower()

    async def cancel(self) -> None:
        """End the run, and wait until it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def follow(self, after: int) -> AsyncGenerator[tuple[int, RunEvent], None]:
        """Yield the events with their numbers from 1, from the one after ``after`` on, until the run has ended."""
        at = max(0, after)
        self.followers += 1
        if self._alone is not None:
            self._alone.cancel()
        try:
            while True:
                more, ended = self._more, self.ended
                while at < len(self.events):
                    at += 1
                    yield at, self.events[at - 1]
                if ended:
                    return
                await more.wait()
        finally:
            self.followers -= 1
            if not self.followers and not self.ended:
                self._wait_for_a_follower()

    async def _work(self, plan: Plan, asked: PlanRequest) -> None:
        try:
            async with aclosing(plan(asked)) as events:
                async for event in events:
                    if event["event"] in _LAST:
                        self._last = _shown(event)
                        return
                    if len(self.events) == _MOST_EVENTS:
                        raise OverloadedError("the run has too many events", remedy="Ask for less at once")
                    self._append(event)
            raise UnsupportedError("the planner gave no answer", remedy="Ask in other words")
        except Exception as error:
            self._last = {"event": "Failed", "error": error_json(error)}

    def _wait_for_a_follower(self) -> None:
        if self._task is not None:
            self._alone = asyncio.get_running_loop().call_later(_ALONE_S, self._task.cancel)

    def _end(self) -> None:
        self.ended = True
        if self._alone is not None:
            self._alone.cancel()
        self._append(self._last)

    def _append(self, event: RunEvent) -> None:
        self.events.append(event)
        self._more.set()
        self._more = asyncio.Event()


def _shown(last: RunEvent) -> RunEvent:
    """The last event as it is sent: of an answer the first entities only, and no calls, which were told before."""
    if last["event"] != "Answered":
        return last
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


class LiveRuns:
    """All runs of a page."""

    def __init__(self) -> None:
        self._runs: dict[str, LiveRun] = {}

    def begin(self, owner: str) -> LiveRun:
        """Make room for a run, and return it; the oldest that have ended are forgotten.

        :raises OverloadedError: when too many are under way, calls of a model that cancelled runs left included.
        """
        if sum(not run.ended for run in self._runs.values()) + abandoned_calls() >= _MOST_RUNNING:
            raise OverloadedError("too many runs at once", remedy="Wait until one has ended, or cancel one")
        while len(self._runs) >= _MOST_KEPT:
            del self._runs[next(each for each, run in self._runs.items() if run.ended)]
        run = LiveRun(owner)
        self._runs[run.id] = run
        return run

    def find(self, run_id: str, owner: str) -> LiveRun:
        """Return a run of this visitor.

        :raises NotFoundError: when there is none.
        """
        run = self._runs.get(run_id)
        if run is None or run.owner != owner:
            raise NotFoundError("there is no such run", subject=run_id, remedy="Begin a new one")
        return run

    async def stop(self) -> None:
        """Cancel what is under way."""
        for run in list(self._runs.values()):
            await run.cancel()
