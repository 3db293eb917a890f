"""Answers of model endpoints with a bound in bytes and in seconds, whatever the endpoint sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from egotools.calling.content_encoding import IDENTITY, is_encoded
from inference.retry import TransientFailure
from ontology.errors import ModelError

__all__ = ["IDENTITY", "MOST_ANSWER_BYTES", "bounded_answers"]

MOST_ANSWER_BYTES = 32 * 2**20
"""An answer with 64 vectors of 4,096 numbers has about 6 MB."""
_REMEDY = "Check the address; an endpoint of models answers with a few megabytes at most, and not compressed"


def bounded_answers(address: str, timeout_s: float) -> dict[str, list[Callable[[Any], None]]]:
    """Return the ``event_hooks`` of a client of httpx, or of httpx2, that sends the headers :data:`IDENTITY`.

    A read of the client then raises :class:`ontology.errors.ModelError` for an answer that is compressed or has more than
    :data:`MOST_ANSWER_BYTES`, and :class:`inference.retry.TransientFailure` for one that has no end after ``timeout_s`` seconds: the
    client's own timeout begins again with each byte.

    :param address: the subject of the errors, without credentials.
    """

    def bound(response: Any) -> None:
        if is_encoded(response.headers):  # a few kilobytes may unpack to gigabytes
            raise ModelError("the endpoint's answer is compressed", subject=address, remedy=_REMEDY)
        library = import_module(type(response).__module__.partition(".")[0])
        response.stream = _stream_class(library.SyncByteStream)(response.stream, address, timeout_s)

    return {"response": [bound]}


class _Bounded:
    """The bytes of an answer, up to the bounds."""

    def __init__(self, stream: Any, address: str, timeout_s: float) -> None:
        self._stream = stream
        self._address = address
        self._ends = time.monotonic() + timeout_s

    def __iter__(self) -> Iterator[bytes]:
        count = 0
        for part in self._stream:
            count += len(part)
            if count > MOST_ANSWER_BYTES:
                raise ModelError(
                    f"the endpoint's answer has more than {MOST_ANSWER_BYTES:,} bytes",
                    subject=self._address,
                    remedy=_REMEDY,
                )
            if time.monotonic() > self._ends:
                raise TransientFailure("the endpoint's answer did not end in time")
            yield part

    def close(self) -> None:
        self._stream.close()


@cache
def _stream_class(base: type) -> Any:
    """The class with the base that the client's library requires of a stream."""
    return type("BoundedStream", (_Bounded, base), {})
