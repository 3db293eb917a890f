"""Calls of one function that a cluster makes, a few at once: whoever is done gets the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ontology.errors import EgotoolsError
from services.cluster.ray_cluster import connected

__all__ = ["each_on_ray"]

T = TypeVar("T")
R = TypeVar("R")
_RETRIES = 3  # of a call whose worker dies; it goes on with the journal of the task


def each_on_ray(
    function: Callable[..., R], items: Sequence[T], *shared: Any, at_once: int
) -> Iterator[tuple[T, R | EgotoolsError]]:
    """Yield each item with what the function returns for it and the shared arguments, in the order in which they end.

    :param function: of a module that every node has.
    :param shared: sent to the cluster once.
    :param at_once: calls at the same time; a call counts as one processor.
    :raises NotReadyError: when no cluster answers.
    """
    ray = connected()
    task: Any = ray.remote(max_retries=_RETRIES, num_cpus=1)(function)
    kept = [ray.put(each) for each in shared]
    waiting = list(reversed(items))
    running: dict[Any, T] = {}
    while waiting or running:
        while waiting and len(running) < at_once:
            item = waiting.pop()
            running[task.remote(item, *kept)] = item
        done, _ = ray.wait(list(running), num_returns=1)
        for each in done:
            yield running.pop(each), _result(ray, each)


def _result(ray: Any, reference: Any) -> Any:
    """Return what a call gave, or an error that says why it gave nothing."""
    from ray.exceptions import RayError

    try:
        return ray.get(reference)
    except RayError as error:
        return EgotoolsError(f"the task was given up: {' '.join(str(error).split())[:300]}", subject="--on ray")
