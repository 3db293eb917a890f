"""The gRPC server: it listens at once, reports SERVING after a warm-up query, and drains calls before it stops."""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from egotools.v1 import admin_pb2, egotools_pb2
from egotools.v1 import admin_pb2_grpc as admin_grpc
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference.chat import ChatModel
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import write_file
from ontology.reporting import return_freed_memory
from retrieval.engine import Engine
from services.outcomes import OUTCOMES
from services.server.access.authentication import access_of, warn_of_unknown_filters
from services.server.access.tls import is_loopback
from services.server.admission import Admission, Limiter, PeerCalls, flow_of
from services.server.calls import fields
from services.server.catalogs import Catalogs, CatalogStore
from services.server.interceptors import CallInterceptor, StandardInterceptor
from services.server.messages import MAX_FIELDS
from services.server.observe.audit_log import AuditLog
from services.server.observe.metrics import CONNECTIONS, REQUEST_S, Metrics, metrics_app
from services.server.publisher import CatalogAdmin, Publisher, in_background
from services.server.query_model import Chooser, QueryModel, open_query_chat
from services.server.reports import Reports
from services.server.servicer import ToolRetrieval
from services.server.settings import ServerSettings

_LOG = logging.getLogger("egotools.server")
SERVICE_NAME = egotools_pb2.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_ADMIN_SERVICE_NAME = admin_pb2.DESCRIPTOR.services_by_name["CatalogAdmin"].full_name
_STANDARD_SERVICES = (health.SERVICE_NAME, reflection.SERVICE_NAME)
_HEALTH_BYTES, _HEALTH_S = 4_096, 1.0  # of a health check, and for it to come
_ADMIN_MESSAGE_BYTES = 64 * 2**20  # of an answer of the admin service: a comparison of two catalogues may be long
_ADMIN_REQUEST_BYTES, _ADMIN_FIELDS = 4 * 2**20, 1_000_000
_FREED_AFTER_S = 0.5  # the last reference to an old engine goes soon after its last call
_MOST_PENDING = 16_384  # calls that the event loop has not taken yet; those above the number end with CANCELLED
# A stream whose message is not read yet holds so many bytes; without this and bdp_probe gRPC lets the number grow.
_LOOKAHEAD_BYTES = 64 * 1024
# Chosen: above the arrays of a request over 60,000 tools, below those of an engine. The library's own threshold rises to the largest
# block that was freed, 32 MiB at most: then each swapped engine lies between blocks that stay, and leaves holes in the heap.
_MALLOC_OPTIONS = (  # of mallopt, the variable that overrides it, and the value
    (-8, "MALLOC_ARENA_MAX", 2),
    (-3, "MALLOC_MMAP_THRESHOLD_", 256 * 1024),
    (-1, "MALLOC_TRIM_THRESHOLD_", 8 * 1024 * 1024),
)


