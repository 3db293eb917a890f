"""Errors on the wire: each error of the tree as one gRPC status with an ``Error`` in the trailing metadata."""

from __future__ import annotations

import re
import uuid

import grpc

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import EgotoolsError

__all__ = [
    "ERROR_METADATA_KEY",
    "MAX_DETAILS_BYTES",
    "code_of",
    "cut",
    "error_message",
    "incident",
    "reason_of",
    "status_code",
]

ERROR_METADATA_KEY = "egotools-error-bin"
# Trailing metadata must stay below 8 KiB in all: details are percent-encoded (x 3), the Error is base64 (x 4/3).
MAX_DETAILS_BYTES = 800
_MAX_MESSAGE_BYTES = 1_500
_MAX_SUBJECT_BYTES = 500
_MAX_REMEDY_BYTES = 700
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def code_of(error: EgotoolsError) -> grpc.StatusCode:
    """The one gRPC code of an error."""
    return grpc.StatusCode[error.grpc_code]


def status_code(number: int) -> grpc.StatusCode:
    """The gRPC code of that number; UNKNOWN where there is none."""
    return next((code for code in grpc.StatusCode if code.value[0] == number), grpc.StatusCode.UNKNOWN)


def reason_of(error: EgotoolsError) -> str:
    """The kind of error in capitals: ``SnapshotCorruptError`` → ``SNAPSHOT_CORRUPT``."""
    return _HUMP.sub("_", type(error).__name__.removesuffix("Error")).upper()


def error_message(error: EgotoolsError) -> pb.Error:
    """The error as it travels; long texts are cut, for they travel in metadata."""
    return pb.Error(
        code=code_of(error).value[0],
        reason=reason_of(error),
        message=_sentence(error.problem, _MAX_MESSAGE_BYTES),
        subject=cut(error.subject, _MAX_SUBJECT_BYTES),
        remedy=_sentence(error.remedy, _MAX_REMEDY_BYTES),
    )


def incident() -> pb.Error:
    """What a caller learns of a bug: an id to ask the operator about, and nothing of the inside."""
    incident_id = uuid.uuid4().hex[:12]
    return pb.Error(
        code=grpc.StatusCode.INTERNAL.value[0],
        reason="INTERNAL",
        message=f"The server failed; it logged this as incident {incident_id}.",
        remedy="Report the incident id to who runs the server.",
        incident_id=incident_id,
    )


def cut(text: str, max_bytes: int) -> str:
    """The text, with an ellipsis for its end where it has more than ``max_bytes`` bytes of UTF-8.

    Half a surrogate pair, which JSON documents can hold and UTF-8 cannot, becomes a question mark.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return raw.decode("utf-8")
    return raw[: max_bytes - 3].decode("utf-8", "ignore") + "…"


def _sentence(text: str, max_bytes: int) -> str:
    text = cut(text, max_bytes)
    return f"{text}." if text and text[-1] not in ".…" else text
