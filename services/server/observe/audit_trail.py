"""What of a server's work is in its audit log: calls that change a catalogue, swaps, denied calls, loaded policies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

from ontology.errors import StorageError
from services.server.call_record import CallRecord
from services.server.logs import fields
from services.server.observe.audit_log import AuditLog
from services.server.observe.audit_queue import AuditQueue

__all__ = ["AUDITED_METHODS", "AuditTrail"]

_LOG = logging.getLogger("egotools.audit")
_DENIALS_S, _MOST_DENIALS = 60.0, 100
_BEGUN = "begun"
AUDITED_METHODS: Mapping[str, str] = MappingProxyType({"Publish": "publish", "Rollback": "rollback"})
"""Method that changes a catalogue → action of its entries."""


class AuditTrail:
    """Writes the audit log of one server. Use it in the event loop of the server.

    A call that changes something has two entries: one before it begins, without which it does not begin, and one with its
    outcome.
    """

    def __init__(self, log: AuditLog) -> None:
        self._log = log
        self._queue = AuditQueue(log)
        self._denials = AuditQueue(
            log, longest_s=_DENIALS_S, most=_MOST_DENIALS
        )  # apart: a flood must not delay the rest
        # Of its own: where the log hangs, nothing else waits for a thread. One, since only one can write at a time.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="egotools-audit-trail")

    async def begin(self, record: CallRecord, subject: str = "") -> None:
        """Note that a call is going to change something; returns at once for other calls.

        :param subject: what it names: the id of a snapshot, or empty.
        :raises StorageError: when it cannot be noted; the call must not be made then.
        """
        if record.method in AUDITED_METHODS:
            record.subject = subject
            await self._written(record, _BEGUN)

    async def end(self, record: CallRecord, code: str) -> None:
        """Note the outcome of a call that changes something: ``done``, or the name of its status code."""
        if record.method not in AUDITED_METHODS:
            return
        record.subject = record.log_fields.get("snapshot_id", "") or record.subject
        try:
            await self._written(record, "done" if code == "OK" else code)
        except StorageError as error:  # the change is made: its first entry is there, and the log says the rest
            _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, lost=1))

    def left(self, record: CallRecord, code: str) -> None:
        """Note that the caller of a change has gone before its end; the change is finished. Does not wait for the disk."""
        if record.method in AUDITED_METHODS:
            self._queue.add(
                AUDITED_METHODS[record.method],
                actor=record.caller.name,
                tenant=record.tenant,
                subject=record.subject,
                outcome=code,
            )

    def swapped(self, tenant: str, snapshot_id: str) -> None:
        """Note that a snapshot is served from now on, whoever published it. Does not wait for the disk."""
        self._queue.add("swap", actor="server", tenant=tenant, subject=snapshot_id)

    def publication_refused(self, tenant: str, snapshot_id: str, reason: str) -> None:
        """Note that a snapshot cannot be served. Does not wait for the disk."""
        self._queue.add("swap", actor="server", tenant=tenant, subject=snapshot_id, outcome=reason)

    def denied(self, method: str, *, actor: str, tenant: str, reason: str) -> None:
        """Note a call that its caller may not make. Does not wait for the disk, and the same denial is counted."""
        self._denials.add("call", actor=actor, tenant=tenant, subject=method, outcome=reason)

    def policy_loaded(self, file: str, outcome: str = "done") -> None:
        """Note that a policy was read. Does not wait for the disk."""
        self._queue.add("load-policy", actor="server", subject=file, outcome=outcome)

    def close(self) -> None:
        """Write what waits. Blocks for the disk; where another holds the lock of the log, for some seconds at most."""
        self._writer.shutdown(wait=False)
        for queue in (self._queue, self._denials):
            queue.end()
        for queue in (self._queue, self._denials):
            queue.close()

    async def _written(self, record: CallRecord, outcome: str) -> None:
        until = time.monotonic() + self._log.lock_s  # also for those who wait behind others
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, record, outcome, until)

    def _write(self, record: CallRecord, outcome: str, until: float) -> None:
        self._log.write(
            AUDITED_METHODS[record.method],
            until=until,
            actor=record.caller.name,
            tenant=record.tenant,
            subject=record.subject,
            outcome=outcome,
        )
