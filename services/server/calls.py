"""The current call: who makes it, what it may do and see, its record; how an error becomes the status of a call; and logs.

Logs are one JSON object on each line. Records of level INFO or above contain no words of a request.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import re
import sys
import time
import traceback
import uuid
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

import grpc

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.redaction import redact

_LOG = logging.getLogger("egotools.server")
TENANT_METADATA_KEY = "egotools-tenant"
ERROR_METADATA_KEY = "egotools-error-bin"
_IPV6_NETWORK_BITS = 64  # one host has many addresses there
Role: TypeAlias = Literal["read", "admin", "metrics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity of a call, after authentication."""

    name: str = ""  # of the subject, for the logs; empty for an anonymous caller
    roles: frozenset[Role] = frozenset()
    tenants: frozenset[str] | None = None  # the tenants it may use; None for all
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # which tools exist for it, as a request's

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
    """The current call."""

    method: str  # name of the RPC, without the service
    peer: str = ""  # address of the other end, without the port
    tenant: str = ""  # of the metadata ``egotools-tenant``; without it the only tenant of the caller, or empty
    subject: str = ""  # what the call changes, for the audit log: the id of a snapshot, or empty
    caller: Caller = field(default_factory=_CALLER.get)
    started: float = field(default_factory=time.monotonic)  # a ``time.monotonic()`` in seconds
    log_fields: dict[str, Any] = field(default_factory=dict)  # numbers and names only, never words of a request

    def __post_init__(self) -> None:
        self.tenant = self.tenant or self.caller.home


def peer_of(context: Any) -> str:
    """Return the address of the other end of a call without its port; see :func:`address_network`."""
    peer: str = context.peer()
    address, port = peer.rpartition(":")[::2]
    if not address.startswith("ipv6:"):
        return address or port
    return address_network(unquote(address.removeprefix("ipv6:")).strip("[]")) or address


def address_network(host: str) -> str:
    """Return an address as the name of a peer, of IPv6 its network; empty for a text that is no address."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return f"ipv6:{ipaddress.ip_network((int(found), _IPV6_NETWORK_BITS), strict=False)}"
        found = found.ipv4_mapped
    return f"ipv4:{found}"


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


# -- errors ------------------------------------------------------------------------------------------------------------

# All trailing metadata must be smaller than 8 KiB: details are percent-encoded (x 3), the Error is base64 (x 4/3).
_DETAILS_BYTES, _MESSAGE_BYTES, _SUBJECT_BYTES, _REMEDY_BYTES = 800, 1_500, 500, 700
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def reason_of(error: EgotoolsError) -> str:
    """Return the error class in capitals: ``SnapshotCorruptError`` → ``SNAPSHOT_CORRUPT``."""
    return _CAMEL_CASE_BOUNDARY.sub("_", type(error).__name__.removesuffix("Error")).upper()


def error_message(error: EgotoolsError) -> pb.Error:
    """Return the protobuf message of an error. Long texts are cut, because metadata is limited in size."""
    return pb.Error(
        code=grpc.StatusCode[error.grpc_code].value[0],
        reason=reason_of(error),
        message=_sentence(error.problem, _MESSAGE_BYTES),
        subject=cut(error.subject, _SUBJECT_BYTES),
        remedy=_sentence(error.remedy, _REMEDY_BYTES),
    )


def status(error: pb.Error) -> tuple[grpc.StatusCode, str, tuple[tuple[str, bytes]]]:
    """Return what ends a call with an error: code, text for callers that do not read the ``Error``, trailing metadata with it."""
    text = f"{error.subject}: {error.message}" if error.subject else error.message
    details = cut(f"{text} {error.remedy}".strip(), _DETAILS_BYTES)
    return _CODES[error.code], details, ((ERROR_METADATA_KEY, error.SerializeToString()),)


def report_incident(method: str) -> pb.Error:
    """Log the exception that is being handled, without its message, and return the error for the caller: an incident id alone."""
    incident_id = uuid.uuid4().hex[:12]
    _LOG.exception("incident", extra=fields(incident_id=incident_id, method=method))
    return pb.Error(
        code=grpc.StatusCode.INTERNAL.value[0],
        reason="INTERNAL",
        message=f"The server failed; it logged this as incident {incident_id}.",
        remedy="Report the incident id to the operator of the server.",
        incident_id=incident_id,
    )


def answer_too_large(size: int, most: int) -> InvalidArgumentError:
    """Return the error for an answer of ``size`` bytes, or of more, where ``most`` are sent."""
    return InvalidArgumentError(
        f"the answer has {size:,} bytes or more; at most {most:,} are sent",
        subject="max_message_bytes",
        remedy="Request fewer tools, without schema or reasons; split a batch; or raise the limit of server and client",
    )


def cut(text: str, max_bytes: int) -> str:
    """Cut a text to ``max_bytes`` bytes of UTF-8, with an ellipsis; an unpaired surrogate, which UTF-8 cannot hold, becomes ``?``."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return raw.decode("utf-8")
    return raw[: max_bytes - 3].decode("utf-8", "ignore") + "…"


def _sentence(text: str, max_bytes: int) -> str:
    text = cut(text, max_bytes)
    return f"{text}." if text and text[-1] not in ".…" else text


def fields(**values: Any) -> dict[str, dict[str, Any]]:
    """Return the argument ``extra=`` of a log call; the values become keys of the JSON line."""
    return {"fields": values}


class JsonFormatter(logging.Formatter):
    """One JSON object for each record: ``time``, ``level``, ``logger``, ``message``, its fields, and a traceback. A
    traceback contains files, lines and error classes, but no error messages: a message may quote the request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        for name, value in getattr(record, "fields", {}).items():
            line[name] = redact(value) if isinstance(value, str) else value
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            shown: list[str] = []
            while error is not None and len(shown) < 1_000:
                shown.append(f"{type(error).__module__}.{type(error).__qualname__}")
                frames = traceback.extract_tb(error.__traceback__)
                shown += [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
                error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            line["traceback"] = shown
        text = json.dumps(line, ensure_ascii=False, default=str)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate could not be written


class PlainFormatter(JsonFormatter):
    """The same for a person at a terminal: time of day, level, message and fields on a line, a traceback below."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text."""
        line = json.loads(super().format(record))
        trace = [f"\n  {each}" for each in line.pop("traceback", ())]
        head = [line.pop("time")[11:19], line.pop("level"), line.pop("message")]
        del line["logger"]
        return " ".join([*head, *(f"{name}={value}" for name, value in line.items())]) + "".join(trace)


def configure_logging(level: str = "INFO") -> None:
    """Write all logs of the process to standard error: plain lines to a terminal, JSON lines elsewhere."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainFormatter() if sys.stderr.isatty() else JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
