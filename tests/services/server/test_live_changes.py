"""Tools that change on a running server, through the whole path: over gRPC, into the log, after a restart, in a second server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, ClientError
from egotools.admin import AdminClient, ChangedTools
from retrieval.snapshot.change_records import log_file
from retrieval.snapshot.publish import published_id
from scripts.reliability.changing import built, row
from services.cli.live_changes import live_changes
from services.server.catalog_store import CatalogStore
from services.server.server import Server
from tests.services.server.memory_engine import small_settings
from tests.waiting import until

pytestmark = pytest.mark.slow

_FOLLOWED_WITHIN_S = 2.0
ZEBRAS: dict[str, Any] = {**row(20), "id": "zoo/count_zebras", "name": "count_zebras", "description": "Count zebras."}
TIGERS: dict[str, Any] = {**row(21), "id": "zoo/feed_tigers", "name": "feed_tigers", "description": "Feed tigers."}


@asynccontextmanager
async def serving(store: Path, **changed: Any) -> AsyncIterator[Server]:
    """A server as ``egotools serve`` makes it."""
    settings = small_settings(drain_s=0.0, **changed)
    stores = {"": CatalogStore(path=store)}
    server = Server(settings, stores, changes=live_changes(settings, stores))
    await server.start()
    try:
        await server.load_stores()
        yield server
    finally:
        await server.stop(0)


async def upserted(server: Server, tool: dict[str, Any]) -> ChangedTools:
    def work() -> ChangedTools:
        with AdminClient(server.admin_address) as client:
            return client.upsert_tools([json.dumps(tool)])

    return await asyncio.to_thread(work)


async def found(server: Server, query: str, state: str = "") -> str:
    async with AsyncClient(server.address) as client:
        answer = await client.retrieve(query, k=1, min_snapshot=state)
        return answer.tools[0].id


async def test_a_tool_is_found_at_once_after_a_restart_and_by_a_follower(tmp_path: Path) -> None:
    store = tmp_path / "store"
    built(store)
    async with serving(store, admin_port=0, watch_s=0.0) as server:
        first = await upserted(server, ZEBRAS)
        assert first.added == 1
        assert await found(server, "count the zebras", first.snapshot_id) == ZEBRAS["id"]
        second = await upserted(server, {**ZEBRAS, "description": "Count the striped zebras."})
    async with serving(store, admin_port=0, watch_s=0.0) as again, serving(store, watch_s=0.1) as follower:
        for server in (again, follower):
            for state in (first.snapshot_id, second.snapshot_id):
                assert await found(server, "count the zebras", state) == ZEBRAS["id"]
        third = await upserted(again, TIGERS)
        started = time.monotonic()
        await until(lambda: _served(follower) == third.snapshot_id)
        assert time.monotonic() - started < _FOLLOWED_WITHIN_S
        for state in (first.snapshot_id, third.snapshot_id):
            assert await found(follower, "feed the tigers", state) == TIGERS["id"]


async def test_changes_are_refused_once_somebody_removed_their_log_and_the_server_serves_on(tmp_path: Path) -> None:
    store = tmp_path / "store"
    built(store)
    async with serving(store, admin_port=0, watch_s=0.0) as server:
        first = await upserted(server, ZEBRAS)
        log = log_file(store, published_id(store))
        log.rename(tmp_path / "aside")
        with pytest.raises(ClientError, match="somebody has removed") as refused:
            await upserted(server, TIGERS)
        assert refused.value.subject == str(log)
        assert await found(server, "count the zebras", first.snapshot_id) == ZEBRAS["id"]
        assert _served(server) == first.snapshot_id
        (tmp_path / "aside").rename(log)
        assert (await upserted(server, TIGERS)).added == 1


def _served(server: Server) -> str:
    engine = server.catalogs.state("").engine
    return engine.snapshot_id if engine else ""
