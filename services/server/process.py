"""The process of a server: it starts, obeys signals (SIGTERM drains, SIGHUP reloads), and stops; and such a process beside this one."""

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
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

import grpc.aio

from ontology.errors import NotReadyError
from retrieval.snapshot.publish import current_snapshot
from services.server.access.authentication import check_settings
from services.server.calls import configure_logging, fields
from services.server.catalogs import catalog_stores
from services.server.server import Server, limit_heap
from services.server.settings import ENV_PREFIX, CatalogEntry, ServerSettings
from services.threads import pin_threads

_LOG = logging.getLogger("egotools.server")
_START_S, _STOP_S = 120.0, 60.0
Beside: TypeAlias = Callable[[Server], AbstractAsyncContextManager[None]]  # serves more while a server is ready


@contextmanager
def server_process(store: Path, *options: str, **settings: str) -> Iterator[dict[str, Any]]:
    """Run ``egotools serve`` over a store on a free loopback port, without variables ``EGOTOOLS_…`` of this process; yield its ready file
    (``address``, ``host``, ``port``, ``pid``, ``snapshot_id``), and stop it with SIGTERM at the end of the block. NotReadyError when it
    does not start, with the end of its log; or when it ends with an exit code other than 0.
    """
    environ = {name: text for name, text in os.environ.items() if not name.startswith(ENV_PREFIX)} | settings
    command = [sys.executable, "-m", "services.cli", "serve", "--store", str(store), "--port", "0", *options]
    with tempfile.TemporaryDirectory(prefix="egotools-serve-") as folder:
        ready, log = Path(folder) / "ready.json", Path(folder) / "log"
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen([*command, "--ready-file", ready], env=environ, stdout=out, stderr=out)
        try:
            started = time.monotonic()
            while not ready.exists():
                if process.poll() is not None or time.monotonic() - started > _START_S:
                    remedy = f"The end of its log: {log.read_text(encoding='utf-8')[-2_000:].strip()}"
                    raise NotReadyError("the server did not start", subject="egotools serve", remedy=remedy)
                time.sleep(0.02)
            yield json.loads(ready.read_text(encoding="utf-8"))
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
            process.kill()  # nothing where it has ended
            process.wait()
        if process.returncode:
            raise NotReadyError(f"the server ended with exit code {process.returncode}", subject="egotools serve")


def serve_catalogs(entries: Mapping[str, CatalogEntry], settings: ServerSettings, beside: Beside | None = None) -> None:
    """Serve what stores publish, by tenant (the empty one has calls without), until SIGTERM; EgotoolsError for what cannot be used."""
    required = [tenant for tenant, entry in entries.items() if entry.required]
    check_settings(settings)
    stores = catalog_stores(entries, settings)
    for tenant in required:  # an error of a store comes before the log, and before anything is written
        current_snapshot(entries[tenant].store)
    run(lambda: Server(settings, stores, required=required), Server.load_stores, settings, beside)


def run(
    make: Callable[[], Server],
    load: Callable[[Server], Awaitable[None]],  # gives the catalogues their engines; health already answers
    settings: ServerSettings,
    beside: Beside | None = None,
) -> None:
    """Serve in this process until SIGTERM or SIGINT, with logs as JSON lines. A second signal aborts the calls in
    flight; SIGHUP reloads. It is an error when the address is in use, an engine cannot be loaded, or the warm-up query
    fails."""
    limit_heap()  # before the first engine is opened
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the event loop handles it: it must never end the process
    configure_logging(settings.log_level)
    _LOG.info("threads", extra=fields(pid=os.getpid(), **pin_threads()))  # before a numeric library is imported, too

    async def main() -> None:
        grpc.aio.init_grpc_aio()  # held until the process ends: else its shutdown in a garbage collection may hang
        server, stop, abort, loop = make(), asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: (abort if stop.is_set() else stop).set())
        loop.add_signal_handler(signal.SIGHUP, server.request_reload)
        try:
            await server.start()
            loading, stopped = asyncio.ensure_future(load(server)), asyncio.ensure_future(stop.wait())
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
                stopping, aborted = asyncio.ensure_future(server.stop()), asyncio.ensure_future(abort.wait())
                await asyncio.wait({stopping, aborted}, return_when=asyncio.FIRST_COMPLETED)
                aborted.cancel()
                server.abort_calls()
                await stopping
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the default would end a process that is stopping

    asyncio.run(main())
