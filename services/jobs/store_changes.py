"""Changes of the tools of a server's catalogues, by tenant, and their merges in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ontology.errors import EgotoolsError, NotFoundError, NotReadyError, OtherWriterError
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from services.jobs.changing_catalogue import ChangeCounts, ChangingCatalogue
from services.jobs.merge_changes import MergeProcess, Merger
from services.jobs.tools_worker import ToolsReader, ToolsWorker

__all__ = ["MERGE_AFTER_S", "StoreChanges"]

_LOG = logging.getLogger("egotools.changes")
MERGE_AFTER_S, _MERGE_AT = 900.0, 1_000  # chosen, not tuned: a merge of 44,435 tools takes minutes of one core
_LOOK_EVERY_S = 1.0


class StoreChanges:
    """Adds, replaces and removes tools of served catalogues. Thread-safe; every method may take seconds, so call it on a thread.

    Of several processes with one store, the one that holds the log of changes writes. The others follow it, and one of them takes its
    place with the first change or merge after it has ended.

    :param stores: tenant → the store of its catalogue.
    :param serve: called with a tenant and the engine that answers from now on; from any thread.
    :param reader: reads changed tools; by default a process of its own, which starts with the first change.
    :param merger: builds merged snapshots; by default a process of its own with a low priority.
    :param opened: opens the engine over a snapshot folder; give the one that the server opens its snapshots with.
    :param merge_after_s: seconds after which changes are merged; 0: only when :meth:`merge` is called.
    :param writes: False for a process that only serves what another one changes: it never writes to a log, nor merges.
    :param merge_at: number of changed tools from which they are merged at once.
    """

    def __init__(
        self,
        stores: Mapping[str, Path],
        serve: Callable[[str, SnapshotEngine], None],
        *,
        reader: ToolsReader | None = None,
        merger: Merger | None = None,
        opened: Callable[[Path], SnapshotEngine] = open_engine,
        merge_after_s: float = MERGE_AFTER_S,
        merge_at: int = _MERGE_AT,
        writes: bool = True,
    ) -> None:
        self._stores, self._serve, self._opened = dict(stores), serve, opened
        self._reader: ToolsReader = reader or ToolsWorker()
        self._merger: Merger = merger or MergeProcess()
        self._after_s, self._at = merge_after_s if writes else 0.0, merge_at
        self._writes = writes
        self._catalogues: dict[str, ChangingCatalogue] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._merge_when_due, name="merges", daemon=True)
        if self._after_s:
            self._thread.start()

    def adopt(self, tenant: str, engine: SnapshotEngine) -> SnapshotEngine:
        """Return the engine with the changes that the log of its snapshot has; changes of the tenant go there from now on.

        Call it with every engine over a snapshot, at the start and after a publication, and serve what it returns.

        :raises EgotoolsError: when the log is damaged, or its tools cannot be read; changes go where they went before.
        """
        if tenant not in self._stores:
            return engine
        earlier = self._catalogues.get(tenant)
        takes = earlier is None or earlier.holds_log
        with earlier.handing_over() if earlier is not None else nullcontext():
            self._catalogues[tenant] = changing = ChangingCatalogue(
                self._store(tenant),
                engine,
                self._reader,
                lambda changed: self._serve(tenant, changed),
                writes=self._writes,
                takes=takes,
            )
        return changing.engine

    def follow(self, tenant: str) -> SnapshotEngine | None:
        """Return the engine with the changes that another process has made since; None where this one makes them."""
        catalogue = self._catalogue(tenant)
        return None if catalogue.holds_log else self.adopt(tenant, catalogue.base)

    def upsert(self, tenant: str, tools: Sequence[Mapping[str, Any]]) -> ChangeCounts:
        """Add tools, or replace those with the same ids. They are durable and served when this returns.

        :param tools: each a JSON object: a row of egotools' own form (``id``, ``name``, ``description``, ``parameters``, …) or a
            function definition.
        :raises EgotoolsError: see :meth:`ChangingCatalogue.upsert`; nothing is changed then.
        """
        return self._catalogue(tenant).upsert(tools)

    def delete(self, tenant: str, ids: Sequence[str]) -> ChangeCounts:
        """Remove tools; likewise.

        :raises EgotoolsError: see :meth:`ChangingCatalogue.delete`; nothing is changed then.
        """
        return self._catalogue(tenant).delete(ids)

    def engine(self, tenant: str) -> SnapshotEngine:
        """Return the engine over the snapshot of a tenant and its changes."""
        return self._catalogue(tenant).engine

    def merge(self, tenant: str) -> str:
        """Build the catalogue of a tenant with its changes as a whole, publish it and serve it; return its id.

        :raises EgotoolsError: when it cannot be built; all stays as it was.
        """
        return self._catalogue(tenant).merge(self._merger, self._opened)

    def unmerged(self) -> dict[str, float]:
        """Return tenant → seconds since its oldest change that is not merged was made, or read at the start."""
        oldest = {tenant: catalogue.oldest for tenant, catalogue in list(self._catalogues.items())}
        return {tenant: time.monotonic() - since for tenant, since in oldest.items() if since is not None}

    def close(self) -> None:
        """Stop merging, and close the logs; changes that are not merged stay in them."""
        self._stopped.set()
        if isinstance(self._merger, MergeProcess):
            self._merger.close()
        if self._thread.is_alive():
            self._thread.join(timeout=2 * _LOOK_EVERY_S)
        for catalogue in self._catalogues.values():
            catalogue.close()
        if isinstance(self._reader, ToolsWorker):
            self._reader.close()

    def _store(self, tenant: str) -> Path:
        if tenant not in self._stores:
            raise NotFoundError(
                "this server has no such catalogue", subject=tenant or "egotools-tenant", remedy="Name another tenant"
            )
        return self._stores[tenant]

    def _catalogue(self, tenant: str) -> ChangingCatalogue:
        self._store(tenant)
        if tenant not in self._catalogues:
            raise NotReadyError("the snapshot is still being loaded", remedy="Try again in a moment")
        return self._catalogues[tenant]

    def _merge_when_due(self) -> None:
        not_before: dict[str, float] = {}
        while not self._stopped.wait(_LOOK_EVERY_S):
            now = time.monotonic()
            for tenant, catalogue in list(self._catalogues.items()):
                oldest = catalogue.oldest
                due = oldest is not None and (now - oldest >= self._after_s or catalogue.pending >= self._at)
                if not due or now < not_before.get(tenant, 0.0):
                    continue
                try:
                    merged = catalogue.merge(self._merger, self._opened)
                    _LOG.info("merged the changes of a catalogue", extra={"fields": {"snapshot_id": merged}})
                except OtherWriterError:  # it merges them
                    not_before[tenant] = time.monotonic() + self._after_s
                except EgotoolsError as error:
                    not_before[tenant] = time.monotonic() + self._after_s
                    _LOG.warning("the changes of a catalogue were not merged: %s", error)
