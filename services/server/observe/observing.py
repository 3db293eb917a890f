"""What a server shows of its calls and of itself, as its settings say: metrics and the audit log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from ssl import SSLContext

from google.protobuf.message import Message

from services.server.admission import Limiter
from services.server.calls import CallRecord
from services.server.logs import fields
from services.server.observe.audit_log import AuditLog, AuditTrail
from services.server.observe.metrics import Authorize, Metrics, MetricsHttp
from services.server.settings import ServerSettings

_LOG = logging.getLogger("egotools.server")


class Observing:
    """Everything that observes one server. Use it in the event loop of the server. What fails here is logged, and no call notices."""

    def __init__(self, settings: ServerSettings, tenants: Callable[[], Collection[str]]) -> None:
        self._settings = settings
        self.metrics = Metrics(tenants)
        self.trail = AuditTrail(AuditLog(settings.audit_log))
        self._http: MetricsHttp | None = None
        self.metrics_port: int | None = None

    def watch(self, limiter: Limiter, in_flight: Callable[[], int], held_bytes: Callable[[], int]) -> None:
        """Show how busy the server is: the calls that have begun and not ended, and the bytes of their requests and answers."""
        watch = self.metrics.watch
        watch("egotools_in_flight", "Calls that have begun and not ended", in_flight)
        watch("egotools_workers", "Requests that may run at the same time", lambda: limiter.workers)
        watch("egotools_queue_limit", "Cost that may wait for a worker, in units", lambda: limiter.queue)
        watch("egotools_queue_length", "Cost that waits for a worker, in units", lambda: limiter.queued)
        watch("egotools_bytes_in_flight", "Bytes of requests and answers that are held", held_bytes)

    def answered(self, record: CallRecord, response: Message) -> None:
        """Note what a message answers, before it is sent."""
        try:
            self.metrics.answered(record, response)
        except Exception:
            _LOG.exception("an answer was not observed")

    def finished(self, record: CallRecord, code: str, reason: str, seconds: float) -> None:
        """Note the end of a call: the name of its gRPC status, and of its error class as in ``Error.reason``, or empty."""
        try:
            self.metrics.finished(record, code, reason, seconds)
        except Exception:
            _LOG.exception("a call was not observed")

    def swapped(self, tenant: str, snapshot_id: str) -> None:
        """Note that a snapshot is served from now on."""
        self.metrics.swapped(tenant, snapshot_id)
        self.trail.note("swap", tenant=tenant, subject=snapshot_id)

    def publication_refused(self, tenant: str, snapshot_id: str, reason: str) -> None:
        """Note that a snapshot cannot be served, with the name of the error class; the old one serves on."""
        self.metrics.publication_refused(tenant)
        self.trail.note("swap", tenant=tenant, subject=snapshot_id, outcome=reason)

    def policy_read(self, file: str, outcome: str) -> None:
        """Note that a policy was read."""
        self.trail.note("load-policy", subject=file, outcome=outcome)

    def denied(self, method: str, *, tenant: str, code: str, reason: str) -> None:
        """Count a call that was denied before it began: of the RPC without the service, or of ``metrics``, the HTTP port."""
        self.metrics.finished(CallRecord(method=method, tenant=tenant), code, reason, 0.0)

    async def start(self, ready: Callable[[], bool], *, authorize: Authorize, tls: SSLContext | None = None) -> None:
        """Open the HTTP port for scrapes and probes, if there is to be one."""
        settings = self._settings
        if settings.metrics_port is None:
            return
        self._http = MetricsHttp(self.metrics.scrape, ready, authorize=authorize, tls=tls)
        self.metrics_port = await self._http.start(settings.metrics_host, settings.metrics_port)
        _LOG.info("metrics", extra=fields(address=f"{settings.metrics_host}:{self.metrics_port}"))

    async def stop(self) -> None:
        """Close the port, write the last lines of the audit log."""
        if self._http is not None:
            await self._http.stop()
        await self.trail.close()
