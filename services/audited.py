"""Commands that change what is served are in the audit log that ``EGOTOOLS_AUDIT_LOG`` names, as calls of a server are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ontology.errors import EgotoolsError

AUDIT_LOG = "EGOTOOLS_AUDIT_LOG"
"""The variable that names the audit log."""
_NAMED, _ID_CHARS = 20, 100


@dataclass
class AuditedChange:
    """The entry that is written when a change has ended; the block may say more of it.

    :param subject: what was changed.
    :param outcome: ``done``, or why nothing was changed.
    """

    subject: str
    outcome: str = "done"

    def published(self, snapshot_id: str) -> None:
        """Name the snapshot that was published; empty where none was, since it would be no better."""
        self.subject += f" {snapshot_id}" if snapshot_id else ""
        self.outcome = "done" if snapshot_id else "unchanged"


@contextmanager
def audited(action: str, subject: str) -> Iterator[AuditedChange]:
    """Write an entry before the block begins, and one with its outcome. Without the variable nothing is written.

    :param action: ``publish``, ``rollback`` or ``approve-finding``.
    :param subject: what is changed: a store, the finding.
    :raises StorageError: when it cannot be written; the block has not begun then.
    """
    change = AuditedChange(subject)
    if not is_audited():
        yield change
        return
    from retrieval.snapshot.publish import this_actor
    from services.server.observe.audit_log import AuditLog

    log, actor = AuditLog(Path(os.environ[AUDIT_LOG].strip())), this_actor()
    log.write(action, actor=actor, subject=subject, outcome="begun")
    outcome = "INTERRUPTED"
    try:
        yield change
        outcome = change.outcome
    except EgotoolsError as error:
        outcome = error.grpc_code
        raise
    finally:
        log.write(action, actor=actor, subject=change.subject, outcome=outcome)


def is_audited() -> bool:
    """Whether an audit log is named."""
    return bool(os.environ.get(AUDIT_LOG, "").strip())


def named_tools(ids: Sequence[str]) -> str:
    """The number of tools and the ids of the first twenty, as an entry of the audit log has them."""
    shown = ", ".join(each[:_ID_CHARS] for each in ids[:_NAMED])
    return f"{len(ids):,} tools: {shown}{', …' if len(ids) > _NAMED else ''}"
