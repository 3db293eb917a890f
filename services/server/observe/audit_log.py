"""The audit log: one JSON line for each change, only appended to, and flushed to the disk."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from ontology.errors import StorageError
from ontology.files import disk_errors
from ontology.redaction import redact
from services.server.calls import CallRecord, fields

_LOG = logging.getLogger("egotools.audit")
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
    ) -> None:
        """Append one line, and return when it is on the disk. Blocks for the disk: not for the thread of an event loop.

        :param outcome: ``done``, or the reason of a refusal (``PERMISSION_DENIED``).
        """
        if self.path is None:
            return
        texts = {"action": action, "actor": actor, "tenant": tenant, "subject": subject, "outcome": outcome}
        entry = {name: redact(text)[:1_000] for name, text in texts.items()}
        named = {**entry, "time": datetime.now(UTC).isoformat()}
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
        _LOG.info("audit", extra=fields(action=entry["action"]))


class AuditTrail:
    """Writes the audit log of one server. Use it in the event loop of the server.

    A call that changes something has two entries: one before it begins, without which it does not begin, and one with its outcome.
    """

    def __init__(self, log: AuditLog) -> None:
        self._log = log
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="egotools-audit-trail")

    async def begin(self, record: CallRecord, subject: str = "") -> None:
        """Note that a call is going to change something; returns at once for other calls.

        :param subject: what it names: the id of a snapshot, or empty.
        """
        if record.method in AUDITED_METHODS:
            record.subject = subject
            loop, action = asyncio.get_running_loop(), AUDITED_METHODS[record.method]
            said = {"actor": record.caller.name, "tenant": record.tenant, "subject": subject, "outcome": "begun"}
            await loop.run_in_executor(self._writer, lambda: self._log.write(action, **said))

    async def end(self, record: CallRecord, code: str) -> None:
        """Note the outcome of a call that changes something: ``done``, or the name of its status code."""
        if record.method in AUDITED_METHODS:
            record.subject = record.log_fields.get("snapshot_id", "") or record.subject
            self.left(record, "done" if code == "OK" else code)
            await asyncio.get_running_loop().run_in_executor(self._writer, lambda: None)  # it is written

    def left(self, record: CallRecord, code: str) -> None:
        """Note that the caller of a change has gone before its end; the change is finished. Does not wait for the disk."""
        if record.method in AUDITED_METHODS:
            action, actor = AUDITED_METHODS[record.method], record.caller.name
            self.note(action, actor=actor, tenant=record.tenant, subject=record.subject, outcome=code)

    def note(
        self,
        action: str,
        *,
        actor: str = "server",
        tenant: str = "",
        subject: str = "",
        outcome: str = "done",
    ) -> None:
        """Note what the server did, as :meth:`AuditLog.write`. Does not wait for the disk."""

        def write() -> None:
            try:
                self._log.write(action, actor=actor, tenant=tenant, subject=subject, outcome=outcome)
            except StorageError as error:
                _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, lost=1))

        with suppress(RuntimeError):  # it is closed
            self._writer.submit(write)

    async def close(self) -> None:
        """Write what waits."""
        await asyncio.to_thread(self._writer.shutdown)
