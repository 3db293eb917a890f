"""Events for the audit log that anybody can cause as often as they like: counted, and written by one thread."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import TypeAlias

from ontology.errors import StorageError
from services.server.logs import fields
from services.server.observe.audit_log import AuditLog

__all__ = ["AuditQueue"]

_LOG = logging.getLogger("egotools.audit")
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
