"""Changes of single tools on a running server: what the log of a store has is served, and what the admin service changes goes there."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ontology.errors import DocumentError, InvalidArgumentError, UnsupportedError
from retrieval.delta.change_log import log_file
from retrieval.engine import Engine
from retrieval.snapshot_engine import SnapshotEngine
from services.jobs import tool_changes
from services.jobs.changing_catalogue import ChangeCounts
from services.server.catalog_changes import CatalogChange
from services.server.catalog_store import CatalogStore

__all__ = ["LiveChanges"]

_LOG = logging.getLogger("egotools.server")


class LiveChanges:
    """The implementation of :class:`services.server.catalog_changes.CatalogChanges` over the stores of a server. Thread-safe.

    :param stores: tenant → store of its catalogue.
    :param writes: whether this process changes tools; another one only serves what the logs have.
    :param merged: called with a tenant and the engine over its merged snapshot, from a thread of its own.
    :param changes: what changes tools; None makes one with the first engine that it is needed for.
    """

    def __init__(
        self,
        stores: Mapping[str, CatalogStore],
        *,
        writes: bool,
        merged: Callable[[str, Engine], None],
        changes: tool_changes.ToolChanges | None = None,
    ) -> None:
        self._stores = {tenant: store for tenant, store in stores.items() if store.changeable}
        self._writes = writes
        self._merged = merged
        self._changes = changes
        self._lock = threading.Lock()
        self._own = threading.local()

    def adopt(self, tenant: str, engine: Engine) -> Engine:
        """Return an engine over a snapshot with the changes that its log has."""
        store = self._stores.get(tenant)
        if store is None or not isinstance(engine, SnapshotEngine):
            return engine
        if not self._writes and not log_file(store.path, engine.snapshot_id).is_file():
            return engine
        return self._opened().adopt(tenant, engine)

    def upsert(self, tenant: str, tools: Sequence[str]) -> CatalogChange:
        """Add tools, or replace those with the same ids; see :class:`services.server.catalog_changes.CatalogChanges`."""
        rows = [_row(text, number) for number, text in enumerate(tools)]
        return self._change(tenant, lambda changes: changes.upsert(tenant, rows))

    def delete(self, tenant: str, ids: Sequence[str]) -> CatalogChange:
        """Remove tools; likewise."""
        return self._change(tenant, lambda changes: changes.delete(tenant, ids))

    def close(self) -> None:
        """Close the logs; changes that are not merged stay in them."""
        with self._lock:
            if self._changes is not None:
                self._changes.close()
                self._changes = None

    def _change(self, tenant: str, change: Callable[[tool_changes.ToolChanges], ChangeCounts]) -> CatalogChange:
        if tenant not in self._stores:
            raise UnsupportedError(
                "this catalogue is the folder of one snapshot, not a store", remedy="Serve the store that it is in"
            )
        changes = self._opened()
        self._own.engine = None
        try:
            counts = change(changes)
            engine = self._own.engine or changes.engine(tenant)
        finally:
            del self._own.engine
        return CatalogChange(
            engine=engine,
            added=counts.added,
            replaced=counts.replaced,
            removed=counts.removed,
            unchanged=counts.unchanged,
            unknown=counts.unknown,
        )

    def _opened(self) -> tool_changes.ToolChanges:
        with self._lock:
            if self._changes is None:
                self._changes = tool_changes.ToolChanges(
                    {tenant: store.path for tenant, store in self._stores.items()},
                    self._serve,
                    opened=self._open,
                    merge_after_s=tool_changes.MERGE_AFTER_S if self._writes else 0,
                )
            return self._changes

    def _serve(self, tenant: str, engine: SnapshotEngine) -> None:
        if hasattr(self._own, "engine"):  # of a change, which returns it
            self._own.engine = engine
        else:
            self._merged(tenant, engine)

    def _open(self, folder: Path) -> SnapshotEngine:
        store = next(each for each in self._stores.values() if each.path in folder.parents)
        engine = store.open(folder.name)
        if not isinstance(engine, SnapshotEngine):
            raise TypeError(f"{type(engine).__name__} cannot be changed")
        return engine


def _row(text: str, number: int) -> Mapping[str, Any]:
    where = f"tools_json[{number}]"
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"it is no JSON: {error}", subject=where, reason="invalid-json") from error
    if not isinstance(row, dict):
        raise InvalidArgumentError("a tool is a JSON object", subject=where)
    return row
