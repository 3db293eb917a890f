"""Answers of model endpoints with a bound in bytes and in seconds, whatever the endpoint sends."""

from __future__ import annotations

import threading
import time
from typing import Any, TypeVar

from egotools.calling.content_encoding import IDENTITY, is_encoded
from inference.retry import TransientFailure
from ontology.errors import ModelError

__all__ = ["IDENTITY", "MOST_ANSWER_BYTES", "bound_answers"]

Client = TypeVar("Client", bound=Any)

MOST_ANSWER_BYTES = 32 * 2**20
"""An answer with 64 vectors of 4,096 numbers has about 6 MB."""
_BEGUN = "bounded_attempt"
_WRITE_BYTES = 16 * 2**10
"""The library's timeout begins again with each part of a write that the endpoint takes: so the parts are small."""
_REMEDY = "Check the address; an endpoint of models answers with a few megabytes at most, and not compressed"


def bound_answers(client: Client, address: str, timeout_s: float) -> Client:
    """Return ``client``, a new one of httpx or of httpx2 that sends the headers :data:`IDENTITY`, with bounds for each request.

    A request then raises :class:`ontology.errors.ModelError` for an answer that is compressed or has more than
    :data:`MOST_ANSWER_BYTES`, heads included, and :class:`inference.retry.TransientFailure` or a timeout of the library for an answer
    that has no end ``timeout_s`` seconds after the request began, redirects included. The library's own timeout begins again with
    each byte, be it of a head, of an interim answer or of a chunk's extension: so the bounds lie below it, at the connection.

    :param address: the subject of the errors, without credentials.
    """
    bounds = _Bounds(address)

    def begin(request: Any) -> None:
        if _BEGUN not in request.extensions:  # a redirect takes them over
            request.extensions[_BEGUN] = True
            bounds.begin(timeout_s)

    def check(response: Any) -> None:
        if is_encoded(response.headers):  # a few kilobytes may unpack to gigabytes
            raise ModelError("the endpoint's answer is compressed", subject=address, remedy=_REMEDY)

    client.event_hooks = {"request": [begin], "response": [check]}
    # The libraries take no backend of the network without giving up the proxies of the environment.
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:
            transport._pool._network_backend = _Backend(transport._pool._network_backend, bounds)
    return client


class _Bounds(threading.local):
    """What is left to the request that this thread makes."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.begin(0.0)

    def begin(self, timeout_s: float) -> None:
        self._ends = time.monotonic() + timeout_s
        self._bytes = 0

    def seconds(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TransientFailure("the endpoint did not answer in time")
        return left

    def count(self, part: bytes) -> bytes:
        self._bytes += len(part)
        if self._bytes > MOST_ANSWER_BYTES:
            problem = f"the endpoint's answer has more than {MOST_ANSWER_BYTES:,} bytes"
            raise ModelError(problem, subject=self._address, remedy=_REMEDY)
        return part


class _Backend:
    """The library's way to the network; the seconds left to the request stand in for the library's timeouts."""

    def __init__(self, backend: Any, bounds: _Bounds) -> None:
        self._backend = backend
        self._bounds = bounds

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        stream = self._backend.connect_tcp(host, port, timeout=self._bounds.seconds(), **options)
        return _Stream(stream, self._bounds)


class _Stream:
    """A connection within the bounds of the request that uses it."""

    def __init__(self, stream: Any, bounds: _Bounds) -> None:
        self._stream = stream
        self._bounds = bounds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._bounds.count(self._stream.read(max_bytes, self._bounds.seconds()))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITE_BYTES):
            self._stream.write(buffer[start : start + _WRITE_BYTES], self._bounds.seconds())

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._bounds.seconds())
        return _Stream(stream, self._bounds)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