def limit_heap() -> None:
    """Let all threads share two arenas, and let large blocks lie outside of them, so that they go back when they are
    freed. The variables of the C library say otherwise where they are set. Call it before threads start."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    for option, variable, value in _MALLOC_OPTIONS:
        if set_option is not None and variable not in os.environ:
            set_option(option, value)


class Server:
    """One listening server, with an admin service on a port of its own if the settings name one. Use it in one event loop."""

    def __init__(
        self,
        settings: ServerSettings,
        # By tenant; None for one catalogue, which ``load`` gives an engine.
        stores: Mapping[str, CatalogStore] | None = None,
        *,
        required: Iterable[str] | None = None,  # the tenants without which the service is not ready; None for all
        outcomes: Mapping[str, Path] | None = None,  # tenant → log of what agents report; None for that of each store
        chat: ChatModel | None = None,  # helps with requests instead of the model that the settings name
    ) -> None:
        stores = stores or {}
        if outcomes is None:
            outcomes = {tenant: store.path / OUTCOMES for tenant, store in stores.items()}
        self.settings, self.address, self.admin_address = settings, "", ""
        self.limiter = Limiter(workers=settings.workers, queue=settings.queue)
        self.metrics, self.metrics_port = Metrics(lambda: self.catalogs.tenants), 0
        self.trail = AuditLog(settings.audit_log)
        self._http = AsyncExitStack()  # the port of the metrics

        def policy_read(file: str, outcome: str) -> None:
            self.trail.note("load-policy", subject=file, outcome=outcome)

        self.access = access_of(settings, denied=self.metrics.denied, policy_read=policy_read)
        self.reports = Reports(outcomes, settings)
        self.catalogs = Catalogs(
            tuple(stores or ("",)), required=required, drained=self._drained, on_swap=self._swapped
        )

        def prepare(tenant: str, engine: Engine) -> None:
            if self.access.authentication is not None:
                # What all parts share is read here: the first caller with filters would wait seconds for it at 100,000 tools.
                engine.restricted({"id": ("!*",)}).catalog()
                warn_of_unknown_filters(self.access.authentication.rules.value, tenant, engine)

        def refused(tenant: str, snapshot_id: str, reason: str) -> None:
            self.metrics.publication_refused(tenant)
            self.trail.note("swap", tenant=tenant, subject=snapshot_id, outcome=reason)

        def published_at(tenant: str, snapshot_id: str) -> float:
            store = self.publisher.stores.get(tenant)
            return store.published_at(snapshot_id) if store is not None else 0.0

        self.publisher = Publisher(
            self.catalogs,
            stores,
            warm_query=settings.warm_query,
            swapped=self._report_readiness,
            prepare=prepare,
            refused=refused,
        )
        self.metrics.published = published_at
        self._health: Any = health.aio.HealthServicer()
        self._serving = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._make_servers(settings, chat)
        watch, limiter = self.metrics.watch, self.limiter
        watch("egotools_in_flight", "Calls that have begun and not ended", lambda: self.calls.in_flight)
        watch("egotools_workers", "Requests that may run at the same time", lambda: limiter.workers)
        watch("egotools_queue_limit", "Cost that may wait for a worker, in units", lambda: limiter.queue)
        watch("egotools_queue_length", "Cost that waits for a worker, in units", lambda: limiter.queued)
        held = "Bytes of requests and answers that are held"
        watch("egotools_bytes_in_flight", held, lambda: self.admission.bytes.held)

    def _make_servers(self, settings: ServerSettings, chat: ChatModel | None) -> None:
        """Make the two gRPC servers, which do not listen yet."""
        self.admission = Admission(settings)
        self.streams = PeerCalls(each=settings.max_peer_calls, together=settings.max_calls)
        self.calls = CallInterceptor(
            SERVICE_NAME,
            self.access,
            self.admission,
            self.metrics,
            max_message_bytes=settings.max_message_bytes,
            max_fields=MAX_FIELDS,
            max_values={"RetrieveBatch": {"requests": settings.max_batch}},
            check=lambda record: self.limiter.check(flow_of(record, self.catalogs.resolve(record.tenant))),
        )
        admin_settings = replace(settings, max_message_bytes=_ADMIN_REQUEST_BYTES)
        self._admin_calls = CallInterceptor(
            _ADMIN_SERVICE_NAME,
            self.access,
            Admission(admin_settings, most_single=_ADMIN_REQUEST_BYTES),
            self.metrics,
            max_message_bytes=_ADMIN_MESSAGE_BYTES,
            max_fields=_ADMIN_FIELDS,
            trail=self.trail,
        )
        aged = [
            ("grpc.max_connection_age_ms", int(settings.max_connection_age_s * 1e3)),
            ("grpc.max_connection_age_grace_ms", int((settings.grace_s or 1) * 1e3)),
        ]
        checks = Admission(settings, most_single=_HEALTH_BYTES, wait_s=_HEALTH_S)
        self._standard = StandardInterceptor(_STANDARD_SERVICES, self.access, checks, self.streams)
        options = _options(settings, self.admission.read_limit) + aged
        self._grpc = grpc.aio.server(interceptors=[self.calls, self._standard], options=options)
        # Connections of any age: a publication may take longer than the grace of an old one.
        options = _options(settings, _ADMIN_REQUEST_BYTES)
        self._admin = grpc.aio.server(interceptors=[self._admin_calls, self._standard], options=options)
        chat = open_query_chat(settings.query_model) if chat is None and settings.query_model else chat
        model = None if chat is None else QueryModel(chat)
        chooser = Chooser(open_query_chat(settings.chooser, "chooser")) if settings.chooser else None
        servicer = ToolRetrieval(self.catalogs, self.limiter, settings, self.reports, model, chooser)
        pb_grpc.add_ToolRetrievalServicer_to_server(servicer, self._grpc)
        admin_grpc.add_CatalogAdminServicer_to_server(CatalogAdmin(self.catalogs, self.publisher), self._admin)
        for listening in (self._grpc, self._admin):
            health_pb2_grpc.add_HealthServicer_to_server(self._health, listening)

    async def start(self) -> str:
        """Listen, and return the address with the actual port; the process is then SERVING, the service NOT_SERVING. InvalidArgumentError when
        the server cannot listen on an address.
        """
        settings, self._loop = self.settings, asyncio.get_running_loop()
        if settings.reflection == "on" or (settings.reflection == "loopback" and is_loopback(settings.host)):
            reflection.enable_server_reflection((SERVICE_NAME, *_STANDARD_SERVICES), self._grpc)
        await self._health.set(SERVICE_NAME, health_pb2.HealthCheckResponse.NOT_SERVING)
        self.address = self._listen(self._grpc, settings.host, settings.port)
        if settings.admin_port is not None:
            self.admin_address = self._listen(self._admin, settings.admin_host, settings.admin_port)
            await self._admin.start()
        if settings.metrics_port is not None:
            from services.http.http_server import serve_http  # a tenth of a second

            app = metrics_app(self.metrics.scrape, lambda: self._serving, authorize=self.access.metrics_status)
            place: Any = {
                "host": settings.metrics_host,
                "port": settings.metrics_port,
                "tls": self.access.metrics_tls(),
            }
            serving = serve_http(app, **place, connections=CONNECTIONS, request_s=REQUEST_S)
            address = await self._http.enter_async_context(serving)
            self.metrics_port = int(address.rpartition(":")[2])
            _LOG.info("metrics", extra=fields(address=f"{settings.metrics_host}:{self.metrics_port}"))
        await self._grpc.start()
        said: dict[str, Any] = {"admin_address": self.admin_address} if self.admin_address else {}
        said |= {"workers": settings.workers, "queue": settings.queue}
        _LOG.info("listening", extra=fields(address=self.address, **said))
        if settings.insecure and not (is_loopback(settings.host) and is_loopback(settings.admin_host)):
            _LOG.warning("listening beyond loopback, told to need no TLS and no access control")
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
            bad = isinstance(result, BaseException) and not isinstance(result, EgotoolsError)
            if isinstance(result, BaseException) and (bad or tenant in self.catalogs.missing):
                raise result
        for tenant in publisher.stores if self.settings.watch_s else ():
            self._spawn(publisher.watch(tenant, self.settings.watch_s))

    def request_reload(self) -> None:
        """Serve what every store publishes now; returns at once. What cannot be served is logged; the old snapshot serves on."""
        _LOG.info("reloading", extra=fields(tenants=len(self.publisher.stores)))
        self._spawn(self.publisher.reload())

    def abort_calls(self) -> None:
        """End the calls in flight with UNAVAILABLE, so that :meth:`stop` need not wait for them."""
        self.calls.abandon()
        self._admin_calls.abandon()

    async def stop(self, grace_s: float | None = None) -> None:
        """Report NOT_SERVING, refuse new calls, wait for the calls in flight, then close."""
        grace = self.settings.grace_s if grace_s is None else grace_s
        _LOG.info("stopping", extra=fields(in_flight=self.calls.in_flight, grace_s=grace))
        self._serving = False
        for task in self._tasks:
            task.cancel()
        await self._health.enter_graceful_shutdown()
        if grace:
            # Clients that watch health now switch to other replicas. A call that arrives while gRPC stops is CANCELLED.
            await asyncio.sleep(self.settings.drain_s)
        self._standard.end_streams()
        # Each only once: a second concurrent call could use the freed server.
        await asyncio.gather(self._grpc.stop(grace), self._admin.stop(grace))
        self.limiter.close()
        await self._http.aclose()
        await self.trail.close()
        await asyncio.to_thread(self.reports.close)
        if self.settings.ready_file is not None:
            self.settings.ready_file.unlink(missing_ok=True)
        _LOG.info("stopped", extra=fields(address=self.address))

    def _swapped(self, tenant: str, snapshot_id: str) -> None:
        self.metrics.swapped(tenant, snapshot_id)
        self.trail.note("swap", tenant=tenant, subject=snapshot_id)
        self.reports.open(tenant)

    async def _report_readiness(self) -> None:
        if self._serving or self.catalogs.missing:
            return
        self._serving = True
        await self._health.set(SERVICE_NAME, health_pb2.HealthCheckResponse.SERVING)
        served = [found for tenant in self.catalogs.tenants if (found := self.catalogs.state(tenant).snapshot_id)]
        first = "".join(served[:1])
        path = self.settings.ready_file
        if path is not None:
            host, _, port = self.address.rpartition(":")
            ready: dict[str, Any] = {"address": self.address, "host": host, "port": int(port), "pid": os.getpid()}
            ready["snapshot_id"] = first
            if self.admin_address:
                ready["admin_address"] = self.admin_address
            write_file(path, json.dumps(ready) + "\n")
        _LOG.info("serving", extra=fields(address=self.address, snapshot_id=first, tenants=len(served)))

    def _drained(self) -> None:
        """Give memory that was freed back to the operating system."""

        async def trim_heap() -> None:
            await asyncio.sleep(_FREED_AFTER_S)
            await in_background(return_freed_memory)

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: self._spawn(trim_heap()))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _listen(self, server: grpc.aio.Server, host: str, port: int) -> str:
        """Open a port and return the address with the actual one; InvalidArgumentError when that is not possible."""
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        address, credentials = f"{host}:{port}", self.access.server_credentials()
        try:
            if credentials is None:
                found = server.add_insecure_port(address)
            else:
                found = server.add_secure_port(address, credentials)
        except RuntimeError:
            found = 0
        if found == 0:
            why = "the port is in use or not allowed, or the host is not of this machine"
            problem = f"the server cannot listen on this address: {why}"
            remedy = "Choose another port; port 0 takes any free one"
            raise InvalidArgumentError(problem, subject=address, remedy=remedy)
        return f"{host}:{found}"


def _options(settings: ServerSettings, receive_bytes: int) -> list[tuple[str, int]]:
    # Without maximum_concurrent_rpcs, which would refuse a health check too.
    return [
        ("grpc.so_reuseport", 0),  # two servers on one port would each get some of the calls, without an error
        ("grpc.max_receive_message_length", receive_bytes),
        ("grpc.max_send_message_length", -1),  # the interceptor checks the size, to return an error with a remedy
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 500),  # a client that waits for an answer pings every second
        ("grpc.max_concurrent_streams", settings.max_streams),
        ("grpc.max_allowed_incoming_connections", settings.max_connections),
        ("grpc.server.max_pending_requests", _MOST_PENDING),
        ("grpc.server.max_pending_requests_hard_limit", 2 * _MOST_PENDING),
        ("grpc.http2.lookahead_bytes", _LOOKAHEAD_BYTES),
        ("grpc.http2.bdp_probe", 0),
    ]
