"""The audit log: one JSON line for each change and each refusal, only appended to, and flushed to the disk."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from ontology.appended_file import append, is_named
from ontology.files import disk_errors, flush_to_disk, lock_within
from ontology.redaction import redact
from services.server.logs import fields

__all__ = ["AuditLog"]

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
