"""Telling events in a fixed order: of steps that run at once, all events of the first are told before those of the second."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["also_told_to", "emit", "in_order", "told_to", "unheard"]

T = TypeVar("T")


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


async def in_order(steps: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run steps at once and return their results in order. Each step is ended; then the first error is raised."""
    told: list[list[Any]] = [[] for _ in steps]

    async def one(step: Coroutine[Any, Any, T], events: list[Any]) -> T:
        with told_to(events.append):
            return await step

    try:
        ended = await asyncio.gather(*map(one, steps, told), return_exceptions=True)
    finally:
        for event in (event for events in told for event in events):
            emit(event)
    results = []
    for result in ended:
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results
