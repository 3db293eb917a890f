"""The cluster of Ray that a command works on."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from ontology.errors import CatalogError, EgotoolsError, InvalidArgumentError, MissingExtraError, NotReadyError

# The variable that says how long a node and a command live without the head. Ray's default, a minute or so, ends them.
RECONNECT = "RAY_gcs_rpc_server_reconnect_timeout_s"

_RECONNECT_S = "86400"
_PLACES = ("local", "ray")


def on_ray(place: str) -> bool:
    """Whether ``--on`` names a cluster of Ray. Raises InvalidArgumentError for another name."""
    if place not in _PLACES:
        raise InvalidArgumentError(f"there is no place {place!r}", subject="--on", remedy=f"Use {' or '.join(_PLACES)}")
    return place == "ray"


def connected() -> Any:
    """Connect to the running cluster, of ``RAY_ADDRESS`` or this machine; return the module ``ray``. NotReadyError when no cluster answers."""
    if find_spec("ray") is None:
        raise MissingExtraError("--on ray", extra="ray")
    os.environ.setdefault(RECONNECT, _RECONNECT_S)  # read at the import: this command outlives a dead head too
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    try:
        ray.init(
            address="auto",
            namespace="egotools",
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
        )
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise NotReadyError(
            f"no cluster of Ray answers: {' '.join(str(error).split())[:200]}",
            subject=os.environ.get("RAY_ADDRESS", "--on ray"),
            remedy=f"Start one: {RECONNECT}={_RECONNECT_S} .venv/bin/ray start --head --disable-usage-stats",
        ) from error
    return ray


T = TypeVar("T")
_RETRIES = 20  # of one task whose worker dies; an error of the task itself is raised at once


class RayPool(Executor):
    """As :class:`concurrent.futures.ProcessPoolExecutor`, with tasks of the cluster, which decides how many run."""

    def __init__(self, *, initializer: Callable[..., None], initargs: tuple[Any, ...]) -> None:
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
    """Connect to the cluster, and yield what makes pools of it. CatalogError when the worker of a task died each time, or the cluster is lost."""
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


R = TypeVar("R")
_TASK_RETRIES = 3  # of a call whose worker dies; it goes on with the journal of the task


def each_on_ray(
    function: Callable[..., R], items: Sequence[T], *shared: Any, at_once: int
) -> Iterator[tuple[T, R | EgotoolsError]]:
    """Yield each item with what the function, of a module that every node has, returns for it and the shared arguments,
    in the order in which they end; ``at_once`` calls at the same time. NotReadyError when no cluster answers."""
    ray = connected()
    from ray.exceptions import RayError

    task: Any = ray.remote(max_retries=_TASK_RETRIES, num_cpus=1)(function)
    kept = [ray.put(each) for each in shared]
    waiting = list(reversed(items))
    running: dict[Any, T] = {}
    while waiting or running:
        while waiting and len(running) < at_once:
            item = waiting.pop()
            running[task.remote(item, *kept)] = item
        done, _ = ray.wait(list(running), num_returns=1)
        for each in done:
            try:
                given = ray.get(each)
            except RayError as error:
                why = " ".join(str(error).split())[:300]
                given = EgotoolsError(f"the task was given up: {why}", subject="--on ray")
            yield running.pop(each), given
