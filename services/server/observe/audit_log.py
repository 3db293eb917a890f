"""The audit log: one JSON line for each change, only appended to, and flushed to the disk."""

from __future__ import annotations

import asyncio
import fcntl
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
from ontology.files import append, disk_errors
from ontology.redaction import redact
from services.server.calls import CallRecord, fields

_LOG = logging.getLogger("egotools.audit")
# Method that changes a catalogue → action of its entries
AUDITED_METHODS: Mapping[str, str] = MappingProxyType({"Publish": "publish", "Rollback": "rollback"})


class AuditLog:
    """The audit log of one server, which others of the machine may write too; None for the path: nothing is kept. A
    call that changes something has two entries: one before it begins, without which it does not begin, and one with its
    outcome. The file is opened for each line, so whoever rotates it renames it. Use it in the event loop of the server.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="egotools-audit-log")

    async def begin(self, record: CallRecord, subject: str = "") -> None:
        """Note that a call is going to change ``subject``, the id of a snapshot or empty; returns at once for other
        calls. StorageError when that cannot be written."""
        if record.method in AUDITED_METHODS:
            record.subject = subject
            await asyncio.get_running_loop().run_in_executor(self._writer, self._write, *_of(record, "begun"))

    async def end(self, record: CallRecord, code: str) -> None:
        """Note the outcome of a call that changes something: ``done``, or the name of its status code."""
        if record.method in AUDITED_METHODS:
            record.subject = record.log_fields.get("snapshot_id", "") or record.subject
            self.left(record, "done" if code == "OK" else code)
            await asyncio.get_running_loop().run_in_executor(self._writer, lambda: None)  # it is written

    def left(self, record: CallRecord, code: str) -> None:
        """Note that the caller of a change has gone before its end; the change is finished. Does not wait for the disk."""
        if record.method in AUDITED_METHODS:
            self._note(*_of(record, code))

    def note(self, action: str, *, tenant: str = "", subject: str = "", outcome: str = "done") -> None:
        """Note what the server did: ``done``, or the reason of a refusal (``SNAPSHOT_CORRUPT``). Does not wait for the disk."""
        self._note(action, "server", tenant, subject, outcome)

    def _note(self, *entry: str) -> None:
        def write() -> None:
            try:
                self._write(*entry)
            except StorageError as error:
                _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, lost=1))

        with suppress(RuntimeError):  # it is closed
            self._writer.submit(write)

    async def close(self) -> None:
        """Write what waits."""
        await asyncio.to_thread(self._writer.shutdown)

    def _write(self, action: str, actor: str, tenant: str, subject: str, outcome: str) -> None:
        """Append one line, and return when it is on the disk."""
        if self._path is None:
            return
        texts = {"action": action, "actor": actor, "tenant": tenant, "subject": subject, "outcome": outcome}
        named = {name: redact(text)[:1_000] for name, text in texts.items()} | {"time": datetime.now(UTC).isoformat()}
        line = json.dumps(named, sort_keys=True).encode("ascii") + b"\n"
        with disk_errors(self._path, remedy="Free space, or mend the permissions of the audit log"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            log = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                fcntl.flock(log, fcntl.LOCK_EX)  # a line that another is writing is not torn
                size = os.fstat(log).st_size
                torn = size > 0 and os.pread(log, 1, size - 1) != b"\n"  # a writer ended in the middle of a line
                append(log, b"\n" * torn + line, size)
            finally:
                os.close(log)
        _LOG.info("audit", extra=fields(action=named["action"]))


def _of(record: CallRecord, outcome: str) -> tuple[str, str, str, str, str]:
    return AUDITED_METHODS[record.method], record.caller.name, record.tenant, record.subject, outcome
