"""Traces of calls, sent to an OpenTelemetry collector over HTTP: a span for the call, and one for each stage.

Spans wait in a bounded queue for a thread of the OpenTelemetry SDK: a collector that is down or slow costs spans, never a
call any time. Attributes are numbers and names; no text of a request is among them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.redaction import redacted_url
from services.server.caller import TRACE_METADATA_KEY, CallRecord
from services.server.observe.prometheus_metrics import METHODS, OTHER, STAGES, Retrieval

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

__all__ = ["Traces", "open_traces"]

_LOG = logging.getLogger("egotools.server")
_MOST_ANSWERS = 8  # of a batch, that have spans for their stages
_EXPORT_S = 5.0
_QUEUE = 4_096
_STOP_S = 2.0
_FAULTS = frozenset({"UNKNOWN", "INTERNAL", "DATA_LOSS", "UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED"})


def open_traces(endpoint: str, tenants: Callable[[], Collection[str]]) -> Traces:
    """Return the traces for a collector, such as ``http://127.0.0.1:4318/v1/traces``. Nothing is sent yet."""
    if not endpoint.startswith(("http://", "https://")):
        raise InvalidArgumentError(
            f"{redacted_url(endpoint)!r} is no address of a collector",
            subject="otel_endpoint",
            remedy="Write the whole address: http://127.0.0.1:4318/v1/traces",
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtraError("traces", extra="otel") from error
    # One line for each dropped span and each failed attempt would be thousands while a collector is down.
    for noisy in ("opentelemetry.sdk._shared_internal", "opentelemetry.exporter.otlp.proto.http"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    resource = Resource.create({"service.name": "egotools", "service.version": version("egotools")})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=_EXPORT_S)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=_QUEUE, schedule_delay_millis=1_000))
    return Traces(provider, exporter, tenants)


class Traces:
    """Makes spans. The timings of an answer are durations. Its stages follow each other, so their spans are put end to end, the last one at
    the end of the answer; gaps between stages are not shown.
    """

    def __init__(
        self, provider: TracerProvider, exporter: SpanExporter, tenants: Callable[[], Collection[str]]
    ) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider, self._exporter, self._tenants = provider, exporter, tenants
        self._tracer = provider.get_tracer("egotools.server", version("egotools"))
        self._parents = TraceContextTextMapPropagator()

    def answered(self, record: CallRecord, found: Sequence[Retrieval]) -> None:
        """Note the timings of the first answers, for the spans of their stages."""
        now = time.time_ns()
        kept = found[: max(0, _MOST_ANSWERS - len(record.timings))]
        record.timings.extend((now, dict(response.timings_ms)) for _, response in kept)

    def finished(self, record: CallRecord, code: str, reason: str, seconds: float) -> None:
        """Make the spans of a call."""
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        end = time.time_ns()
        parent = self._parents.extract({TRACE_METADATA_KEY: record.traceparent} if record.traceparent else {})
        method = record.method if record.method in METHODS else OTHER
        values: dict[str, Any] = {
            "rpc.system": "grpc",
            "rpc.method": method,
            "rpc.response.status_code": code,
            "egotools.reason": reason,
            "egotools.tenant": record.tenant if record.tenant in self._tenants() else OTHER if record.tenant else "",
            **{f"egotools.{name}": value for name, value in record.log_fields.items()},
        }
        kept = {name: value for name, value in values.items() if isinstance(value, str | int | float) and value != ""}
        begun: Any = {"start_time": end - int(seconds * 1e9), "attributes": kept, "kind": SpanKind.SERVER}
        span = self._tracer.start_span(f"egotools.v1/{method}", context=parent, **begun)
        inner = set_span_in_context(span)
        for place, (done, timings_ms) in enumerate(record.timings):
            for stage in reversed([name for name in STAGES if name in timings_ms and name != "total"]):
                start = done - int(timings_ms[stage] * 1e6)
                placed: Any = {"start_time": start, "attributes": {"egotools.answer": place}}
                self._tracer.start_span(stage, context=inner, **placed).end(done)
                done = start
        if code in _FAULTS:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)

    def close(self) -> None:
        """Send what waits, for two seconds at most; what a slow collector has not taken by then is lost. Blocks."""
        ending = threading.Thread(target=self._provider.shutdown, name="egotools-traces-end", daemon=True)
        ending.start()
        ending.join(_STOP_S)
        if ending.is_alive():
            self._exporter.shutdown()  # ends its retries; the thread then ends with the attempt that runs
            _LOG.warning("the collector of traces did not take the last spans")
