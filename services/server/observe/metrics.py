"""The metrics of one server, in the text format of Prometheus, and the HTTP port that gives them. docs/operate.md says what each means.

Labels have few values: methods of the contract, names of status codes and error classes, tenants of the server. What a
caller makes up is ``other``.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import wraps
from importlib.metadata import version
from typing import Any, ParamSpec, TypeAlias

from google.protobuf.message import Message
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from egotools.v1 import admin_pb2, egotools_pb2
from egotools.v1 import egotools_pb2 as pb
from services.server.calls import CallRecord

_LOG = logging.getLogger("egotools.server")
_P = ParamSpec("_P")
OTHER = "other"
_BEGINNINGS = {
    "no semantic matching": "encoder",
    "no query model": "query-model",
    "query model": "query-needs",
    "no reranking": "reranker",
    "no chooser": "chooser",
    "chooser": "chooser-choice",
    "budget_tokens:": "budget",
    "reranked by": "reranker",
    "reranked the best": "reranker-limit",
    "no tool passes": "filters",
    "no tool fits": "unanswerable",
    "done:": "unknown-done",
    "auto_k:": "no-estimate",
    "abstain:": "no-estimate",
}
# Every kind. ``encoder``, ``reranker``, ``query-model`` and ``chooser``: the model is down or late; ``query-needs``: it
# wrote none, or unusable ones; ``chooser-choice``: it chose none, or what it was not shown.
FALLBACK_KINDS = (*dict.fromkeys(_BEGINNINGS.values()), OTHER)
STAGES = ("queue", "model", "encode", "entry", "ego", "rank", "explain", "total")
METHODS = frozenset(
    method.name
    for file in (egotools_pb2, admin_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
_REFUSALS = frozenset({"RESOURCE_EXHAUSTED", "UNAVAILABLE", "UNAUTHENTICATED", "PERMISSION_DENIED"})
_INCIDENTS = frozenset({"INTERNAL", "UNKNOWN", "DATA_LOSS"})
_MOST_TENANTS = 100
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "requests": ("Calls that have ended", ("method", "code", "tenant")),
    "refusals": ("Calls that were refused and not worked on, or not to the end", ("reason",)),
    "incidents": ("Calls that ended with INTERNAL, UNKNOWN or DATA_LOSS", ()),
    "answers": ("Requests that were answered", ("tenant",)),
    "abstentions": ("Answers that say that no tool serves the request", ("tenant",)),
    "empty_answers": ("Answers without any tool", ("tenant",)),
    "fallbacks": ("Parts that answers lack, by the kind of the fallback", ("kind",)),
    "swaps": ("Snapshots that were swapped in", ("tenant",)),
    "refused_publications": ("Snapshots that could not be served", ("tenant",)),
}
_HISTOGRAMS = {
    "request_seconds": ("Time from the start of a call to its end", ("method",)),
    "stage_seconds": ("Time of one stage of one answered request", ("stage",)),
}
# A counter is there from the start, with 0: Prometheus sees no increase where a counter appears with 1.
_FIRST = {"fallbacks": FALLBACK_KINDS, "refusals": ("NOT_READY", "OVERLOADED")}


def _unnoticed(count: Callable[_P, None]) -> Callable[_P, None]:
    """A method whose failure is logged, and no call notices."""

    @wraps(count)
    def guarded(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            count(*args, **kwargs)
        except Exception:
            _LOG.exception("a call was not counted")

    return guarded


class Metrics(Collector):
    """Counts calls and answers. Each server has its own, in a registry of its own; the first 100 of its tenants by name have a label."""

    def __init__(self, tenants: Callable[[], Collection[str]]) -> None:
        # Tenant and snapshot id → when it was published, in seconds since 1970; asked on the thread of a scrape.
        self.published: Callable[[str, str], float] = lambda tenant, snapshot_id: 0.0
        self._tenants = tenants
        self._known: frozenset[str] = frozenset()
        self._served: dict[str, tuple[str, float]] = {}  # tenant → snapshot id, and when it was swapped in
        self._published: dict[str, tuple[str, float]] = {}  # tenant → snapshot id, and when it was published
        self._registry = registry = CollectorRegistry()
        self._counters: dict[str, Any] = {
            name: Counter(f"egotools_{name}", text, labels, registry=registry)
            for name, (text, labels) in _COUNTERS.items()
        }
        self._times = {
            name: Histogram(f"egotools_{name}", text, labels, buckets=_SECONDS, registry=registry)
            for name, (text, labels) in _HISTOGRAMS.items()
        }
        for name, values in _FIRST.items():
            for value in values:
                self._counters[name].labels(value)
        registry.register(self)
        build = Info("egotools_build", "Versions of this server", registry=registry)
        build.info({"version": version("egotools"), "python": platform.python_version()})
        ProcessCollector(registry=registry)
        self.watch("egotools_threads", "Threads of the process", threading.active_count)

    def watch(self, name: str, documentation: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is asked for at each scrape."""
        Gauge(name, documentation, registry=self._registry).set_function(value)

    @_unnoticed
    def answered(self, record: CallRecord, message: Message) -> None:
        """Count the answers of a message, their stages and their fallbacks, before it is sent."""
        answers: list[pb.RetrieveResponse] = []
        if isinstance(message, pb.RetrieveResponse):
            answers = [message]
        elif isinstance(message, pb.RetrieveBatchResponse):  # failed ones are left out
            answers = [result.response for result in message.results if result.HasField("response")]
        for response in answers:
            self._count("answers", record.tenant)
            for stage, spent_ms in response.timings_ms.items():
                label = stage if stage in STAGES else OTHER
                self._times["stage_seconds"].labels(label).observe(spent_ms / 1e3)
            if response.unanswerable:
                self._count("abstentions", record.tenant)
            if not response.tools:
                self._count("empty_answers", record.tenant)
            for sentence in response.fallbacks:
                kinds = (kind for beginning, kind in _BEGINNINGS.items() if sentence.startswith(beginning))
                self._counters["fallbacks"].labels(next(kinds, OTHER)).inc()

    @_unnoticed
    def finished(self, record: CallRecord, code: str, reason: str, seconds: float) -> None:
        """Count a call that has ended: the name of its gRPC status, and of its error class as in ``Error.reason``, or empty."""
        method = record.method if record.method in METHODS else OTHER
        self._counters["requests"].labels(method, code, self._label(record.tenant)).inc()
        self._times["request_seconds"].labels(method).observe(seconds)
        if code in _REFUSALS:
            self._counters["refusals"].labels(reason or OTHER).inc()
        elif code in _INCIDENTS:
            self._counters["incidents"].inc()

    def denied(self, method: str, *, tenant: str, code: str, reason: str) -> None:
        """Count a call that was denied before it began: of the RPC without the service, or of ``metrics``, the HTTP port."""
        self.finished(CallRecord(method=method, tenant=tenant), code, reason, 0.0)

    def swapped(self, tenant: str, snapshot_id: str) -> None:
        """Count a snapshot that is served from now on."""
        self._served[tenant] = (snapshot_id, time.monotonic())
        self._count("swaps", tenant)

    def publication_refused(self, tenant: str) -> None:
        """Count a snapshot that cannot be served; the old one serves on."""
        self._count("refused_publications", tenant)

    def scrape(self) -> bytes:
        """Return all metrics as text. Takes some milliseconds."""
        for name, (_, labels) in _COUNTERS.items():
            for tenant in self._tenants() if labels == ("tenant",) else ():
                self._counters[name].labels(self._label(tenant))
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Which snapshot each tenant is served, and since when."""
        info = InfoMetricFamily("egotools_snapshot", "The snapshot that is served", labels=("tenant",))
        age = _gauge("snapshot_age_seconds", "Time since this server swapped the snapshot in")
        published = _gauge("snapshot_published_seconds", "When the snapshot was published, since 1970")
        serving = _gauge("serving", "1 for a tenant that is served")
        for label, tenant in sorted({self._label(tenant): tenant for tenant in self._served}.items()):
            snapshot_id, since = self._served[tenant]
            if self._published.get(tenant, ("", 0.0))[0] != snapshot_id:
                self._published[tenant] = (snapshot_id, self.published(tenant, snapshot_id))
            info.add_metric((label,), {"snapshot_id": snapshot_id})
            age.add_metric((label,), time.monotonic() - since)
            published.add_metric((label,), self._published[tenant][1])
        labels: dict[str, bool] = {}
        for tenant in self._tenants():
            label = self._label(tenant)
            labels[label] = labels.get(label, True) and tenant in self._served
        for label, is_served in sorted(labels.items()):
            serving.add_metric((label,), is_served)
        return info, age, published, serving

    def _count(self, name: str, tenant: str) -> None:
        self._counters[name].labels(self._label(tenant)).inc()

    def _label(self, tenant: str) -> str:
        if not tenant or tenant in self._known:
            return tenant
        self._known = frozenset(sorted(self._tenants())[:_MOST_TENANTS])
        return tenant if tenant in self._known else OTHER


def _gauge(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"egotools_{name}", text, labels=("tenant",))


# -- the HTTP port -----------------------------------------------------------------------------------------------------

# Value of a header ``Authorization``, empty where it is absent → 200 where the metrics may be read, 401 for nobody
# known, 403 for a caller without the role
Authorize: TypeAlias = Callable[[str], Awaitable[int]]
CONNECTIONS, REQUEST_S = 64, 5.0  # of the port


def metrics_app(
    scrape: Callable[[], bytes],  # called on a thread, once at a time: who asks meanwhile gets what that call returns
    ready: Callable[[], bool],
    *,
    authorize: Authorize,  # of ``/metrics``; the probes are open to whoever reaches the port
) -> Any:
    """Return the ASGI application of scrapes and probes: ``/metrics``, ``/livez`` and ``/readyz``, one request a connection."""
    scraping: asyncio.Future[bytes] | None = None

    async def answer(path: str, authorization: str) -> tuple[int, bytes]:
        nonlocal scraping
        if path == "/livez":
            return 200, b"alive\n"
        if path == "/readyz":
            return (200, b"ready\n") if ready() else (503, b"not ready\n")
        if path != "/metrics":
            return 404, b"There are /metrics, /livez and /readyz.\n"
        if (status := await authorize(authorization)) != 200:
            return status, b"The metrics need a bearer token of a caller with the role metrics.\n"
        if scraping is None or scraping.done():
            scraping = asyncio.ensure_future(asyncio.to_thread(scrape))
        try:  # a thread cannot be stopped: it goes on for who asks later
            return 200, await asyncio.shield(scraping)
        except Exception:
            _LOG.exception("the metrics cannot be written")
            return 500, b"The metrics cannot be written; the log of the server says why.\n"

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": f"{(await receive())['type']}.complete"})
            return
        status, content = 405, b"Use GET.\n"
        if scope["method"] in ("GET", "HEAD"):
            authorization = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
            status, content = await answer(scope["path"], authorization)
        headers = {"content-type": "text/plain; version=0.0.4; charset=utf-8", "content-length": str(len(content))}
        headers |= {"cache-control": "no-store", "connection": "close"}
        headers |= {"www-authenticate": "Bearer"} if status == 401 else {}
        head = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": content})

    return app
