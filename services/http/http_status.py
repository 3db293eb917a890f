"""The HTTP status of each gRPC code."""

from __future__ import annotations

__all__ = ["HTTP_STATUS", "http_status"]

HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "FAILED_PRECONDITION": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "CANCELLED": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""Name of a code → status. A code that is not here is an error of the server."""


def http_status(code: str, reason: str = "") -> int:
    """Return the status of an error.

    :param code: name of its gRPC code.
    :param reason: its kind. What is too large has the code of what is too much at once, and a status of its own: another attempt does
        not help.
    """
    return 413 if reason == "TOO_LARGE" else HTTP_STATUS.get(code, 500)
