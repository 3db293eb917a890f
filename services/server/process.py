"""The process of a server: it starts, obeys signals (SIGTERM drains, SIGHUP reloads), and stops."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Any, TypeAlias

import grpc.aio

from inference.bounded_wait import load_punctual_encoder, load_punctual_reranker
from inference.shared_models import SharedModels, load_joined_encoder
from ontology.errors import InvalidArgumentError
from ontology.names import is_word
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot_engine import SnapshotEngine
from services.server.access.server_access import check_settings
from services.server.catalog_store import CatalogStore, catalog_stores
from services.server.catalogs_file import CatalogEntry
from services.server.logs import configure_logging, fields
from services.server.memory import limit_heap
from services.server.processes import Beat, serve_in_processes
from services.server.server import Server
from services.server.settings import ServerSettings
from services.threads import imported_too_early, pin_threads

__all__ = ["Beside", "run", "serve", "serve_catalogs"]

_LOG = logging.getLogger("egotools.server")
_WARM_REQUESTS, _WARM_CHARS = 32, 400
Beside: TypeAlias = Callable[[Server], AbstractAsyncContextManager[None]]
"""Serves something else in the process of a server, from when it is ready until it stops."""


async def serve(server: Server, load: Callable[[], Awaitable[None]], beside: Beside | None = None) -> None:
    """Serve until SIGTERM or SIGINT. A second signal aborts the calls in flight; SIGHUP reloads.

    :param load: gives the catalogues their engines, while the health service already answers.
    :param beside: what else the process serves.
    :raises EgotoolsError: when the address is in use, an engine cannot be loaded, or the warm-up query fails.
    """
    async with _signals(server.request_reload) as (stop, abort):
        await server.start()
        loading = asyncio.ensure_future(load())
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({loading, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if loading.done():
                loading.result()
                async with nullcontext() if beside is None else beside(server):
                    await stopped
        finally:
            loading.cancel()
            stopped.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await loading
            await _stop(server, abort)


async def _stop(server: Server, abort: asyncio.Event) -> None:
    stopping = asyncio.ensure_future(server.stop())
    aborted = asyncio.ensure_future(abort.wait())
    await asyncio.wait({stopping, aborted}, return_when=asyncio.FIRST_COMPLETED)
    aborted.cancel()
    server.abort_calls()
    await stopping


def run(load: Callable[[], Engine], settings: ServerSettings, beat: Beat | None = None) -> None:
    """Serve one engine in this process until SIGTERM or SIGINT, with logs as JSON lines.

    :param beat: shows another process that the event loop runs.
    """
    limit_heap()

    async def main() -> None:
        server = Server(settings)
        await serve(server, lambda: server.load(load))

    _run(main, settings, beat)


def serve_catalogs(
    entries: Mapping[str, CatalogEntry],
    settings: ServerSettings,
    *,
    beside: Beside | None = None,
) -> None:
    """Serve what the stores of some catalogues publish until SIGTERM or SIGINT, in as many processes as the settings say.

    :param entries: tenant → catalogue; one with the empty string serves calls without a tenant.
    :param beside: what the first process serves too.
    :raises EgotoolsError: when a snapshot or a model cannot be used.
    """
    limit_heap()  # before the first engine is opened, here or in the processes to come
    required = [tenant for tenant, entry in entries.items() if entry.required]
    check_settings(settings)
    for tenant in required:  # an error of a store comes before the log, and before anything is written
        current_snapshot(entries[tenant].store)
    stores = catalog_stores(
        entries,
        _shared_models(settings),
        recent_vectors=settings.recent_vectors,
        baselines=settings.baselines,
    )

    def serve_in_one(own: ServerSettings, engines: dict[str, Engine], beat: Beat | None = None) -> None:
        async def main() -> None:
            server = Server(own, stores, required=required)
            await serve(server, lambda: _load_all(server, engines), None if own.process else beside)

        _run(main, own, beat)

    if settings.processes == 1:
        return serve_in_one(settings, {})
    # A connection or a thread of a model must not be shared by processes: each opens what is not embedded by itself.
    engines: dict[str, Engine] = {}

    def prepare() -> None:
        engines.update((tenant, _warm(stores[tenant], settings)) for tenant in required if stores[tenant].is_embedded())

    serve_in_processes(
        lambda own, beat: serve_in_one(own, engines, beat),
        settings,
        prepare=prepare,
        forked=lambda: _release(engines.values()),
    )


def _warm(store: CatalogStore, settings: ServerSettings) -> Engine:
    """Open a catalogue and answer some requests: what these read, and what they leave in memory, the processes share."""
    engine = store.open()
    is_word("")  # reads the word lists, of which few requests need all
    described = (engine.tool(tool_id).description for tool_id in engine.tool_ids(0, _WARM_REQUESTS))
    for text in (settings.warm_query, *described):
        with suppress(InvalidArgumentError):  # a description may be empty
            engine.retriever("").retrieve(Request(query=text[:_WARM_CHARS]))
    return engine


def _release(engines: Iterable[Engine]) -> None:
    """Let the snapshots be collected when the processes that serve them are done with them."""
    for engine in engines:
        if isinstance(engine, SnapshotEngine):
            engine.snapshot.release()


def _shared_models(settings: ServerSettings) -> SharedModels:
    wait_s = settings.model_wait_s
    encoders = partial(load_punctual_encoder, wait_s=wait_s, load=load_joined_encoder)
    return SharedModels(encoders, partial(load_punctual_reranker, wait_s=wait_s))


async def _load_all(server: Server, engines: dict[str, Engine]) -> None:
    """Serve engines that were loaded before the processes were forked, and are still published; then what the stores have.

    :param engines: is emptied: nothing here may hold an engine that is served no more.
    """
    for tenant in tuple(engines):
        published = await asyncio.to_thread(server.publisher.store(tenant).published)
        if published.snapshot_id == engines[tenant].snapshot_id:
            await server.load(partial(engines.pop, tenant), tenant)
    engines.clear()
    await server.load_stores()


def _run(main: Callable[[], Coroutine[Any, Any, None]], settings: ServerSettings, beat: Beat | None) -> None:
    """Call :func:`services.threads.pin_threads` before a numeric library is imported; here it is called again and logged."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the event loop handles it: it must never end the process
    configure_logging(settings.log_level)
    pins, early = pin_threads(), imported_too_early()
    _LOG.info("threads", extra=fields(pid=os.getpid(), **pins))
    if early:
        _LOG.debug("imported before the threads were pinned here", extra=fields(libraries=early))

    async def held() -> None:
        grpc.aio.init_grpc_aio()  # held until the process ends: else its shutdown in a garbage collection may wait for ever
        beating = None if beat is None else asyncio.ensure_future(beat())
        await main()
        if beating is not None:
            beating.cancel()

    asyncio.run(held())


@asynccontextmanager
async def _signals(reload: Callable[[], None]) -> AsyncIterator[tuple[asyncio.Event, asyncio.Event]]:
    """Two events: the first SIGTERM or SIGINT sets the first, the second signal sets the second. SIGHUP calls ``reload``."""
    stop, abort = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        (abort if stop.is_set() else stop).set()

    handled = {signal.SIGTERM: on_signal, signal.SIGINT: on_signal, signal.SIGHUP: reload}
    for number, handler in handled.items():
        loop.add_signal_handler(number, handler)
    try:
        yield stop, abort
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the default would end a process that is stopping
