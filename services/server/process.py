"""The process of a server: it starts, obeys signals (SIGTERM drains, SIGHUP reloads), and stops."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import grpc.aio

from inference.encoder_wrappers import SharedModels, load_joined_encoder, load_punctual_encoder, load_punctual_reranker
from ontology.errors import NotReadyError
from retrieval.engine import Engine
from retrieval.snapshot.publish import current_snapshot
from services.server.access.server_access import check_settings
from services.server.catalogs import catalog_stores
from services.server.logs import configure_logging, fields
from services.server.server import Server, limit_heap
from services.server.settings import CatalogEntry, ServerSettings
from services.threads import imported_too_early, pin_threads

__all__ = ["Beside", "serve_catalogs", "server_process"]

_START_S = 120.0
_STOP_S = 60.0
_LOG_CHARS = 2_000
_SETTINGS_PREFIX = "EGOTOOLS_"  # these variables are removed: the server uses the defaults


@contextmanager
def server_process(store: Path, *options: str, **settings: str) -> Iterator[dict[str, Any]]:
    """Run ``egotools serve`` over a store on a free loopback port; stop it with SIGTERM at the end of the block.

    :param options: further options of the command.
    :param settings: environment variables of the server.
    :returns: the content of its ready file: ``address``, ``host``, ``port``, ``pid``, ``snapshot_id``.
    :raises NotReadyError: when it does not start, with the end of its log; or when it ends with an exit code other than 0.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS_PREFIX)} | settings
    with tempfile.TemporaryDirectory(prefix="egotools-serve-") as folder:
        ready, log = Path(folder) / "ready.json", Path(folder) / "log"
        command = [sys.executable, "-m", "services.cli", "serve", "--store", str(store), "--port", "0"]
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [*command, "--ready-file", str(ready), *options], env=environ, stdout=out, stderr=out
            )
        try:
            yield _ready(process, ready, log)
        finally:
            _stop(process)
        if process.returncode:
            raise NotReadyError(f"the server ended with exit code {process.returncode}", subject="egotools serve")


def _ready(process: subprocess.Popen[bytes], ready: Path, log: Path) -> dict[str, Any]:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        if ready.exists():
            content: dict[str, Any] = json.loads(ready.read_text(encoding="utf-8"))
            return content
        time.sleep(0.02)
    raise NotReadyError(
        "the server did not start",
        subject="egotools serve",
        remedy=f"The end of its log: {log.read_text(encoding='utf-8')[-_LOG_CHARS:].strip()}",
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_LOG = logging.getLogger("egotools.server")
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
            await _stop_process(server, abort)


async def _stop_process(server: Server, abort: asyncio.Event) -> None:
    stopping = asyncio.ensure_future(server.stop())
    aborted = asyncio.ensure_future(abort.wait())
    await asyncio.wait({stopping, aborted}, return_when=asyncio.FIRST_COMPLETED)
    aborted.cancel()
    server.abort_calls()
    await stopping


def run(load: Callable[[], Engine], settings: ServerSettings) -> None:
    """Serve one engine in this process until SIGTERM or SIGINT, with logs as JSON lines."""
    limit_heap()

    async def main() -> None:
        server = Server(settings)
        await serve(server, lambda: server.load(load))

    _run(main, settings)


def serve_catalogs(
    entries: Mapping[str, CatalogEntry],
    settings: ServerSettings,
    *,
    beside: Beside | None = None,
) -> None:
    """Serve what the stores of some catalogues publish until SIGTERM or SIGINT.

    :param entries: tenant → catalogue; one with the empty string serves calls without a tenant.
    :param beside: what the process serves too.
    :raises EgotoolsError: when a snapshot or a model cannot be used.
    """
    limit_heap()  # before the first engine is opened
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

    async def main() -> None:
        server = Server(settings, stores, required=required)
        await serve(server, server.load_stores, beside)

    _run(main, settings)


def _shared_models(settings: ServerSettings) -> SharedModels:
    wait_s = settings.model_wait_s
    encoders = partial(load_punctual_encoder, wait_s=wait_s, load=load_joined_encoder)
    return SharedModels(encoders, partial(load_punctual_reranker, wait_s=wait_s))


def _run(main: Callable[[], Coroutine[Any, Any, None]], settings: ServerSettings) -> None:
    """Call :func:`services.threads.pin_threads` before a numeric library is imported; here it is called again and logged."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the event loop handles it: it must never end the process
    configure_logging(settings.log_level)
    pins, early = pin_threads(), imported_too_early()
    _LOG.info("threads", extra=fields(pid=os.getpid(), **pins))
    if early:
        _LOG.debug("imported before the threads were pinned here", extra=fields(libraries=early))

    async def held() -> None:
        grpc.aio.init_grpc_aio()  # held until the process ends: else its shutdown in a garbage collection may wait for ever
        await main()

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
