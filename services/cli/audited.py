"""Commands that change what is served are in the audit log that ``EGOTOOLS_AUDIT_LOG`` names, as calls of a server are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ontology.errors import EgotoolsError

__all__ = ["audited"]

_VARIABLE = "EGOTOOLS_AUDIT_LOG"


@contextmanager
def audited(action: str, subject: str) -> Iterator[None]:
    """Write an entry before the block begins, and one with its outcome. Without the variable nothing is written.

    :param action: ``publish``, ``rollback`` or ``approve-finding``.
    :param subject: what is changed: a store, ids of tools.
    :raises StorageError: when it cannot be written; the block has not begun then.
    """
    if not os.environ.get(_VARIABLE, "").strip():
        yield
        return
    from retrieval.snapshot.publication_log import this_actor
    from services.server.observe.audit_log import AuditLog

    log, actor = AuditLog(Path(os.environ[_VARIABLE].strip())), this_actor()
    log.write(action, actor=actor, subject=subject, outcome="begun")
    outcome = "INTERRUPTED"
    try:
        yield
        outcome = "done"
    except EgotoolsError as error:
        outcome = error.grpc_code
        raise
    finally:
        log.write(action, actor=actor, subject=subject, outcome=outcome)
