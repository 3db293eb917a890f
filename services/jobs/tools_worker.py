"""The processes that read changed tools and run the offline pipeline over them, beside a server that loads nothing of it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ontology.errors import NotReadyError
from ontology.tool import Tool
from retrieval.delta.segment import ChangedTools, Segment

if TYPE_CHECKING:
    from services.jobs.changed_tools import ToolsMaker

__all__ = ["ToolsReader", "ToolsWorker"]

_T = TypeVar("_T")
_FEW = 100  # tools, which take less than a second. Chosen, not tuned
_NICENESS = 10


class ToolsReader(Protocol):
    """What changes of tools need of the offline pipeline; :class:`services.jobs.changed_tools.ToolsMaker` in this process."""

    def read(self, rows: Sequence[Mapping[str, Any]]) -> list[Tool]:
        """Return tools from JSON objects, by id.

        :raises DocumentError: for a row that is no tool.
        """

    def examine(self, tools: Sequence[Tool], published: Sequence[Tool], store: Path) -> None:
        """Examine changed tools; refuse those with severe findings that were not released in the store, where its builds do so.

        :param published: the same tools as they are served now, where they are.
        :raises CatalogError: naming them.
        """

    def make(self, changed: ChangedTools) -> Segment:
        """Return the segment of changed tools."""


class ToolsWorker:
    """:class:`ToolsReader` in processes of its own, which start with the first change and again after a crash. Thread-safe.

    Calls of more than 100 tools have a process of theirs, of low priority: one of 10,000 takes minutes, and the small changes of
    other catalogues do not wait for it.

    :param ontology: the ontology file of the builds; None for the one that is part of egotools.
    """

    def __init__(self, ontology: Path | None = None) -> None:
        self._ontology = ontology
        self._pools: dict[bool, ProcessPoolExecutor] = {}  # whether it is for many tools → its one process
        self._lock = threading.Lock()

    def read(self, rows: Sequence[Mapping[str, Any]]) -> list[Tool]:
        """As :meth:`ToolsReader.read`.

        :raises NotReadyError: when the process died.
        """
        return self._run(_read, rows, len(rows))

    def examine(self, tools: Sequence[Tool], published: Sequence[Tool], store: Path) -> None:
        """As :meth:`ToolsReader.examine`.

        :raises NotReadyError: when the process died.
        """
        self._run(_examine, (tools, published, store), len(tools))

    def make(self, changed: ChangedTools) -> Segment:
        """As :meth:`ToolsReader.make`.

        :raises NotReadyError: when the process died.
        """
        return self._run(_make, changed, len(changed.tools))

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.shutdown(cancel_futures=True)

    def _run(self, call: Callable[[Path | None, Any], _T], argument: Any, tools: int) -> _T:
        many = tools > _FEW
        with self._lock:
            pool = self._pools[many] = self._pools.get(many) or ProcessPoolExecutor(
                max_workers=1,
                # Not a fork: the server has threads, and one of them may hold a lock.
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin,
                initargs=(_NICENESS if many else 0,),
            )
        try:
            return self._submitted(pool, call, argument).result()
        except (BrokenProcessPool, CancelledError) as error:
            pool.shutdown(wait=False)
            with self._lock:
                if self._pools.get(many) is pool:
                    del self._pools[many]
            raise NotReadyError(
                "the process that reads tools has died", subject="tools", remedy="Send the change again"
            ) from error

    def _submitted(
        self, pool: ProcessPoolExecutor, call: Callable[[Path | None, Any], _T], argument: Any
    ) -> Future[_T]:
        """Give a call to the process.

        :raises CancelledError: when :meth:`close` has ended it meanwhile.
        """
        try:
            return pool.submit(call, self._ontology, argument)
        except BrokenProcessPool:
            raise
        except RuntimeError as error:
            raise CancelledError(str(error)) from error


def _begin(niceness: int) -> None:
    os.nice(niceness)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, however it did: a worker of a killed pool waits for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _maker(ontology: Path | None) -> ToolsMaker:
    from services.jobs.changed_tools import ToolsMaker

    maker = ToolsMaker(ontology)
    maker.make(ChangedTools(tools=[Tool(id="tool", name="get tool", description="Gets a tool.")]))  # loads the models
    gc.collect()
    gc.freeze()  # a full collection would look through them in the middle of a change, for a quarter of a second
    return maker


def _read(ontology: Path | None, rows: Sequence[Mapping[str, Any]]) -> list[Tool]:
    return _maker(ontology).read(rows)


def _examine(ontology: Path | None, examined: tuple[Sequence[Tool], Sequence[Tool], Path]) -> None:
    _maker(ontology).examine(*examined)


def _make(ontology: Path | None, changed: ChangedTools) -> Segment:
    return _maker(ontology).make(changed)
