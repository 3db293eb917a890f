"""The gRPC server: it listens at once, reports SERVING after a warm-up query, and drains calls before it stops."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import InvalidArgumentError
from ontology.files import disk_errors, replacing
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot_engine import open_engine, open_reranker
from services.server.access.loopback import is_loopback
from services.server.access.server_access import access_of
from services.server.access.visible_engine import prepare
from services.server.catalogs import Catalogs
from services.server.health import Health
from services.server.interceptors import CallInterceptor
from services.server.limiter import Limiter
from services.server.logs import configure_logging, fields
from services.server.servicer import ToolRetrieval
from services.server.settings import ServerSettings
from services.threads import imported_too_early, pin_threads

__all__ = ["SERVICE_NAME", "Server", "run", "serve", "serve_snapshot"]

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_LOG = logging.getLogger("egotools.server")
_MAX_HEALTH_STREAMS = 16_384  # each client holds one health stream; gRPC's own limit is the limiter's plus this number


class Server:
    """One listening server. Create, start and stop it in one event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.address = ""
        self.limiter = Limiter(workers=settings.workers, queue=settings.queue)
        self.calls = CallInterceptor(SERVICE_NAME, max_message_bytes=settings.max_message_bytes)
        self.catalogs = Catalogs()
        self.access = access_of(settings)
        self._service = ToolRetrieval(self.catalogs, self.limiter, settings)
        self._health = Health()
        self._grpc = grpc.aio.server(
            interceptors=[*self.access.interceptors, self.calls],
            options=_options(settings),
            maximum_concurrent_rpcs=settings.workers + settings.queue + _MAX_HEALTH_STREAMS,
        )

    async def start(self) -> str:
        """Listen. The health of the process is then SERVING, the health of the service NOT_SERVING.

        :returns: the address, ``host:port``, with the actual port.
        :raises InvalidArgumentError: when the server cannot listen on the address.
        """
        settings = self.settings
        pb_grpc.add_ToolRetrievalServicer_to_server(self._service, self._grpc)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        reflection.enable_server_reflection((SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), self._grpc)
        await self._health.set_serving(SERVICE_NAME, False)
        requested = _join(settings.host, settings.port)
        try:
            credentials = self.access.server_credentials()
            if credentials is None:
                port = self._grpc.add_insecure_port(requested)
            else:
                port = self._grpc.add_secure_port(requested, credentials)
        except RuntimeError:
            port = 0
        if port == 0:
            raise InvalidArgumentError(
                "the server cannot listen on this address: the port is in use or not allowed, or the host is not of this machine",
                subject=requested,
                remedy="Choose another port; port 0 takes any free one",
            )
        await self._grpc.start()
        self.address = _join(settings.host, port)
        _LOG.info("listening", extra=fields(address=self.address, workers=settings.workers, queue=settings.queue))
        if settings.insecure and not is_loopback(settings.host):
            _LOG.warning(
                "listening beyond loopback, told to need no TLS and no access control",
                extra=fields(address=self.address),
            )
        return self.address

    async def load(self, load: Callable[[], Engine]) -> None:
        """Load an engine, run the warm-up query, then report SERVING and write the ready file.

        Errors of ``load`` and of the warm-up query are raised; the service then stays NOT_SERVING.
        """
        started = time.monotonic()
        engine = await asyncio.to_thread(load)
        loaded = time.monotonic()
        request = Request(query=self.settings.warm_query, k=1)
        await asyncio.to_thread(lambda: engine.retriever("").retrieve(request))
        if self.access.authentication is not None:
            await asyncio.to_thread(prepare, engine)
        self.catalogs.swap("", engine)
        await self._health.set_serving(SERVICE_NAME, True)
        if self.settings.ready_file is not None:
            _write_ready_file(self.settings.ready_file, self.address, engine.snapshot_id)
        _LOG.info(
            "serving",
            extra=fields(
                address=self.address,
                snapshot_id=engine.snapshot_id,
                load_ms=round((loaded - started) * 1e3),
                warm_ms=round((time.monotonic() - loaded) * 1e3),
            ),
        )

    def abort_calls(self) -> None:
        """End the calls in flight with UNAVAILABLE, so that :meth:`stop` need not wait for them."""
        self.calls.abandon()

    async def stop(self, grace_s: float | None = None) -> None:
        """Report NOT_SERVING, refuse new calls, wait for the calls in flight, then close.

        :param grace_s: seconds until calls in flight are cancelled; default: the value of the settings.
        """
        grace = self.settings.grace_s if grace_s is None else grace_s
        _LOG.info("stopping", extra=fields(in_flight=self.calls.in_flight, grace_s=grace))
        await self._health.enter_graceful_shutdown()
        if grace:
            # Clients that watch health now switch to other replicas. A call that arrives while gRPC stops is CANCELLED.
            await asyncio.sleep(self.settings.drain_s)
        self._health.end_watching()
        await self._grpc.stop(grace)  # only once: a second concurrent call could use the freed server
        self.limiter.close()
        if self.settings.ready_file is not None:
            self.settings.ready_file.unlink(missing_ok=True)
        _LOG.info("stopped", extra=fields(address=self.address))


