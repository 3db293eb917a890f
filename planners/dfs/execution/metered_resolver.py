"""The resolver with a memo, budgets, a bound on calls at once, and a log."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, TypeAlias, TypeVar

from ontology.errors import BudgetExceededError, DeadlineError, EgotoolsError
from planners.dfs.execution.busy_time import BusyTime
from planners.dfs.execution.execution import Call, words_of
from planners.dfs.execution.execution_events import Called, Observe
from planners.dfs.execution.executor_settings import ExecutorSettings
from planners.dfs.resolver import Entity, Resolver, Step
from planners.query.query_graph import FilterConstraint

__all__ = ["MeteredResolver"]

_Answer = TypeVar("_Answer")
_Kind: TypeAlias = Literal["count", "find", "follow"]
_Batch: TypeAlias = "asyncio.Future[dict[str, list[Entity]]]"


class MeteredResolver:
    """Asks a resolver nothing twice: a count or find of the same filters, a step from the same source; also not what failed.

    :param log: every call, in the order of their ends.
    """

    def __init__(self, resolver: Resolver, settings: ExecutorSettings, observe: Observe) -> None:
        self._resolver = resolver
        self._settings = settings
        self._observe = observe
        self._free = asyncio.Semaphore(settings.concurrent_calls)
        self._deadline = asyncio.get_running_loop().time() + settings.max_seconds
        self._started = 0
        self._found: dict[tuple[str, tuple[tuple[str, ...], ...]], asyncio.Future[Sequence[Entity]]] = {}
        self._followed: dict[Step, dict[str, _Batch]] = {}
        self.log: list[Call] = []
        self.rows = 0
        self.busy = BusyTime(time.perf_counter)

    async def count(self, kind: str, filters: Sequence[FilterConstraint]) -> int | None:
        """Return the resolver's count, or None where it has none or fails."""
        try:
            return await self._call("count", _what(kind, filters), 0, lambda: self._resolver.count(kind, filters))
        except EgotoolsError:
            return None

    async def find(self, kind: str, filters: Sequence[FilterConstraint]) -> Sequence[Entity]:
        """Return the entities of a type that meet the filters.

        :raises EgotoolsError: when the call fails, or a budget is used up.
        """
        key = (kind, tuple(sorted((each.field, each.op, repr(each.value)) for each in filters)))
        if key not in self._found:
            with _shared(self._found.setdefault(key, asyncio.get_running_loop().create_future())) as answer:
                answer.set_result(
                    await self._call("find", _what(kind, filters), 0, lambda: self._resolver.find(kind, filters))
                )
        return await self._found[key]

    async def follow(self, step: Step, sources: Sequence[str]) -> dict[str, list[Entity]]:
        """Return the entities at the other end of a step, by source, for sources that have any; none is asked twice.

        :raises EgotoolsError: when a call fails, or a budget is used up.
        """
        known = self._followed.setdefault(step, {})
        new = [source for source in sources if source not in known]
        if new:
            with _shared(asyncio.get_running_loop().create_future()) as batch:
                known.update(dict.fromkeys(new, batch))
                pairs = await self._call("follow", _path(step), len(new), lambda: self._resolver.follow(step, new))
                answered: defaultdict[str, list[Entity]] = defaultdict(list)
                for source, entity in pairs:
                    answered[source].append(entity)
                by_source = {  # a tool may answer more than it was asked
                    source: found for source, found in answered.items() if known.get(source) is batch
                }
                batch.set_result(by_source)
            if len(new) == len(sources):
                return by_source
        answers = [await batch for batch in dict.fromkeys(known[source] for source in sources)]
        return {source: answer[source] for answer in answers for source in sources if source in answer}

    async def _call(self, kind: _Kind, what: str, sources: int, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        rows, error, number = 0, "", None
        async with self._free:
            self._spend(what)
            started = time.perf_counter()
            with self.busy.call():
                try:
                    async with asyncio.timeout_at(self._deadline):
                        answer = await ask()
                    rows = len(answer) if isinstance(answer, Sequence) else 0
                    number = answer if isinstance(answer, int) else None
                    return answer
                except TimeoutError:
                    failure = DeadlineError(self._late(), subject=what)
                    error = str(failure)
                    raise failure from None
                except EgotoolsError as failure:
                    error = str(failure)
                    raise
                except BaseException as failure:
                    error = repr(failure)
                    raise
                finally:
                    self.rows += rows
                    ms = (time.perf_counter() - started) * 1000
                    self.log.append(Call(kind, what, sources, rows, ms, error, number))
                    self._observe(Called(self.log[-1]))

    def _spend(self, what: str) -> None:
        limits = self._settings
        spent = ""
        if self._started >= limits.max_calls:
            spent = f"the budget of {limits.max_calls} calls is used up"
        elif self.rows >= limits.max_rows:
            spent = f"the budget of {limits.max_rows} rows is used up"
        elif asyncio.get_running_loop().time() >= self._deadline:
            spent = self._late()
        if spent:
            raise BudgetExceededError(spent, subject=what, remedy="Ask for less or raise the budget")
        self._started += 1

    def _late(self) -> str:
        if asyncio.get_running_loop().time() >= self._deadline:
            return f"the budget of {self._settings.max_seconds:g} s is used up"
        return "no answer in time"


@contextmanager
def _shared(future: asyncio.Future[_Answer]) -> Iterator[asyncio.Future[_Answer]]:
    """A future that others wait for: it fails as the block fails."""
    try:
        yield future
    except asyncio.CancelledError:
        future.cancel()
        raise
    except BaseException as error:
        future.set_exception(error)
        future.exception()  # so that nobody is told of an error that nobody else waited for
        raise


def _what(kind: str, filters: Sequence[FilterConstraint]) -> str:
    return " and ".join(words_of(each.model_copy(update={"var": kind})) for each in filters) or kind


def _path(step: Step) -> str:
    return f"{step.source} {step.edge} {step.target}" if step.forward else f"{step.source} ← {step.edge} {step.target}"
