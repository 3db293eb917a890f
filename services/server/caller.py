"""Who makes a call and what it may do and see, and the record of the call on its way."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = [
    "TENANT_METADATA_KEY",
    "TRACE_METADATA_KEY",
    "CallRecord",
    "Caller",
    "Role",
    "add_log_fields",
    "begin_call",
    "current_call",
    "set_caller",
]

TENANT_METADATA_KEY = "egotools-tenant"
TRACE_METADATA_KEY = "traceparent"
Role: TypeAlias = Literal["read", "admin", "metrics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity of a call, after authentication.

    :param filters: metadata key → allowed values, as in ``RetrieveRequest.filters``: the tools that exist for this caller.
    """

    name: str = ""  # of the subject, for the logs; empty for an anonymous caller
    roles: frozenset[Role] = frozenset()
    tenants: frozenset[str] | None = None  # the tenants it may use; None for all
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def home(self) -> str:
        """The only tenant that it may use; empty where there are several, or all."""
        return next(iter(self.tenants)) if self.tenants is not None and len(self.tenants) == 1 else ""


_ANYBODY = Caller(roles=frozenset({"read", "admin", "metrics"}))  # without access control
_CALLER: ContextVar[Caller] = ContextVar("caller", default=_ANYBODY)


def set_caller(caller: Caller) -> None:
    """Say who makes the current call; before anything else of the call runs."""
    _CALLER.set(caller)


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """The current call.

    :param timings: of answers: when each was made, in nanoseconds since 1970, and stage → milliseconds.
    """

    method: str  # name of the RPC, without the service
    peer: str = ""  # address of the other end, without the port
    tenant: str = ""  # of the metadata ``egotools-tenant``; without it the only tenant of the caller, or empty
    subject: str = ""  # what the call changes, for the audit log: the id of a snapshot, or empty
    traceparent: str = ""  # of the metadata ``traceparent`` (W3C Trace Context), or empty
    caller: Caller = field(default_factory=_CALLER.get)
    started: float = field(default_factory=time.monotonic)  # a ``time.monotonic()`` in seconds
    messages: int = 0  # number of the messages that were answered so far
    timings: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    log_fields: dict[str, Any] = field(default_factory=dict)  # numbers and names only, never words of a request

    def __post_init__(self) -> None:
        self.tenant = self.tenant or self.caller.home


_RECORD: ContextVar[CallRecord] = ContextVar("call")


def begin_call(record: CallRecord) -> None:
    """Make ``record`` the current call of this task."""
    _RECORD.set(record)


def current_call() -> CallRecord:
    """Return the current call; an anonymous one outside of a call."""
    return _RECORD.get(CallRecord(method=""))


def add_log_fields(**values: Any) -> None:
    """Add fields to the log line of the current call: counts, names of presets, ids of snapshots."""
    current_call().log_fields.update(values)
