"""Who is told of the calls of a server: metrics, traces and the query log, which is here, implement one protocol."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from google.protobuf.message import Message

from egotools.v1 import egotools_pb2 as pb
from ontology.redaction import redact, redact_document_text
from services.server.caller import CallRecord
from services.server.logs import fields

__all__ = ["NO_OBSERVERS", "CallObserver", "CallObservers", "QueryLog", "Retrieval"]

_LOG = logging.getLogger("egotools.server")
Retrieval: TypeAlias = tuple[pb.RetrieveRequest, pb.RetrieveResponse]


class CallObserver(Protocol):
    """Is told of each call, in the event loop: it must not block."""

    def answered(self, record: CallRecord, found: Sequence[Retrieval]) -> None:
        """Note the requests that a message answers, one of a ``Retrieve`` and several of a batch."""
        ...

    def finished(self, record: CallRecord, code: str, reason: str, seconds: float) -> None:
        """Note the end of a call.

        :param code: name of its gRPC status.
        :param reason: name of the error class, as in ``Error.reason``; empty for OK.
        """
        ...


class CallObservers:
    """Tells several observers. An error of one is logged, and neither the call nor the other observers notice."""

    def __init__(self, observers: Sequence[CallObserver] = ()) -> None:
        self.observers = tuple(observers)

    def answered(self, record: CallRecord, request: object, response: Message | None) -> None:
        """Tell what a message answers, before it is sent."""
        if not self.observers or response is None:
            return
        found = list(retrievals(request, response, record.messages))
        record.messages += 1
        for observer in self.observers if found else ():
            try:
                observer.answered(record, found)
            except Exception:
                _failed(observer)

    def finished(self, record: CallRecord, code: str, reason: str, seconds: float) -> None:
        """Tell the end of a call."""
        for observer in self.observers:
            try:
                observer.finished(record, code, reason, seconds)
            except Exception:
                _failed(observer)


NO_OBSERVERS = CallObservers()


def retrievals(request: object, response: Message, place: int = 0) -> Iterator[Retrieval]:
    """Yield the requests that a message answers, each with its answer; failed ones are left out.

    :param place: of a call that answers with one message for each request: how many came before.
    """
    requests = request.requests if isinstance(request, pb.RetrieveBatchRequest) else ()
    if isinstance(response, pb.RetrieveResponse):
        yield request if isinstance(request, pb.RetrieveRequest) else pb.RetrieveRequest(), response
    elif isinstance(response, pb.RetrieveBatchResponse):
        yield from (
            (each, found.response)
            for each, found in zip(requests, response.results, strict=False)
            if _has_answer(found)
        )
    elif isinstance(response, pb.RetrieveResult) and _has_answer(response) and place < len(requests):
        yield requests[place], response.response


def _has_answer(result: pb.RetrieveResult) -> bool:
    return result.HasField("response")


def _failed(observer: CallObserver) -> None:
    _LOG.exception("an observer of calls failed", extra=fields(observer=type(observer).__name__))


_QUERIES = logging.getLogger("egotools.queries")
_MAX_CHARS = 2_000


class QueryLog:
    """Logs a line for a share of the answered requests: text, tenant, preset, number of tools. Never of a failed one.

    :param share: of the requests, above 0 to 1.
    :param draw: returns a number in [0, 1).
    """

    def __init__(self, share: float, draw: Callable[[], float] = random.random) -> None:
        self._share = share
        self._draw = draw

    def answered(self, record: CallRecord, found: Sequence[Retrieval]) -> None:
        """Log the requests that are in the sample."""
        for request, response in found:
            if self._draw() >= self._share:
                continue
            _QUERIES.info(
                "query",
                extra=fields(
                    query=redact(redact_document_text("; ".join(filter(None, (request.query, *request.needs)))))[
                        :_MAX_CHARS
                    ],
                    tenant=record.tenant,
                    preset=response.preset,
                    tools=len(response.tools),
                    unanswerable=response.unanswerable,
                    request_id=response.request_id,
                ),
            )

    def finished(self, record: CallRecord, code: str, reason: str, seconds: float) -> None:
        """Nothing: the answer was logged."""
