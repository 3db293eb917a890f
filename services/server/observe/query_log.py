"""The texts of a sample of the requests, for those who ask for them: without known secrets, and off by default."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence

from ontology.redaction import redact, redact_document_text
from services.server.call_record import CallRecord
from services.server.logs import fields
from services.server.observe.call_observer import Retrieval

__all__ = ["QueryLog"]

_LOG = logging.getLogger("egotools.queries")
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
            _LOG.info(
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
