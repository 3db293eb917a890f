"""Map each error class to one gRPC status with an ``Error`` message in the trailing metadata."""

from __future__ import annotations

import re
import uuid

import grpc

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import EgotoolsError, InvalidArgumentError

__all__ = [
    "ERROR_METADATA_KEY",
    "answer_too_large",
    "cut",
    "error_details",
    "error_message",
    "error_metadata",
    "internal_error",
    "reason_of",
    "status_code",
]

ERROR_METADATA_KEY = "egotools-error-bin"
# All trailing metadata must be smaller than 8 KiB: details are percent-encoded (x 3), the Error is base64 (x 4/3).
_DETAILS_BYTES, _MESSAGE_BYTES, _SUBJECT_BYTES, _REMEDY_BYTES = 800, 1_500, 500, 700
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def status_code(number: int) -> grpc.StatusCode:
    """Return the gRPC status code with this number; UNKNOWN for an unknown number."""
    return _CODES.get(number, grpc.StatusCode.UNKNOWN)


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


def error_details(error: pb.Error) -> str:
    """Return an error as the text of a status, for callers that do not read the ``Error``."""
    text = f"{error.subject}: {error.message}" if error.subject else error.message
    return cut(f"{text} {error.remedy}".strip(), _DETAILS_BYTES)


def error_metadata(error: pb.Error) -> tuple[str, bytes]:
    """Return the entry of the trailing metadata."""
    return ERROR_METADATA_KEY, error.SerializeToString()


def internal_error() -> pb.Error:
    """Return the error for an unexpected exception: a new incident id, and no internal details."""
    incident_id = uuid.uuid4().hex[:12]
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
        remedy="Request fewer tools, without schema or reasons; send a batch with RetrieveEach; or raise the limit of server and client",
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
