"""Tasks of a cluster in place of the processes and threads of a build. A task whose worker dies is done again on another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

from ontology.errors import CatalogError
from services.cluster.ray_cluster import connected

__all__ = ["RayPool", "ray_pool"]

T = TypeVar("T")
_RETRIES = 20  # of one task whose worker dies; an error of the task itself is raised at once


class RayPool(Executor):
    """As :class:`concurrent.futures.ProcessPoolExecutor`, with tasks of the cluster that the command is connected to.

    :param workers: is not used: the cluster decides how many tasks run.
    :param initializer: called in each worker before its first task, with ``initargs``.
    """

    def __init__(self, workers: int, *, initializer: Callable[..., None], initargs: tuple[Any, ...]) -> None:
        import ray

        self._task: Any = ray.remote(max_retries=_RETRIES, num_cpus=1)(_run)
        self._prepared = ray.put((initializer, initargs))
        self._key = self._prepared.hex()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Start a task."""
        future: Future[T] = self._task.remote(self._key, self._prepared, fn, args, kwargs).future()
        return future


_initialised: set[str] = set()  # the pools that this worker is prepared for


def _run(
    key: str, prepared: tuple[Callable[..., None], tuple[Any, ...]], fn: Callable[..., T], args: Any, kwargs: Any
) -> T:
    if key not in _initialised:
        initializer, initargs = prepared
        initializer(*initargs)
        _initialised.add(key)
    return fn(*args, **kwargs)


@contextmanager
def ray_pool() -> Iterator[Callable[..., Executor]]:
    """Connect to the cluster, and yield what makes pools of it.

    :raises NotReadyError: when no cluster answers.
    :raises CatalogError: when the worker of a task died each time, or the cluster is lost.
    """
    connected()
    from ray.exceptions import RayError, RayTaskError

    try:
        yield RayPool
    except RayTaskError as error:
        raise error.cause from None  # what the task itself raised
    except RayError as error:
        raise CatalogError(
            f"a task was given up: {' '.join(str(error).split())[:300]}",
            subject="--on ray",
            remedy="Give the nodes more memory, or build without --on ray",
        ) from error
