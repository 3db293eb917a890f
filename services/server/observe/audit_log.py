"""The audit log: one JSON line for each change, only appended to, and flushed to the disk."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ontology.errors import StorageError
from ontology.files import disk_errors
from ontology.redaction import redact
from services.server.calls import fields

_LOG = logging.getLogger("egotools.audit")


class AuditLog:
    """The audit log of one server, which others of the machine may write too; None for the path: nothing is kept. The
    file is opened for each line, so whoever rotates it renames it."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="egotools-audit-log")

    def note(self, action: str, *, tenant: str = "", subject: str = "", outcome: str = "done") -> None:
        """Note what the server did: ``done``, or the reason of a refusal (``SNAPSHOT_CORRUPT``). Does not wait for the disk."""

        def write() -> None:
            try:
                self._write(action, tenant, subject, outcome)
            except StorageError as error:
                _LOG.error("the audit log cannot be written", extra=fields(problem=error.problem, lost=1))

        with suppress(RuntimeError):  # it is closed
            self._writer.submit(write)

    async def close(self) -> None:
        """Write what waits."""
        await asyncio.to_thread(self._writer.shutdown)

    def _write(self, action: str, tenant: str, subject: str, outcome: str) -> None:
        """Append one line, and return when it is on the disk."""
        if self._path is None:
            return
        texts = {"action": action, "actor": "server", "tenant": tenant, "subject": subject, "outcome": outcome}
        named = {name: redact(text)[:1_000] for name, text in texts.items()} | {"time": datetime.now(UTC).isoformat()}
        line = json.dumps(named, sort_keys=True).encode("ascii") + b"\n"
        with disk_errors(self._path, remedy="Free space, or mend the permissions of the audit log"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            log = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
            try:
                fcntl.flock(log, fcntl.LOCK_EX)  # a line that another is writing is not torn
                size = os.fstat(log).st_size
                torn = size > 0 and os.pread(log, 1, size - 1) != b"\n"  # a writer ended in the middle of a line
                line = b"\n" + line if torn else line
                if os.write(log, line) < len(line):
                    raise OSError("only a part of a line was written")
                os.fsync(log)
            finally:
                os.close(log)
        _LOG.info("audit", extra=fields(action=named["action"]))
