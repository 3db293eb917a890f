"""Tools that change on a running server, through the whole path: over gRPC, into the log, after a restart, in a second server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, ClientError, PreconditionError
from egotools.admin import AdminClient, ChangedTools
from ontology.errors import SnapshotError
from retrieval.snapshot.change_records import log_file
from retrieval.snapshot.publish import published_id
from scripts.reliability.changing import built, row
from services.cli.live_changes import live_changes
from services.jobs.merge_changes import MergeProcess
from services.jobs.store_changes import StoreChanges
from services.server.catalog_store import CatalogStore
from services.server.server import Server
from tests.services.server.memory_engine import small_settings
from tests.services.server.store_server import loaded
from tests.services.server.test_reload import serving as serving_process
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
    async with loaded(Server(settings, stores, changes=live_changes(settings, stores))) as server:
        yield server


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


async def deleted(server: Server, id_: str) -> ChangedTools:
    def work() -> ChangedTools:
        with AdminClient(server.admin_address) as client:
            return client.delete_tools([id_])

    return await asyncio.to_thread(work)


async def test_a_second_server_with_an_admin_port_follows_and_takes_over_when_the_first_ends(tmp_path: Path) -> None:
    store = tmp_path / "store"
    built(store)
    async with AsyncExitStack() as first_one, serving(store, admin_port=0, watch_s=0.05) as second:
        first = await first_one.enter_async_context(serving(store, admin_port=0, watch_s=0.05))
        await upserted(first, ZEBRAS)
        change = await upserted(first, TIGERS)
        await until(lambda: _served(second) == change.snapshot_id)
        for attempt in (upserted(second, {**TIGERS, "name": "other"}), deleted(second, TIGERS["id"])):
            with pytest.raises(PreconditionError, match=f"process {os.getpid()} of ") as refused:
                await attempt
            assert refused.value.reason == "OTHER_WRITER" and "that one" in refused.value.remedy
        assert await found(second, "feed the tigers", change.snapshot_id) == TIGERS["id"]
        last = await deleted(first, ZEBRAS["id"])
        await first_one.aclose()
        over = await deleted(second, TIGERS["id"])  # whatever it has seen of the first one's changes
        assert (over.removed, over.unknown) == (1, 0)
        async with serving(store, admin_port=0, watch_s=0.05) as third:
            assert _served(third) == over.snapshot_id != last.snapshot_id
            with pytest.raises(PreconditionError, match="another process changes this catalogue"):
                await upserted(third, ZEBRAS)
            again = await upserted(second, ZEBRAS)
            await until(lambda: _served(third) == again.snapshot_id)


async def test_a_follower_takes_over_from_a_killed_process(tmp_path: Path) -> None:
    store = tmp_path / "store"
    built(store)
    async with serving(store, admin_port=0, watch_s=0.05) as second:
        with serving_process(tmp_path, "--store", store, "--admin-port", "0") as (process, ready):
            await until(lambda: process.poll() is not None or ready.exists())
            with AdminClient(json.loads(ready.read_text("utf-8"))["admin_address"]) as admin:
                change = await asyncio.to_thread(admin.upsert_tools, [json.dumps(ZEBRAS)])
            await until(lambda: _served(second) == change.snapshot_id)
            with pytest.raises(PreconditionError, match=f"process {process.pid} of "):
                await deleted(second, ZEBRAS["id"])
            process.kill()
            process.wait()
            assert (await deleted(second, ZEBRAS["id"])).removed == 1
            assert (await upserted(second, TIGERS)).added == 1


async def test_the_process_of_a_merge_is_gone_when_the_server_has_stopped(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = built(store)
    async with serving(store, admin_port=0, watch_s=0.0) as server:
        await upserted(server, ZEBRAS)
        changes = server.publisher.changes
        assert isinstance(changes, StoreChanges) and isinstance(changes._merger, MergeProcess)
        running = changes._merger._running
        merging = asyncio.create_task(asyncio.to_thread(changes.merge, ""))
        await until(lambda: running or merging.done())
        (process,) = running
        process.send_signal(signal.SIGSTOP)  # it does not end by itself
    with pytest.raises(SnapshotError, match="the merge failed"):
        await merging
    assert process.returncode == -signal.SIGKILL and not running
    assert published_id(store) == first and len(list((store / "snapshots").iterdir())) == 1


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