async def serve(load: Callable[[], Engine], settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT. A second signal aborts the calls in flight.

    :param load: returns the engine; runs on a thread while the health service already answers.
    :raises EgotoolsError: when the address is in use, the engine cannot be loaded, or the warm-up query fails.
    """
    server = Server(settings)
    async with _signals() as (stop, abort):
        await server.start()
        loading = asyncio.ensure_future(server.load(load))
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({loading, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if loading.done():
                loading.result()
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


def run(load: Callable[[], Engine], settings: ServerSettings) -> None:
    """Serve in this process until SIGTERM or SIGINT, with logs as JSON lines.

    Call :func:`services.threads.pin_threads` before a numeric library is imported; here it is called again and logged.
    """
    configure_logging(settings.log_level)
    pins, early = pin_threads(), imported_too_early()
    _LOG.info("threads", extra=fields(pid=os.getpid(), **pins))
    if early:
        _LOG.debug("imported before the threads were pinned here", extra=fields(libraries=early))
    asyncio.run(serve(load, settings))


def serve_snapshot(store: Path, settings: ServerSettings, *, reranker: str, allowed_models: Sequence[str] = ()) -> None:
    """Serve the published snapshot of a store until SIGTERM or SIGINT.

    :param allowed_models: see :func:`retrieval.snapshot_engine.open_engine`.
    :raises EgotoolsError: when the snapshot or a model cannot be used.
    """
    run(lambda: open_engine(store, reranker=open_reranker(reranker), allowed_models=allowed_models), settings)


@asynccontextmanager
async def _signals() -> AsyncIterator[tuple[asyncio.Event, asyncio.Event]]:
    """Two events: the first SIGTERM or SIGINT sets the first, the second signal sets the second."""
    stop, abort = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        (abort if stop.is_set() else stop).set()

    handled = (signal.SIGTERM, signal.SIGINT)
    for number in handled:
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop, abort
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


def _options(settings: ServerSettings) -> list[tuple[str, Any]]:
    return [
        ("grpc.so_reuseport", 0),  # else two servers on one port would each get some of the calls, without an error
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        ("grpc.max_send_message_length", -1),  # the interceptor checks the size, to return an error with a remedy
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.max_connection_age_ms", int(settings.max_connection_age_s * 1e3)),
        ("grpc.max_connection_age_grace_ms", int((settings.grace_s or 1) * 1e3)),
    ]


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def _write_ready_file(path: Path, address: str, snapshot_id: str) -> None:
    host, _, port = address.rpartition(":")
    ready = {"address": address, "host": host, "port": int(port), "pid": os.getpid(), "snapshot_id": snapshot_id}
    with disk_errors(path, remedy="Choose a folder that exists and can be written"), replacing(path) as temporary:
        temporary.write_text(json.dumps(ready) + "\n", encoding="utf-8")
