"""Reported outcomes: what of a report is kept, how many a reporter may send, and the log of each catalogue."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from egotools.v1 import egotools_pb2 as pb
from eval.learning import Outcome
from ontology.errors import EgotoolsError, InvalidArgumentError, OverloadedError, SnapshotError
from retrieval.engine import Engine
from retrieval.query.request import MAX_QUERY_CHARS
from services.outcomes import OutcomeLog
from services.server.calls import CallRecord, fields
from services.server.settings import ServerSettings

_LOG = logging.getLogger("egotools.server")
_REQUEST_ID = re.compile(r"[0-9a-f]{32}")
_MAX_USED, _MAX_TERMS, _MAX_TERM_CHARS = 100, 64, 40
_REPORTERS = 10_000  # that are counted


class Reports:
    """What a server does with outcomes, by tenant. Thread-safe but for :meth:`allow`, which belongs to the event loop."""

    def __init__(self, places: Mapping[str, Path], settings: ServerSettings) -> None:
        self._settings, self._places = settings, dict(places)  # by tenant, the file of its log
        self._logs: dict[str, OutcomeLog] = {}
        self._sent: Counter[tuple[str, str]] = Counter()
        self._minute = 0
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="egotools-outcomes")

    def open(self, tenant: str) -> None:
        """Keep the outcomes of a tenant from now on. Call it once a snapshot of its store is served: until then the
        folder may be anything, and nothing is written to it. A store that cannot be written is served without."""
        path, most = self._places.get(tenant), self._settings.outcomes_mib * 1024 * 1024
        if not most or tenant in self._logs or path is None or not path.parent.is_dir():
            return
        try:
            self._logs[tenant] = OutcomeLog(path, max_bytes=most)
        except EgotoolsError as error:
            _LOG.warning("outcomes are not kept", extra=fields(tenant=tenant, reason=error.problem))

    def close(self) -> None:
        """Write what waits for the disk."""
        self._writer.shutdown()

    def issue(self, tenant: str) -> str:
        """Return the id of a request, which is random; empty where no outcomes are kept."""
        return secrets.token_hex(16) if tenant in self._logs else ""

    def allow(self, call: CallRecord) -> None:
        """Count a report, minute by minute; OverloadedError when its reporter has sent too many."""
        minute, reporter = int(time.monotonic() / 60.0), (call.tenant, _name(call))
        if minute != self._minute or len(self._sent) > _REPORTERS:
            self._sent, self._minute = Counter(), minute
        self._sent[reporter] += 1
        if self._sent[reporter] > self._settings.reports_per_minute:
            problem = f"a reporter may send {self._settings.reports_per_minute:,} outcomes in a minute"
            raise OverloadedError(problem, subject="reports", remedy="Report again later")

    def keep(self, message: pb.ReportOutcomeRequest, call: CallRecord, engine: Engine) -> Future[None]:
        """Check a report and append it to the log; the future is done when it is on the disk."""
        if call.tenant not in self._logs:
            problem = "this server keeps no outcomes of this catalogue"
            remedy = "Report to an egotools serve that may write to its store, with EGOTOOLS_OUTCOMES_MIB above 0"
            raise SnapshotError(problem, subject="outcomes", remedy=remedy)
        used, query, keeps = tuple(message.used), message.query, self._settings.keep_requests
        for field, holds, problem in (
            ("request_id", _REQUEST_ID.fullmatch(message.request_id), "it is none that an answer of this server had"),
            ("used", len(used) <= _MAX_USED and all(used), f"at most {_MAX_USED} tools are allowed, each with an id"),
            ("query", len(query) <= MAX_QUERY_CHARS, f"at most {MAX_QUERY_CHARS:,} characters are allowed"),
        ):
            if not holds:
                raise InvalidArgumentError(problem, subject=field)
        for tool_id in dict.fromkeys(used):
            engine.tool(tool_id)
        # The words of a request that the tools' documents have too: no name or number that only the request has.
        known = engine.known_terms(query) if keeps == "terms" and query else ()
        outcome = Outcome(
            key=message.request_id,
            time=float(int(time.time())),
            used=used,
            succeeded=message.succeeded if message.HasField("succeeded") else None,
            terms=tuple(sorted(term for term in known if len(term) <= _MAX_TERM_CHARS)[:_MAX_TERMS]),
            query=query if keeps == "text" else "",
        )
        return self._writer.submit(self._logs[call.tenant].append, outcome, _name(call))


def _name(call: CallRecord) -> str:
    """Who reports: the caller, else the address of the peer."""
    return f"caller:{call.caller.name}" if call.caller.name else f"peer:{call.peer}"
