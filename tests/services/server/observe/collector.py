"""A collector of traces: an HTTP server on loopback that decodes what the OTLP protocol says."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.harness.http_server import Arrived, Loopback, Reply


@dataclass
class Collector:
    """What arrived. While ``held`` is set, requests are answered only after it is released."""

    address: str = ""
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)
    begun: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def spans(self) -> list[Span]:
        return [
            span
            for request in list(self.requests)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collecting(*, held: bool = False) -> Iterator[Collector]:
    """Run a collector."""
    collector = Collector()
    if not held:
        collector.released.set()

    def answer(arrived: Arrived) -> Reply:
        packed = arrived.headers.get("content-encoding") == "gzip"
        collector.begun.set()
        collector.released.wait()
        body = gzip.decompress(arrived.body) if packed else arrived.body
        collector.requests.append(ExportTraceServiceRequest.FromString(body))
        return Reply(body=b"")

    with Loopback(answer) as server:
        collector.address = f"{server.url}/v1/traces"
        yield collector
        collector.released.set()
