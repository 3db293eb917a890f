"""What changes single tools of the catalogues that ``egotools serve`` serves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ontology.errors import UnsupportedError
from retrieval.snapshot_engine import SnapshotEngine
from services.jobs.store_changes import StoreChanges
from services.server.catalog_store import CatalogStore
from services.server.changing_tools import MakeChanges
from services.server.settings import ServerSettings

__all__ = ["live_changes"]


def live_changes(settings: ServerSettings, stores: Mapping[str, CatalogStore]) -> MakeChanges:
    """Return what makes the changes of a server process. Only one with the admin service writes; it, too,
    follows the log while another process writes."""
    paths = {tenant: store.path for tenant, store in stores.items() if store.changeable}

    def opened(folder: Path) -> SnapshotEngine:
        store = next(each for each in stores.values() if each.path in folder.parents)
        engine = store.open(folder.name)
        if not isinstance(engine, SnapshotEngine):
            raise UnsupportedError("this catalogue cannot be changed", subject=str(folder))
        return engine

    return lambda serve: StoreChanges(paths, serve, opened=opened, writes=settings.admin_port is not None)
