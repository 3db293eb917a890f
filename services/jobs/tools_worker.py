"""The process that reads changed tools and runs the offline pipeline over them, beside a server that loads nothing of it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
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


class ToolsReader(Protocol):
    """What changes of tools need of the offline pipeline; :class:`services.jobs.changed_tools.ToolsMaker` in this process."""

    def read(self, rows: Sequence[Mapping[str, Any]]) -> list[Tool]:
        """Return tools from JSON objects, by id.

        :raises DocumentError: for a row that is no tool.
        """

    def examine(self, tools: Sequence[Tool], published: Sequence[Tool], store: Path) -> None:
        """Refuse tools with severe findings that were not released in the store.

        :param published: the same tools as they are served now, where they are.
        :raises CatalogError: naming them.
        """

    def make(self, changed: ChangedTools) -> Segment:
        """Return the segment of changed tools."""


class ToolsWorker:
    """:class:`ToolsReader` in a process of its own, which starts with the first change and again after a crash. Thread-safe.

    :param ontology: the ontology file of the builds; None for the one that is part of egotools.
    """

    def __init__(self, ontology: Path | None = None) -> None:
        self._ontology = ontology
        self._pool: ProcessPoolExecutor | None = None

    def read(self, rows: Sequence[Mapping[str, Any]]) -> list[Tool]:
        """As :meth:`ToolsReader.read`.

        :raises NotReadyError: when the process died.
        """
        return self._run(_read, rows)

    def examine(self, tools: Sequence[Tool], published: Sequence[Tool], store: Path) -> None:
        """As :meth:`ToolsReader.examine`.

        :raises NotReadyError: when the process died.
        """
        self._run(_examine, (tools, published, store))

    def make(self, changed: ChangedTools) -> Segment:
        """As :meth:`ToolsReader.make`.

        :raises NotReadyError: when the process died.
        """
        return self._run(_make, changed)

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _run(self, call: Callable[[Path | None, Any], _T], argument: Any) -> _T:
        if self._pool is None:
            # Not a fork: the server has threads, and one of them may hold a lock.
            self._pool = ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))
        pool = self._pool
        try:
            return pool.submit(call, self._ontology, argument).result()
        except BrokenProcessPool as error:
            pool.shutdown(wait=False)
            if self._pool is pool:
                self._pool = None
            raise NotReadyError(
                "the process that reads tools has died", subject="tools", remedy="Send the change again"
            ) from error


@cache
def _maker(ontology: Path | None) -> ToolsMaker:
    from services.jobs.changed_tools import ToolsMaker

    return ToolsMaker(ontology)


def _read(ontology: Path | None, rows: Sequence[Mapping[str, Any]]) -> list[Tool]:
    return _maker(ontology).read(rows)


def _examine(ontology: Path | None, examined: tuple[Sequence[Tool], Sequence[Tool], Path]) -> None:
    _maker(ontology).examine(*examined)


def _make(ontology: Path | None, changed: ChangedTools) -> Segment:
    return _maker(ontology).make(changed)
