"""The runs of the page: each is a task, whose events are kept so that a page that comes back sees all of them."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

from egotools import Tool
from ontology.errors import NotFoundError, OverloadedError, UnsupportedError
from planners.journal.step_log import abandoned_calls
from services.web.run_events import Plan, PlanRequest, RunEvent, error_json

__all__ = ["LiveRun", "LiveRuns"]

_MOST_KEPT, _MOST_RUNNING, _MOST_EVENTS = 16, 8, 20_000
_MOST_STREAMS, _MOST_STREAMS_OF_A_RUN = 64, 8
_ALONE_S = 20.0
"""A run that nobody follows for so long is cancelled: its page was closed. A browser that lost the connection is back after a second."""
_SHOWN = 100
"""Entities of an answer that are sent with its event; the others are asked for."""


class LiveRun:
    """One run.

    :param owner: key of the visitor who may see it.
    """

    def __init__(self, owner: str) -> None:
        self.id = secrets.token_urlsafe(12)
        self.owner = owner
        self.events: list[RunEvent] = []
        self.ended = False
        self._candidates: Mapping[str, Any] = {}
        self._answer: list[Any] = []
        self._last: RunEvent = {"event": "Cancelled"}
        self._more = asyncio.Event()
        self._questions: dict[str, asyncio.Future[bool]] = {}
        self._task: asyncio.Task[None] | None = None
        self._followers = 0
        self._alone: asyncio.TimerHandle | None = None

    def start(self, plan: Plan, asked: PlanRequest) -> None:
        """Begin to work."""
        self._task = asyncio.ensure_future(self._work(plan, asked))
        self._task.add_done_callback(
            lambda task: self._end()
        )  # also of a task that was cancelled before its first step
        self._wait_for_a_follower()

    async def cancel(self) -> None:
        """End the run, and wait until it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def follow(self, after: int) -> AsyncGenerator[tuple[int, RunEvent], None]:
        """Yield the events with their numbers from 1, from the one after ``after`` on, until the run has ended."""
        at = max(0, after)
        self._followers += 1
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
            self._followers -= 1
            if not self._followers and not self.ended:
                self._wait_for_a_follower()

    async def ask(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Ask the user whether a call may be made."""
        question = secrets.token_urlsafe(6)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._questions[question] = answer
        shown = {"id": tool.id, "title": tool.title or tool.name, "description": tool.description}
        self._append({"event": "ConsentAsked", "question": question, "tool": shown, "arguments": dict(arguments)})
        try:
            allowed = await answer
        finally:
            del self._questions[question]
        self._append({"event": "ConsentGiven", "question": question, "allowed": allowed})
        return allowed

    def consent(self, question: str, allowed: bool) -> None:
        """Answer a question.

        :raises NotFoundError: when it is not open.
        """
        answer = self._questions.get(question)
        if answer is None or answer.done():
            raise NotFoundError("this question is not open", subject=question, remedy="Look at the log of the run")
        answer.set_result(allowed)

    def entities(self, var: str, offset: int, count: int) -> dict[str, Any]:
        """Return some of the entities of a variable, or of the answer where ``var`` is empty, and the number of all."""
        found = self._candidates.get(var, ()) if var else self._answer
        return {"total": len(found), "entities": list(found[offset : offset + count])}

    async def _work(self, plan: Plan, asked: PlanRequest) -> None:
        try:
            async with aclosing(plan(asked)) as events:
                async for event in events:
                    if event["event"] == "Answered":
                        self._last = self._answered(event["execution"])
                        return
                    if event["event"] == "TurnEnded":
                        self._last = event
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

    def _answered(self, execution: Mapping[str, Any]) -> RunEvent:
        self._candidates, self._answer = execution.get("candidates", {}), list(execution.get("answer", ()))
        rest = {name: value for name, value in execution.items() if name not in ("answer", "candidates", "calls")}
        sizes = {var: len(found) for var, found in self._candidates.items()}
        return {"event": "Answered", "answer": self._answer[:_SHOWN], "sizes": sizes, **rest}

    def _append(self, event: RunEvent) -> None:
        self.events.append(event)
        self._more.set()
        self._more = asyncio.Event()


class LiveRuns:
    """All runs, of one planner."""

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan
        self._runs: dict[str, LiveRun] = {}
        self._streams: Counter[LiveRun] = Counter()

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

    @contextmanager
    def stream(self, run: LiveRun) -> Iterator[None]:
        """Hold a stream of events of a run inside the block.

        :raises OverloadedError: when too many are open, of this run or in all.
        """
        if self._streams[run] >= _MOST_STREAMS_OF_A_RUN or self._streams.total() >= _MOST_STREAMS:
            raise OverloadedError("too many pages follow a run at once", remedy="Close some of them")
        self._streams[run] += 1
        try:
            yield
        finally:
            self._streams[run] -= 1
            self._streams += Counter()  # without those that are followed no more

    async def stop(self) -> None:
        """Cancel what is under way."""
        for run in list(self._runs.values()):
            await run.cancel()
