"""The metrics of one server, in the text format of Prometheus. docs/operate.md says what each means.

Labels have few values: methods of the contract, names of status codes and error classes, tenants of the server. What a
caller makes up is ``other``.
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from egotools.v1 import admin_pb2, egotools_pb2
from services.server.call_record import CallRecord
from services.server.observe.call_observer import Retrieval
from services.server.observe.fallback_kinds import FALLBACK_KINDS, fallback_kind

__all__ = ["METHODS", "OTHER", "STAGES", "Metrics", "StoreTimes"]

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
