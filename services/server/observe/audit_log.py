"""The audit log: one JSON line for each change and each refusal, only appended to, and flushed to the disk."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from ontology.errors import StorageError
from ontology.files import append, disk_errors, flush_to_disk, is_named, lock_within
from ontology.redaction import redact
from services.server.caller import CallRecord
from services.server.logs import fields

__all__ = ["AUDITED_METHODS", "AuditLog", "AuditQueue", "AuditTrail"]

_REMEDY = "End the process that holds it (`lsof` names it): it is no writer of the log, or it hangs"
_LOG = logging.getLogger("egotools.audit")


class AuditLog:
    """An audit log, which threads and processes of one machine may write together.

    :param path: the file; None for a log that keeps nothing.
    :param max_bytes: size in bytes after which the file is renamed to ``….<time>`` and a new one begun.
    :param lock_s: seconds that a writer waits for the others at most.
    """

    def __init__(self, path: Path | None, *, max_bytes: int = 64 * 1024 * 1024, lock_s: float = 2.0) -> None:
        self.path, self.max_bytes, self.lock_s = path, max_bytes, lock_s

    def write(
        self,
        action: str,
        *,
        actor: str = "",
        tenant: str = "",
        subject: str = "",
        outcome: str = "done",
        count: int = 1,
        until: float = math.inf,
    ) -> None:
        """Append one line, and return when it is on the disk. Blocks for the disk: not for the thread of an event loop.

        :param outcome: ``done``, or the reason of a refusal (``PERMISSION_DENIED``).
        :param until: time of ``time.monotonic()``, in seconds, until which it waits for the others, if that is sooner.
        :raises StorageError: when the disk refuses, or another holds the lock of the log all the time.
        """
        if self.path is None:
            return
        texts = {"action": action, "actor": actor, "tenant": tenant, "subject": subject, "outcome": outcome}
        entry = {name: redact(text)[:1_000] for name, text in texts.items()}
        line = (
            json.dumps({**entry, "count": count, "time": datetime.now(UTC).isoformat()}, sort_keys=True).encode("ascii")
            + b"\n"
        )
        with disk_errors(self.path, remedy="Free space, or mend the permissions of the audit log"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            while not self._appended(self.path, line, until):  # another writer has begun a new file
                pass
        _LOG.info("audit", extra=fields(action=entry["action"], count=count))

    def _appended(self, path: Path, line: bytes, until: float) -> bool:
        log = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            wait_s = max(0.0, min(self.lock_s, until - time.monotonic()))
            lock_within(log, wait_s, path, remedy=_REMEDY)
            if not is_named(log, path):
                return False
            size = os.fstat(log).st_size
            if size and size + len(line) > self.max_bytes:
                path.rename(path.with_name(f"{path.name}.{time.time_ns()}"))
                return False
            torn = size > 0 and os.pread(log, 1, size - 1) != b"\n"  # a writer ended in the middle of a line
            append(log, b"\n" + line if torn else line, size)
            if not size:
                flush_to_disk(path.parent)
            return True
        finally:
            os.close(log)


_Event: TypeAlias = tuple[str, str, str, str, str]  # the texts of AuditLog.write, in their order


class AuditQueue:
    """Takes events without waiting for the disk. The same event within a moment is one line with its ``count``.

    A thread runs only while there is something to write.

    :param log: where they are written.
    :param every_s: seconds for which events are collected before they are written; twice as long each time while more come.
    :param longest_s: the longest such time: a flood that lasts writes few lines.
    :param most: maximum number of different events that wait; further ones are one line, ``other``, with their count.
    """

    def __init__(self, log: AuditLog, *, every_s: float = 1.0, longest_s: float = 1.0, most: int = 1_000) -> None:
        self._log = log
        self._every_s = every_s
        self._longest_s = max(every_s, longest_s)
        self._most = most
        self._waiting: Counter[_Event] = Counter()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._writer: threading.Thread | None = None

    def add(self, action: str, *, actor: str = "", tenant: str = "", subject: str = "", outcome: str = "done") -> None:
        """Note an event, as :meth:`AuditLog.write`. An error of the disk is logged: the caller is not waiting for it."""
        if self._log.path is None:
            return
        event = (action, actor, tenant, subject, outcome)
        with self._lock:
            self._note(event, 1)
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="egotools-audit", daemon=True)
                self._writer.start()

    def end(self) -> None:
        """Write what waits now, and collect no longer. Does not wait for the disk."""
        self._closed.set()

    def close(self) -> None:
        """Write what waits, and return when it is on the disk, or cannot be written. Blocks for the disk."""
        self.end()
        with self._lock:
            writer = self._writer
        if writer is not None:
            writer.join()

    def _note(self, event: _Event, count: int) -> None:
        if event not in self._waiting and len(self._waiting) >= self._most:
            event = (event[0], "", "", "other", event[4])
        self._waiting[event] += count

    def _write(self) -> None:
        wait_s = self._every_s
        while True:
            self._closed.wait(wait_s)
            wait_s = min(2 * wait_s, self._longest_s)
            with self._lock:
                taken, self._waiting = self._waiting, Counter()
                if not taken:
                    self._writer = None
                    return
            ending = self._closed.is_set()
            try:
                while taken:
                    event = action, actor, tenant, subject, outcome = next(iter(taken))
                    self._log.write(
                        action, actor=actor, tenant=tenant, subject=subject, outcome=outcome, count=taken[event]
                    )
                    del taken[event]
            except (
                StorageError
            ) as error:  # tried again, unless the server stops: nobody should be able to keep a denial out
                left = {"lost" if ending else "waiting": taken.total()}
                _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, **left))
                with self._lock:
                    for event, count in () if ending else taken.items():
                        self._note(event, count)


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
