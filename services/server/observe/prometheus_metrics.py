"""The metrics of one server, in the text format of Prometheus. docs/operate.md says what each means.

Labels have few values: methods of the contract, names of status codes and error classes, tenants of the server. What a
caller makes up is ``other``.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import platform
import threading
import time
from collections import Counter as Multiset
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from ssl import SSLContext
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from egotools.v1 import admin_pb2, egotools_pb2
from ontology.errors import InvalidArgumentError
from services.server.caller import CallRecord
from services.server.observe.call_observer import Retrieval

__all__ = ["FALLBACK_KINDS", "METHODS", "OTHER", "STAGES", "Authorize", "Metrics", "MetricsHttp", "anybody", "bearer"]

_BEGINNINGS = {
    "no semantic matching": "encoder",
    "no query model": "query-model",
    "query model": "query-needs",
    "no reranking": "reranker",
    "reranked by": "reranker",
    "reranked the best": "reranker-limit",
    "no tool passes": "filters",
    "no tool fits": "unanswerable",
    "done:": "unknown-done",
    "auto_k:": "no-estimate",
    "abstain:": "no-estimate",
}
_OTHER = "other"
FALLBACK_KINDS = (*dict.fromkeys(_BEGINNINGS.values()), _OTHER)
"""Every kind. ``encoder``, ``reranker`` and ``query-model``: the model is down or late; ``query-needs``: it wrote none, or unusable ones."""


def fallback_kind(sentence: str) -> str:
    """Return the kind of a sentence of ``RetrieveResponse.fallbacks``."""
    return next((kind for beginning, kind in _BEGINNINGS.items() if sentence.startswith(beginning)), _OTHER)


OTHER = "other"
STAGES = ("queue", "model", "encode", "entry", "ego", "rank", "explain", "total")
METHODS = frozenset(
    method.name
    for file in (egotools_pb2, admin_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
_REFUSALS = frozenset({"RESOURCE_EXHAUSTED", "UNAVAILABLE", "UNAUTHENTICATED", "PERMISSION_DENIED"})
_REASONS = ("NOT_READY", "OVERLOADED")  # of refusals that every server may make
_INCIDENTS = frozenset({"INTERNAL", "UNKNOWN", "DATA_LOSS"})
_MOST_TENANTS = 100
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts calls and answers. Each server has its own, in a registry of its own.

    :param tenants: returns the tenants of the server; the first 100 by name have a label of their own.
    """

    def __init__(self, tenants: Callable[[], Collection[str]]) -> None:
        self.registry = CollectorRegistry()
        self._tenants = tenants
        self._known: frozenset[str] = frozenset()
        self._serving: set[str] = set()
        self.stores = StoreTimes()
        registry = self.registry
        self._requests = Counter(
            "egotools_requests", "Calls that have ended", ("method", "code", "tenant"), registry=registry
        )
        self._seconds = Histogram(
            "egotools_request_seconds",
            "Time from the start of a call to its end",
            ("method",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._stages = Histogram(
            "egotools_stage_seconds",
            "Time of one stage of one answered request",
            ("stage",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._refusals = Counter(
            "egotools_refusals",
            "Calls that were refused and not worked on, or not to the end",
            ("reason",),
            registry=registry,
        )
        self._incidents = Counter(
            "egotools_incidents", "Calls that ended with INTERNAL, UNKNOWN or DATA_LOSS", registry=registry
        )
        self._answers = Counter("egotools_answers", "Requests that were answered", ("tenant",), registry=registry)
        self._abstentions = Counter(
            "egotools_abstentions", "Answers that say that no tool serves the request", ("tenant",), registry=registry
        )
        self._empty = Counter("egotools_empty_answers", "Answers without any tool", ("tenant",), registry=registry)
        self._fallbacks = Counter(
            "egotools_fallbacks", "Parts that answers lack, by the kind of the fallback", ("kind",), registry=registry
        )
        self._swaps = Counter("egotools_swaps", "Snapshots that were swapped in", ("tenant",), registry=registry)
        self._refused = Counter(
            "egotools_refused_publications", "Snapshots that could not be served", ("tenant",), registry=registry
        )
        for kind in FALLBACK_KINDS:
            self._fallbacks.labels(kind)
        for reason in _REASONS:
            self._refusals.labels(reason)
        self._served = _ServedSnapshots(self._state, self.stores)
        registry.register(self._served)
        build = Info("egotools_build", "Versions of this server", registry=registry)
        build.info({"version": version("egotools"), "python": platform.python_version()})
        ProcessCollector(registry=registry)
        self.watch("egotools_threads", "Threads of the process", threading.active_count)

    def watch(self, name: str, documentation: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is asked for at each scrape."""
        Gauge(name, documentation, registry=self.registry).set_function(value)

    def answered(self, record: CallRecord, found: Sequence[Retrieval]) -> None:
        """Count answers, their stages and their fallbacks."""
        tenant = self._tenant(record.tenant)
        self._answers.labels(tenant).inc(len(found))
        for _, response in found:
            for stage, spent_ms in response.timings_ms.items():
                self._stages.labels(stage if stage in STAGES else OTHER).observe(spent_ms / 1e3)
            if response.unanswerable:
                self._abstentions.labels(tenant).inc()
            if not response.tools:
                self._empty.labels(tenant).inc()
            for sentence in response.fallbacks:
                self._fallbacks.labels(fallback_kind(sentence)).inc()

    def finished(self, record: CallRecord, code: str, reason: str, seconds: float) -> None:
        """Count a call."""
        method = record.method if record.method in METHODS else OTHER
        self._requests.labels(method, code, self._tenant(record.tenant)).inc()
        self._seconds.labels(method).observe(seconds)
        if code in _REFUSALS:
            self._refusals.labels(reason or OTHER).inc()
        elif code in _INCIDENTS:
            self._incidents.inc()

    def swapped(self, tenant: str, snapshot_id: str) -> None:
        """Count a snapshot that is served from now on."""
        self._swaps.labels(self._tenant(tenant)).inc()
        self._serving.add(tenant)
        self._served.set(self._tenant(tenant), tenant, snapshot_id)

    def publication_refused(self, tenant: str) -> None:
        """Count a snapshot that cannot be served; the old one serves on."""
        self._refused.labels(self._tenant(tenant)).inc()

    def scrape(self) -> bytes:
        """Return all metrics as text. Takes some milliseconds.

        A counter is there from the start, with 0: Prometheus sees no increase where a counter appears with 1.
        """
        for tenant in map(self._tenant, self._tenants()):
            for counter in (self._answers, self._abstentions, self._empty, self._swaps, self._refused):
                counter.labels(tenant)
        return generate_latest(self.registry)

    def _state(self) -> dict[str, bool]:
        """Label of a tenant → whether it is served."""
        found: dict[str, bool] = {}
        for tenant in self._tenants():
            label = self._tenant(tenant)
            found[label] = found.get(label, True) and tenant in self._serving
        return found

    def _tenant(self, tenant: str) -> str:
        if not tenant or tenant in self._known:
            return tenant
        self._known = frozenset(sorted(self._tenants())[:_MOST_TENANTS])
        return tenant if tenant in self._known else OTHER


@dataclass
class StoreTimes:
    """What is known of the stores of a server; asked on the thread of a scrape.

    :param published: tenant and snapshot id → when it was published, in seconds since 1970; 0 where it is not known.
    """

    published: Callable[[str, str], float] = lambda tenant, snapshot_id: 0.0


class _ServedSnapshots(Collector):
    """Which snapshot each tenant is served, and since when."""

    def __init__(self, state: Callable[[], Mapping[str, bool]], times: StoreTimes) -> None:
        self._state, self._times = state, times
        self._served: dict[str, tuple[str, str, float]] = {}
        self._published: dict[str, tuple[str, float]] = {}

    def set(self, label: str, tenant: str, snapshot_id: str) -> None:
        self._served[label] = tenant, snapshot_id, time.monotonic()

    def collect(self) -> list[Metric]:
        """The metrics of this moment."""
        info = InfoMetricFamily("egotools_snapshot", "The snapshot that is served", labels=("tenant",))
        age = GaugeMetricFamily(
            "egotools_snapshot_age_seconds", "Time since this server swapped the snapshot in", labels=("tenant",)
        )
        published = GaugeMetricFamily(
            "egotools_snapshot_published_seconds", "When the snapshot was published, since 1970", labels=("tenant",)
        )
        serving = GaugeMetricFamily("egotools_serving", "1 for a tenant that is served", labels=("tenant",))
        for label, (tenant, snapshot_id, since) in sorted(self._served.items()):
            info.add_metric((label,), {"snapshot_id": snapshot_id})
            age.add_metric((label,), time.monotonic() - since)
            published.add_metric((label,), self._published_at(tenant, snapshot_id))
        for label, is_served in sorted(self._state().items()):
            serving.add_metric((label,), is_served)
        return [info, age, published, serving]

    def _published_at(self, tenant: str, snapshot_id: str) -> float:
        known = self._published.get(tenant)
        if known is None or known[0] != snapshot_id:
            known = self._published[tenant] = snapshot_id, self._times.published(tenant, snapshot_id)
        return known[1]


_LOG = logging.getLogger("egotools.server")
Authorize: TypeAlias = Callable[[str], Awaitable[int]]
"""Value of a header ``Authorization``, empty where it is absent → 200 where the metrics may be read, 401 for nobody known, 403 for a caller
without the role."""
_MOST_CONNECTIONS = 64
_BACKLOG = 128
_HEAD_BYTES = 8_192
_SCRAPE_S = 5.0
_TEXT = "text/plain; charset=utf-8"
_METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_STATUS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


async def anybody(header: str) -> int:
    """Whoever reaches the port may read the metrics."""
    return 200


def bearer(token: str) -> Authorize:
    """Return what admits those who send this bearer token; compared in constant time."""
    expected = f"Bearer {token}".encode()

    async def authorize(header: str) -> int:
        return 200 if hmac.compare_digest(header.encode("utf-8", "replace"), expected) else 401

    return authorize


class MetricsHttp:
    """Answers scrapes and probes: one request a connection, at most 64 connections, five seconds for each.

    A further connection takes the place of the oldest of the address that has most: who holds connections loses them, and a probe
    from elsewhere, or a later one, is answered.

    :param scrape: returns the metrics; called on a thread, at most once at a time: who asks meanwhile gets what that call returns.
    :param ready: whether the server takes calls.
    :param authorize: who may read ``/metrics``; the probes are open to whoever reaches the port.
    :param tls: of the port; None for plain HTTP.
    """

    def __init__(
        self,
        scrape: Callable[[], bytes],
        ready: Callable[[], bool],
        *,
        authorize: Authorize = anybody,
        tls: SSLContext | None = None,
    ) -> None:
        self._scrape = scrape
        self._ready = ready
        self._authorize = authorize
        self._tls = tls
        self._scraping: asyncio.Task[bytes | None] | None = None
        self._connections: dict[
            asyncio.Task[None], str
        ] = {}  # in the order of their coming; with the address of the other end
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port.

        :raises InvalidArgumentError: when it cannot listen there.
        """
        try:
            self._server = await asyncio.start_server(self._connected, host, port, limit=_HEAD_BYTES, backlog=_BACKLOG)
        except OSError as error:
            raise InvalidArgumentError(
                f"the metrics cannot be served on this address: {error.strerror or error}",
                subject=f"{host}:{port}",
                remedy="Choose another metrics_port; port 0 takes any free one",
            ) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and the connections."""
        if self._server is None:
            return
        self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._scraping is not None:
            await asyncio.wait({self._scraping}, timeout=_SCRAPE_S)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        if len(self._connections) >= _MOST_CONNECTIONS:
            self._end_one()
        self._connections[task] = str((writer.get_extra_info("peername") or ("",))[0])
        try:
            async with asyncio.timeout(_SCRAPE_S):
                if self._tls is not None:  # not by the listening socket: there, who begins no handshake counts nowhere
                    await writer.start_tls(self._tls)
                writer.write(await self._answer(reader))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the other end is gone or too slow, its place was given away, or the port closes
        finally:
            self._connections.pop(task, None)
            writer.transport.abort()

    def _end_one(self) -> None:
        most = Multiset(self._connections.values()).most_common(1)[0][0]
        oldest = next(task for task, address in self._connections.items() if address == most)
        del self._connections[oldest]
        oldest.cancel()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:
            return _response(400, "The request has no end.")
        except asyncio.LimitOverrunError:
            return _response(431, "The head of the request is too large.")
        line, *lines = head.split("\r\n")
        words = line.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _response(400, "This is no HTTP/1 request.")
        method, path = words[0], words[1].partition("?")[0]
        if method not in ("GET", "HEAD"):
            return _response(405, "Use GET.")
        headers = dict(_header(each) for each in reversed(lines))
        found = await self._page(path, headers.get("authorization", ""))
        return found if method == "GET" else found[: found.index(b"\r\n\r\n") + 4]

    async def _page(self, path: str, authorization: str) -> bytes:
        if path == "/livez":
            return _response(200, "alive")
        if path == "/readyz":
            return _response(200, "ready") if self._ready() else _response(503, "not ready")
        if path != "/metrics":
            return _response(404, "There are /metrics, /livez and /readyz.")
        status = await self._authorize(authorization)
        if status == 403:
            return _response(403, "The caller does not have the role metrics.")
        if status != 200:
            return _response(401, "The metrics need a bearer token.", "WWW-Authenticate: Bearer")
        if self._scraping is None or self._scraping.done():
            self._scraping = asyncio.create_task(self._scraped())
        text = await asyncio.shield(self._scraping)  # a thread cannot be stopped: it goes on for those who ask later
        if text is None:
            return _response(500, "The metrics cannot be written; the log of the server says why.")
        return _response(200, text, content_type=_METRICS_TEXT)

    async def _scraped(self) -> bytes | None:
        try:
            return await asyncio.to_thread(self._scrape)
        except Exception:
            _LOG.exception("the metrics cannot be written")
            return None


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def _response(status: int, body: str | bytes, *headers: str, content_type: str = _TEXT) -> bytes:
    content = body if isinstance(body, bytes) else f"{body}\n".encode()
    head = (
        f"HTTP/1.1 {status} {_STATUS[status]}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(content)}",
        "Cache-Control: no-store",
        "Connection: close",
        *headers,
    )
    return "\r\n".join((*head, "", "")).encode("latin-1") + content
