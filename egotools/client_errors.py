"""The errors of the client, one class hierarchy::

ClientError                    any other code
├── InvalidRequestError        INVALID_ARGUMENT, OUT_OF_RANGE       a field is invalid; do not retry the same request
│   └── ToolRequestError       INVALID_ARGUMENT, found here         no request can be built from a tool and these arguments
│       └── ChangedToolError   INVALID_ARGUMENT, found here         nor of what the tool's MCP server lists now
├── NotFoundError              NOT_FOUND                            no such tool or node
├── OverloadedError            RESOURCE_EXHAUSTED                   too many calls at once, or too large a request
├── ClientDeadlineError        DEADLINE_EXCEEDED                    ``timeout_s`` has passed
├── ClientCancelledError       CANCELLED                            the call was cancelled
├── UnavailableError           UNAVAILABLE                          no replica answered, or a server cancelled the call; no
│                                                                   retries are left
├── PreconditionError          FAILED_PRECONDITION                  an optional part of the server is missing
│   └── MissingPackageError    FAILED_PRECONDITION, found here      a package that calls tools is not installed
├── SnapshotLostError          DATA_LOSS                            its snapshot is incomplete or was altered
├── PermissionDeniedError      PERMISSION_DENIED, UNAUTHENTICATED   not allowed
│   └── StrongerEffectError    PERMISSION_DENIED, found here        a tool does more than the catalogue says, and nobody was asked
└── InternalServerError        INTERNAL, UNKNOWN                    a bug in the server; ``incident_id`` finds it
"""

from __future__ import annotations

__all__ = [
    "ClientCancelledError",
    "ClientDeadlineError",
    "ClientError",
    "InternalServerError",
    "InvalidRequestError",
    "MissingPackageError",
    "NotFoundError",
    "OverloadedError",
    "PermissionDeniedError",
    "PreconditionError",
    "SnapshotLostError",
    "ToolRequestError",
    "UnavailableError",
    "client_error_of",
]


class ClientError(Exception):
    """The base class: any failed call.

    :param message: what is wrong, one sentence.
    :param code: name of the gRPC status code (``INVALID_ARGUMENT``).
    :param reason: the kind of error, finer than the code (``SNAPSHOT_CORRUPT``); empty if the server sent none.
    :param subject: the subject of the error: a field, a tool id; may be empty.
    :param remedy: what to do, one sentence; may be empty.
    :param incident_id: for a bug of the server: the id of the error in its log.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        subject: str = "",
        remedy: str = "",
        incident_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.subject = subject
        self.remedy = remedy
        self.incident_id = incident_id

    def __str__(self) -> str:
        text = f"{self.subject}: {self.message}" if self.subject else self.message
        stop = "" if text.endswith((".", "?", "!", ":")) or not self.remedy else "."
        return f"{self.code}: {text}{stop} {self.remedy}".strip()


class InvalidRequestError(ClientError):
    """A field of the request is invalid; ``subject`` names it. Do not retry the same request."""


class ToolRequestError(InvalidRequestError):
    """The request of a tool cannot be made: an argument, the base URL or a credential is missing or wrong.

    Found before anything is sent. ``subject`` names the argument or the option. The values of arguments and credentials are
    never part of it.
    """

    def __init__(self, message: str, *, subject: str = "", remedy: str = "") -> None:
        super().__init__(message, code="INVALID_ARGUMENT", reason="TOOL_REQUEST", subject=subject, remedy=remedy)


class NotFoundError(ClientError):
    """The snapshot has no such tool or node."""


class OverloadedError(ClientError):
    """Too many calls at once (try again later), or a request above the size limit."""


class ClientDeadlineError(ClientError):
    """The deadline of the call has passed."""


class ClientCancelledError(ClientError):
    """The call was cancelled before it ended."""


class UnavailableError(ClientError):
    """No replica answered in any attempt, or a model that the server needs is down."""


class PreconditionError(ClientError):
    """The server cannot answer in its present state, for example without an optional part."""


class MissingPackageError(PreconditionError):
    """A package that is needed to call tools of this kind is not installed.

    :param package: its name, as pip takes it.
    """

    def __init__(self, package: str) -> None:
        super().__init__(
            "this package is not installed",
            code="FAILED_PRECONDITION",
            reason="MISSING_PACKAGE",
            subject=package,
            remedy=f"Run: pip install {package}",
        )
        self.package = package


class SnapshotLostError(ClientError):
    """The server's snapshot is incomplete or was altered."""


class PermissionDeniedError(ClientError):
    """The caller is unknown or not allowed."""


class InternalServerError(ClientError):
    """A bug in the server; ``incident_id`` finds it in its log."""


_CLASSES: dict[str, type[ClientError]] = {
    "INVALID_ARGUMENT": InvalidRequestError,
    "OUT_OF_RANGE": InvalidRequestError,
    "NOT_FOUND": NotFoundError,
    "RESOURCE_EXHAUSTED": OverloadedError,
    "DEADLINE_EXCEEDED": ClientDeadlineError,
    "CANCELLED": ClientCancelledError,
    "UNAVAILABLE": UnavailableError,
    "FAILED_PRECONDITION": PreconditionError,
    "DATA_LOSS": SnapshotLostError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "UNAUTHENTICATED": PermissionDeniedError,
    "INTERNAL": InternalServerError,
    "UNKNOWN": InternalServerError,
}


def client_error_of(code: str, message: str, **details: str) -> ClientError:
    """Return an error of the class for a gRPC status code.

    :param code: name of the status code.
    :param details: the other parameters of :class:`ClientError`.
    """
    return _CLASSES.get(code, ClientError)(message, code=code, **details)
