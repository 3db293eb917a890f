"""What a run tells while it goes on: events in a fixed order, also of steps that run at once, and what each call of a model took."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from threading import Event as Signal
from threading import Thread
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, model_serializer

from inference.chat import ChatModel, Completion, ObservedModel
from inference.retry import end_retries_with
from ontology.errors import BudgetExceededError, ModelError

T = TypeVar("T")
_under_way: set[asyncio.Future[Any]] = set()


class Event(BaseModel):
    """What happens in a run of a planner. As JSON values it has its name under ``event``; lines of a union are told apart by it."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
    # Fields that are another time in a run that is taken again
    left_out: ClassVar[frozenset[str]] = frozenset({"seconds"})

    @model_serializer(mode="wrap")
    def _named(self, fields: Callable[[Self], dict[str, Any]]) -> dict[str, Any]:
        return {"event": type(self).__name__, **fields(self)}

    def to_json(self) -> dict[str, Any]:
        """Return the event as JSON values."""
        return self.model_dump(mode="json", fallback=str, warnings=False)


def unheard(event: Any) -> None:
    """Drop an event that happens outside of a run."""


_OBSERVER: ContextVar[Callable[[Any], None]] = ContextVar("observer of a run", default=unheard)


def emit(event: Any) -> None:
    """Tell an event, one of the planner's, to whoever observes this run."""
    _OBSERVER.get()(event)


@contextlib.contextmanager
def told_to(observe: Callable[[Any], None]) -> Iterator[None]:
    """Let the events of a block go to an observer."""
    token = _OBSERVER.set(observe)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


@contextlib.contextmanager
def also_told_to(observe: Callable[[Any], None]) -> Iterator[None]:
    """Let the events of a block go to one more observer."""
    outer = _OBSERVER.get()

    def both(event: Any) -> None:
        observe(event)
        outer(event)

    with told_to(both):
        yield


async def to_its_end(
    work: Awaitable[T], ended: Callable[..., T], *, seconds: float | None, outcomes: Mapping[type[Exception], str]
) -> T:
    """Take a run to its end and tell it: also where its time (None: no limit) has passed, an error ends it, or it is
    cancelled. ``ended`` makes the event of the end of ``answer``, ``outcome`` and ``missing``, which says why there is
    no answer. Of ``outcomes``, errors that end a run, the first that fits is taken; any other error is raised."""
    try:
        async with asyncio.timeout(seconds) as limit:
            end = await work
    except TimeoutError:
        if not limit.expired():
            raise
        end = ended(answer="", outcome="deadline", missing=f"the {seconds:g} s of the run have passed")
    except tuple(outcomes) as error:
        outcome = next(name for kind, name in outcomes.items() if isinstance(error, kind))
        end = ended(answer="", outcome=outcome, missing=str(error))
    except asyncio.CancelledError:
        emit(ended(answer="", outcome="cancelled", missing="the run was cancelled"))
        raise
    emit(end)
    return end


async def in_order(steps: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run steps at once and return their results in order. Each step is ended; then the first error is raised. All
    events of the first are told before those of the second."""
    told: list[list[Any]] = [[] for _ in steps]

    async def one(step: Coroutine[Any, Any, T], events: list[Any]) -> T:
        with told_to(events.append):
            return await step

    try:
        ended = await asyncio.gather(*map(one, steps, told), return_exceptions=True)
    finally:
        for step in steps:
            step.close()  # one that was cancelled before it began would be told as never awaited
        for event in (event for events in told for event in events):
            emit(event)
    results = []
    for result in ended:
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results


def seconds_since(started: float) -> float:
    """Return the seconds since a moment of ``time.perf_counter``, as records have them."""
    return round(time.perf_counter() - started, 6)


@contextlib.contextmanager
def metered(model: ChatModel, step: str, made: Callable[..., object]) -> Iterator[ChatModel]:
    """Give a model whose calls are told as events at the end of the block, and which makes no further call afterwards:
    a call that comes too late is an error, whose subject is ``step``. The calls are made in another thread, where
    nobody observes the run, and which goes on when its run is cancelled. ``made`` makes an event of ``prompt_tokens``,
    ``completion_tokens``, ``usd``, ``seconds`` and ``problem``."""
    events: list[object] = []
    is_over = Signal()

    def around(name: str, asked: Mapping[str, Any], ask: Callable[[], Completion]) -> Completion:
        if is_over.is_set():
            raise ModelError("the run has ended", subject=step)
        started = time.perf_counter()
        used = {"prompt_tokens": 0, "completion_tokens": 0}
        problem: str | None = None
        try:
            completion = ask()
            used = {"prompt_tokens": completion.prompt_tokens, "completion_tokens": completion.completion_tokens}
            problem = ""
            return completion
        except ModelError as error:
            problem = None if isinstance(error, BudgetExceededError) else error.problem  # then nothing was asked
            raise
        finally:
            if problem is not None:
                usd = observed.budget.usd(**used)
                events.append(made(**used, usd=usd, seconds=seconds_since(started), problem=problem))

    observed = ObservedModel(model, around)
    try:
        yield observed
    finally:
        is_over.set()
        for event in events:
            emit(event)


def on_a_thread(name: str, work: Callable[[], T]) -> asyncio.Future[T]:
    """Run on a daemon thread of this name, so that the event loop goes on, and a process that is interrupted does not
    wait for its model. A call that is under way cannot be stopped; when nobody waits for it any more, it is not
    repeated."""
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()
    answer, ended = asyncio.wrap_future(result), Signal()
    answer.add_done_callback(lambda _: ended.set())
    _under_way.add(answer)

    def run() -> None:
        end_retries_with(ended)
        try:
            result.set_result(work())
        except BaseException as error:  # whoever waits gets it
            result.set_exception(error)
        finally:
            _under_way.discard(answer)

    Thread(target=run, name=name, daemon=True).start()
    return answer


def abandoned_calls() -> int:
    """Return how many calls are under way that nobody waits for any more."""
    return sum(answer.cancelled() for answer in tuple(_under_way))
