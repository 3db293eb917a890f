"""The audit log: one JSON line for each change and each refusal, only appended to, and flushed to the disk."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from ontology.errors import StorageError
from ontology.files import disk_errors
from ontology.redaction import redact
from services.server.caller import CallRecord
from services.server.logs import fields

__all__ = ["AUDITED_METHODS", "AuditLog", "AuditTrail"]

_LOG = logging.getLogger("egotools.audit")
_DENIALS_S, _MOST_DENIALS = 60.0, 100
AUDITED_METHODS: Mapping[str, str] = MappingProxyType({"Publish": "publish", "Rollback": "rollback"})
"""Method that changes a catalogue → action of its entries."""


class AuditLog:
    """An audit log, which threads and processes of one machine may write together; None for the path: nothing is kept.

    The file is opened for each line, so whoever rotates it renames it.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def write(
        self,
        action: str,
        *,
        actor: str = "",
        tenant: str = "",
        subject: str = "",
        outcome: str = "done",
        count: int = 1,
    ) -> None:
        """Append one line, and return when it is on the disk. Blocks for the disk: not for the thread of an event loop.

        :param outcome: ``done``, or the reason of a refusal (``PERMISSION_DENIED``).
        """
        if self.path is None:
            return
        texts = {"action": action, "actor": actor, "tenant": tenant, "subject": subject, "outcome": outcome}
        entry = {name: redact(text)[:1_000] for name, text in texts.items()}
        named = {**entry, "count": count, "time": datetime.now(UTC).isoformat()}
        line = json.dumps(named, sort_keys=True).encode("ascii") + b"\n"
        with disk_errors(self.path, remedy="Free space, or mend the permissions of the audit log"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            log = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                size = os.fstat(log).st_size
                torn = size > 0 and os.pread(log, 1, size - 1) != b"\n"  # a writer ended in the middle of a line
                line = b"\n" + line if torn else line
                if os.write(log, line) < len(line):  # one write: others may append at this moment
                    raise OSError("only a part of a line was written")
                os.fsync(log)
            finally:
                os.close(log)
        _LOG.info("audit", extra=fields(action=entry["action"], count=count))


class AuditTrail:
    """Writes the audit log of one server. Use it in the event loop of the server.

    A call that changes something has two entries: one before it begins, without which it does not begin, and one with its
    outcome. The same denial within a moment is one line with its ``count``; while they go on, the moments become a minute long.

    :param moment_s: seconds for which denials are counted at first.
    """

    def __init__(self, log: AuditLog, *, moment_s: float = 1.0) -> None:
        self._log, self._moment_s = log, moment_s
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="egotools-audit-trail")
        self._denials: Counter[tuple[str, str, str, str]] = Counter()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._counting: threading.Thread | None = None

    async def begin(self, record: CallRecord, subject: str = "") -> None:
        """Note that a call is going to change something; returns at once for other calls.

        :param subject: what it names: the id of a snapshot, or empty.
        """
        if record.method in AUDITED_METHODS:
            record.subject = subject
            await asyncio.get_running_loop().run_in_executor(self._writer, self._change, record, "begun")

    async def end(self, record: CallRecord, code: str) -> None:
        """Note the outcome of a call that changes something: ``done``, or the name of its status code."""
        if record.method not in AUDITED_METHODS:
            return
        record.subject = record.log_fields.get("snapshot_id", "") or record.subject
        try:  # the change is made: its first entry is there, and where this one fails the log says the rest
            outcome = "done" if code == "OK" else code
            await asyncio.get_running_loop().run_in_executor(self._writer, self._change, record, outcome)
        except StorageError as error:
            _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, lost=1))

    def left(self, record: CallRecord, code: str) -> None:
        """Note that the caller of a change has gone before its end; the change is finished. Does not wait for the disk."""
        if record.method in AUDITED_METHODS:
            action, actor = AUDITED_METHODS[record.method], record.caller.name
            self.note(action, actor=actor, tenant=record.tenant, subject=record.subject, outcome=code)

    def note(
        self, action: str, *, actor: str = "server", tenant: str = "", subject: str = "", outcome: str = "done"
    ) -> None:
        """Note what the server did, as :meth:`AuditLog.write`. Does not wait for the disk."""

        def write() -> None:
            try:
                self._log.write(action, actor=actor, tenant=tenant, subject=subject, outcome=outcome)
            except StorageError as error:
                _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, lost=1))

        with suppress(RuntimeError):  # it is closed
            self._writer.submit(write)

    def denied(self, method: str, *, actor: str, tenant: str, reason: str) -> None:
        """Note a call that its caller may not make. Does not wait for the disk, and the same denial is counted."""
        if self._log.path is None:
            return
        with self._lock:
            self._count((actor, tenant, method, reason), 1)
            if self._counting is None:
                self._counting = threading.Thread(target=self._write_denials, name="egotools-audit", daemon=True)
                self._counting.start()

    def close(self) -> None:
        """Write what waits. Blocks for the disk."""
        self._closed.set()
        with self._lock:
            counting = self._counting
        if counting is not None:
            counting.join()
        self._writer.shutdown()

    def _change(self, record: CallRecord, outcome: str) -> None:
        action, actor = AUDITED_METHODS[record.method], record.caller.name
        self._log.write(action, actor=actor, tenant=record.tenant, subject=record.subject, outcome=outcome)

    def _count(self, denial: tuple[str, str, str, str], count: int) -> None:
        if denial not in self._denials and len(self._denials) >= _MOST_DENIALS:
            denial = ("", "", "other", denial[3])
        self._denials[denial] += count

    def _write_denials(self) -> None:
        wait_s = self._moment_s
        while True:
            self._closed.wait(wait_s)
            wait_s = min(2 * wait_s, _DENIALS_S)
            with self._lock:
                taken, self._denials = self._denials, Counter()
                if not taken:
                    self._counting = None
                    return
            ending = self._closed.is_set()
            try:
                for denial, count in list(taken.items()):
                    actor, tenant, method, reason = denial
                    self._log.write("call", actor=actor, tenant=tenant, subject=method, outcome=reason, count=count)
                    del taken[denial]
            except StorageError as error:  # tried again, unless the server stops: nobody shall keep a denial out
                left = {"lost" if ending else "waiting": taken.total()}
                _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, **left))
                with self._lock:
                    for denial, count in () if ending else taken.items():
                        self._count(denial, count)
