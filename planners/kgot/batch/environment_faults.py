"""Whether a run met a fault that is not its own: a package, the isolation of code, a model, a service or a store was not there."""

from __future__ import annotations

from planners.journal.run_journal import RunJournal, RunRecord
from planners.kgot.tools.tool_set import NOT_INSTALLED

__all__ = ["lacks_something"]

_ERRORS = ("IsolationError", "MissingExtraError", "StorageError")
"""Of the sandbox and the graph; what is wrong with code or a query has other names."""
_CODES = ("DEADLINE_EXCEEDED", "UNAVAILABLE")
"""Of the tool service and of servers of tools: they were not reached, or not in time."""


def lacks_something(journal: RunJournal) -> bool:
    """Return whether another attempt may go better when what was not there is there.

    A model counts that never answered: one that failed now and then was reached.
    """
    asked, answered = False, False
    for record in journal.records:
        if _is_fault(record):
            return True
        asked = asked or record.kind == "model_failed"
        answered = answered or record.kind == "model_ended"
    return asked and not answered


def _is_fault(record: RunRecord) -> bool:
    given = record.data
    if record.kind == "call_ended":
        return bool(not given["ok"] and given["status"] == NOT_INSTALLED)
    if record.kind in ("sandbox_failed", "graph_failed"):
        return given.get("error") in _ERRORS
    return record.kind in ("find_failed", "call_failed") and given.get("code") in _CODES
