"""What is known of the current call: method, peer, tenant, caller, and the fields of its log line."""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from services.server.caller import Caller, current_caller

__all__ = ["TENANT_METADATA_KEY", "TRACE_METADATA_KEY", "CallRecord", "add_log_fields", "begin_call", "current_call"]

TENANT_METADATA_KEY = "egotools-tenant"
TRACE_METADATA_KEY = "traceparent"


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """The current call.

    :param method: name of the RPC, without the service.
    :param peer: address of the other end, without the port.
    :param tenant: of the metadata ``egotools-tenant``; without it the only tenant of the caller, or empty.
    :param caller: who calls; the access step has said so.
    :param started: a ``time.monotonic()`` in seconds.
    :param subject: what the call changes, for the audit log: the id of a snapshot, or empty.
    :param traceparent: of the metadata ``traceparent`` (W3C Trace Context), or empty.
    :param messages: number of the messages that were answered so far.
    :param timings: of answers: when each was made, in nanoseconds since 1970, and stage → milliseconds.
    :param log_fields: numbers and names only, never words of a request.
    """

    method: str
    peer: str = ""
    tenant: str = ""
    subject: str = ""
    traceparent: str = ""
    caller: Caller = field(default_factory=current_caller)
    started: float = field(default_factory=time.monotonic)
    messages: int = 0
    timings: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    log_fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tenant = self.tenant or self.caller.home


_CURRENT: ContextVar[CallRecord] = ContextVar("egotools_call")


def begin_call(record: CallRecord) -> None:
    """Make ``record`` the current call of this task."""
    _CURRENT.set(record)


def current_call() -> CallRecord:
    """Return the current call; an anonymous one outside of a call."""
    return _CURRENT.get(CallRecord(method=""))


def add_log_fields(**values: Any) -> None:
    """Add fields to the log line of the current call: counts, names of presets, ids of snapshots."""
    current_call().log_fields.update(values)
