"""The gRPC server: it listens at once, reports SERVING after a warm-up query, and drains calls before it stops."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from egotools.v1 import admin_pb2, egotools_pb2
from egotools.v1 import admin_pb2_grpc as admin_grpc
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import disk_errors, replacing
from retrieval.engine import Engine
from services.server.admin_servicer import CatalogAdmin
from services.server.background import in_background
from services.server.catalog_store import CatalogStore
from services.server.catalogs import Catalogs
from services.server.changing_tools import MakeChanges
from services.server.health import Health
from services.server.interceptors import CallInterceptor
from services.server.limiter import Limiter
from services.server.logs import fields
from services.server.memory import return_memory
from services.server.publisher import Publisher
from services.server.servicer import ToolRetrieval
from services.server.settings import ServerSettings
from services.server.store_watcher import watch_stores

__all__ = ["ADMIN_MESSAGE_BYTES", "ADMIN_SERVICE_NAME", "SERVICE_NAME", "Server"]

SERVICE_NAME = egotools_pb2.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
ADMIN_SERVICE_NAME = admin_pb2.DESCRIPTOR.services_by_name["CatalogAdmin"].full_name
ADMIN_MESSAGE_BYTES = 64 * 2**20
"""Maximum size of an answer of the admin service: a comparison of two catalogues may be long."""
_LOG = logging.getLogger("egotools.server")
_MAX_HEALTH_STREAMS = 16_384  # each client holds one health stream; gRPC's own limit is the limiter's plus this number
_MAX_ADMIN_CALLS = 256
_ADMIN_REQUEST_BYTES = 4 * 2**20  # many tools are many messages
_FREED_AFTER_S = 0.5  # the last reference to an old engine goes soon after its last call
_LOOPBACK = ("127.", "localhost", "::1", "[::1]")


class Server:
    """One listening server, with an admin service on a port of its own if the settings name one.

    Create, start and stop it in one event loop.

    :param stores: tenant → store of its catalogue; None for one catalogue, which :meth:`load` gives an engine.
    :param required: the tenants without which the service is not ready; None for all.
    :param changes: makes what adds and removes single tools for the admin service.
    """

    def __init__(
        self,
        settings: ServerSettings,
        stores: Mapping[str, CatalogStore] | None = None,
        *,
        required: Iterable[str] | None = None,
        changes: MakeChanges | None = None,
    ) -> None:
        self.settings = settings
        self.address = ""
        self.admin_address = ""
        self.limiter = Limiter(workers=settings.workers, queue=settings.queue)
        self.calls = CallInterceptor(SERVICE_NAME, max_message_bytes=settings.max_message_bytes)
        self.admin_calls = CallInterceptor(ADMIN_SERVICE_NAME, max_message_bytes=ADMIN_MESSAGE_BYTES)
        self.catalogs = Catalogs(tuple(stores or ("",)), required=required, drained=self._drained)
        self.publisher = Publisher(
            self.catalogs,
            stores or {},
            warm_query=settings.warm_query,
            swapped=self._report_readiness,
            changes=changes,
        )
        self._health = Health()
        self._serving = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._returning: asyncio.Task[None] | None = None
        self._grpc = grpc.aio.server(
            interceptors=[self.calls],
            options=_options(settings),
            maximum_concurrent_rpcs=settings.workers + settings.queue + _MAX_HEALTH_STREAMS,
        )
        self._admin = grpc.aio.server(
            interceptors=[self.admin_calls],
            options=_admin_options(),
            maximum_concurrent_rpcs=_MAX_ADMIN_CALLS,
        )
        pb_grpc.add_ToolRetrievalServicer_to_server(ToolRetrieval(self.catalogs, self.limiter, settings), self._grpc)
        admin = CatalogAdmin(self.catalogs, self.publisher)
        admin_grpc.add_CatalogAdminServicer_to_server(admin, self._admin)
        for listening in (self._grpc, self._admin):
            health_pb2_grpc.add_HealthServicer_to_server(self._health, listening)

    async def start(self) -> str:
        """Listen. The health of the process is then SERVING, the health of the service NOT_SERVING.

        :returns: the address, ``host:port``, with the actual port.
        :raises InvalidArgumentError: when the server cannot listen on an address.
        """
        settings = self.settings
        reflection.enable_server_reflection((SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), self._grpc)
        await self._health.set_serving(SERVICE_NAME, False)
        self.address = _listen(self._grpc, settings.host, settings.port)
        if settings.admin_port >= 0:
            self.admin_address = _listen(self._admin, settings.admin_host, settings.admin_port)
            await self._admin.start()
        await self._grpc.start()
        admin = {"admin_address": self.admin_address} if self.admin_address else {}
        _LOG.info(
            "listening", extra=fields(address=self.address, **admin, workers=settings.workers, queue=settings.queue)
        )
        for address in (self.address, self.admin_address):
            if address and not address.startswith(_LOOPBACK):
                _LOG.warning("listening beyond loopback without TLS", extra=fields(address=address))
        return self.address

    async def load(self, load: Callable[[], Engine], tenant: str = "") -> None:
        """Load the engine of a tenant and run the warm-up query. With the last required one, report SERVING.

        Errors of ``load`` and of the warm-up query are raised; the service then stays NOT_SERVING.
        """
        await self.publisher.load(tenant, load)

    async def load_stores(self) -> None:
        """Load what the stores publish, as :meth:`load`; then watch them, if the settings say so.

        :raises EgotoolsError: when a required catalogue cannot be served. Another one is logged, and tried again.
        """
        publisher = self.publisher
        results = await asyncio.gather(*map(publisher.refresh, publisher.stores), return_exceptions=True)
        for tenant, result in zip(publisher.stores, results, strict=True):
            if isinstance(result, BaseException) and (
                self.catalogs.is_missing(tenant) or not isinstance(result, EgotoolsError)
            ):
                raise result
        if self.settings.watch_s:
            self._spawn(watch_stores(publisher, self.settings.watch_s))

    async def reload(self) -> None:
        """Serve what every store publishes now. What cannot be served is logged; the old snapshot serves on."""
        _LOG.info("reloading", extra=fields(tenants=len(self.publisher.stores)))
        await self.publisher.reload()

    def request_reload(self) -> None:
        """Start :meth:`reload` and return at once."""
        self._spawn(self.reload())

    def abort_calls(self) -> None:
        """End the calls in flight with UNAVAILABLE, so that :meth:`stop` need not wait for them."""
        self.calls.abandon()
        self.admin_calls.abandon()

    async def stop(self, grace_s: float | None = None) -> None:
        """Report NOT_SERVING, refuse new calls, wait for the calls in flight, then close.

        :param grace_s: seconds until calls in flight are cancelled; default: the value of the settings.
        """
        grace = self.settings.grace_s if grace_s is None else grace_s
        _LOG.info("stopping", extra=fields(in_flight=self.calls.in_flight, grace_s=grace))
        for task in self._tasks:
            task.cancel()
        await self._health.enter_graceful_shutdown()
        if grace:
            # Clients that watch health now switch to other replicas. A call that arrives while gRPC stops is CANCELLED.
            await asyncio.sleep(self.settings.drain_s)
        self._health.end_watching()
        # Each only once: a second concurrent call could use the freed server.
        await asyncio.gather(self._grpc.stop(grace), self._admin.stop(grace))
        self.limiter.close()
        await in_background(self.publisher.changes.close, low_priority=False)
        if self.settings.ready_file is not None:
            self.settings.ready_file.unlink(missing_ok=True)
        _LOG.info("stopped", extra=fields(address=self.address))

    async def _report_readiness(self) -> None:
        if self._serving or not self.catalogs.ready:
            return
        self._serving = True
        await self._health.set_serving(SERVICE_NAME, True)
        engines = {tenant: self.catalogs.state(tenant).engine for tenant in self.catalogs.tenants}
        served = {tenant: engine.snapshot_id for tenant, engine in engines.items() if engine is not None}
        first = next(iter(served.values()), "")
        if self.settings.ready_file is not None:
            _write_ready_file(self.settings.ready_file, self.address, self.admin_address, first)
        _LOG.info("serving", extra=fields(address=self.address, snapshot_id=first, tenants=len(served)))

    def _drained(self, tenant: str, snapshot_id: str) -> None:
        _LOG.info("drained", extra=fields(tenant=tenant, snapshot_id=snapshot_id))
        if self._returning is None or self._returning.done():
            self._returning = self._spawn(_return_memory())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _return_memory() -> None:
    await asyncio.sleep(_FREED_AFTER_S)
    await in_background(return_memory)


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


def _admin_options() -> list[tuple[str, Any]]:
    return [
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", _ADMIN_REQUEST_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]


def _listen(server: grpc.aio.Server, host: str, port: int) -> str:
    """Open a port and return the address with the actual one.

    :raises InvalidArgumentError: when that is not possible.
    """
    requested = _join(host, port)
    try:
        port = server.add_insecure_port(requested)
    except RuntimeError:
        port = 0
    if port == 0:
        raise InvalidArgumentError(
            "the server cannot listen on this address: the port is in use or not allowed, or the host is not of this machine",
            subject=requested,
            remedy="Choose another port; port 0 takes any free one",
        )
    return _join(host, port)


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def _write_ready_file(path: Path, address: str, admin_address: str, snapshot_id: str) -> None:
    host, _, port = address.rpartition(":")
    ready = {"address": address, "host": host, "port": int(port), "pid": os.getpid(), "snapshot_id": snapshot_id}
    if admin_address:
        ready["admin_address"] = admin_address
    with disk_errors(path, remedy="Choose a folder that exists and can be written"), replacing(path) as temporary:
        temporary.write_text(json.dumps(ready) + "\n", encoding="utf-8")
