"""What a server shows of itself, as its settings say: metrics, traces, query log, audit log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from ssl import SSLContext
from typing import Protocol

from services.server.caller import CallRecord
from services.server.logs import fields
from services.server.observe.audit_log import AuditLog, AuditTrail
from services.server.observe.call_observer import CallObserver, CallObservers, QueryLog
from services.server.observe.prometheus_metrics import METHODS, OTHER, Authorize, Metrics, MetricsHttp, anybody
from services.server.observe.traces import open_traces
from services.server.settings import ServerSettings

__all__ = ["Observing", "Waiting"]

_LOG = logging.getLogger("egotools.server")


class Waiting(Protocol):
    """What is shown of the calls that run and wait."""

    @property
    def workers(self) -> int:
        """Pieces of work that may run at the same time."""
        ...

    @property
    def queue(self) -> int:
        """Cost that may wait."""
        ...

    @property
    def queued(self) -> int:
        """Cost that waits now."""
        ...


class Observing:
    """Everything that observes one server. Use it in the event loop of the server.

    :param tenants: returns the tenants of the server.
    :raises InvalidArgumentError: when the address of the collector is no address.
    :raises MissingExtraError: when traces are asked for without the extra ``otel``.
    """

    def __init__(self, settings: ServerSettings, tenants: Callable[[], Collection[str]]) -> None:
        self._settings = settings
        self._tenants = tenants
        self.metrics = Metrics(tenants)
        self._traces = open_traces(settings.otel_endpoint, tenants) if settings.otel_endpoint else None
        self.audit = AuditLog(settings.audit_log, max_bytes=settings.audit_log_bytes)
        self.trail = AuditTrail(self.audit)
        observers: list[CallObserver] = [self.metrics]
        if self._traces is not None:
            observers.append(self._traces)
        if settings.log_queries_sample > 0:
            observers.append(QueryLog(settings.log_queries_sample))
        self.calls = CallObservers(observers)
        self._http: MetricsHttp | None = None
        self.metrics_port: int | None = None

    def watch(self, limiter: Waiting, in_flight: Callable[[], int], held_bytes: Callable[[], int]) -> None:
        """Show how busy the server is.

        :param in_flight: returns the number of calls that have begun and not ended.
        :param held_bytes: returns the bytes of their requests and answers.
        """
        watch = self.metrics.watch
        watch("egotools_in_flight", "Calls that have begun and not ended", in_flight)
        watch("egotools_workers", "Requests that may run at the same time", lambda: limiter.workers)
        watch("egotools_queue_limit", "Cost that may wait for a worker, in units", lambda: limiter.queue)
        watch("egotools_queue_length", "Cost that waits for a worker, in units", lambda: limiter.queued)
        watch("egotools_bytes_in_flight", "Bytes of requests and answers that are held", held_bytes)

    def swapped(self, tenant: str, snapshot_id: str) -> None:
        """Note that a snapshot is served from now on."""
        self.metrics.swapped(tenant, snapshot_id)
        self.trail.swapped(tenant, snapshot_id)

    def publication_refused(self, tenant: str, snapshot_id: str, reason: str) -> None:
        """Note that a snapshot cannot be served; the old one serves on.

        :param reason: name of the error class, as in ``Error.reason``.
        """
        self.metrics.publication_refused(tenant)
        self.trail.publication_refused(tenant, snapshot_id, reason)

    def denied(self, method: str, *, actor: str, tenant: str, code: str, reason: str) -> None:
        """Note a call that was denied before it began, so that :attr:`calls` do not see it.

        :param method: name of the RPC, without the service; or ``metrics``, the HTTP port.
        """
        self.metrics.finished(CallRecord(method=method, tenant=tenant), code, reason, 0.0)
        # Else whoever makes names up fills the log.
        tenant = tenant if not tenant or tenant in self._tenants() else OTHER
        method = method if method in METHODS or method == "metrics" else OTHER
        self.trail.denied(method, actor=actor, tenant=tenant, reason=reason)

    async def start(
        self, ready: Callable[[], bool], *, authorize: Authorize = anybody, tls: SSLContext | None = None
    ) -> None:
        """Open the HTTP port for scrapes and probes, if there is to be one.

        :param ready: whether the server takes calls.
        :param authorize: who may read the metrics.
        :raises InvalidArgumentError: when it cannot listen there.
        """
        settings = self._settings
        if settings.metrics_port is None:
            return
        self._http = MetricsHttp(self.metrics.scrape, ready, authorize=authorize, tls=tls)
        self.metrics_port = await self._http.start(settings.metrics_host, settings.metrics_port)
        address = f"{settings.metrics_host}:{self.metrics_port}"
        _LOG.info("metrics", extra=fields(address=address))

    async def stop(self) -> None:
        """Close the port, send the last spans, write the last lines of the audit log."""
        if self._http is not None:
            await self._http.stop()
        if self._traces is not None:
            await asyncio.to_thread(self._traces.close)
        await asyncio.to_thread(self.trail.close)
