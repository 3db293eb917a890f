"""The errors of the client, one class hierarchy: each class says for which gRPC codes it stands, the first is its own.

Found before anything is sent, beside these: ``ChangedToolError`` (a :class:`ToolRequestError`) by what the tool's MCP server lists now,
``StrongerEffectError`` (a :class:`PermissionDeniedError`) where a tool does more than the catalogue says, and nobody was asked.
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
]


class ClientError(Exception):
    """The base class: any failed call.

    :param message: what is wrong, one sentence.
    :param subject: what it is about: a field, a tool id; may be empty.
    :param remedy: what to do, one sentence; may be empty.
    :param code: name of the gRPC status code (``INVALID_ARGUMENT``); empty for the first one of the class.
    :param reason: the kind of error, finer than the code (``SNAPSHOT_CORRUPT``); empty if the server sent none.
    :param incident_id: for a bug of the server: the id of the error in its log.
    """

    codes: tuple[str, ...] = ("UNKNOWN",)

    def __init__(
        self,
        message: str,
        subject: str = "",
        remedy: str = "",
        *,
        code: str = "",
        reason: str = "",
        incident_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.subject, self.remedy = message, subject, remedy
        self.code, self.reason, self.incident_id = code or self.codes[0], reason, incident_id

    def __str__(self) -> str:
        text = f"{self.subject}: {self.message}" if self.subject else self.message
        stop = "" if text.endswith((".", "?", "!", ":")) or not self.remedy else "."
        return f"{self.code}: {text}{stop} {self.remedy}".strip()


class InvalidRequestError(ClientError):
    """A field of the request is invalid; ``subject`` names it. Do not retry the same request."""

    codes = ("INVALID_ARGUMENT", "OUT_OF_RANGE")


class ToolRequestError(InvalidRequestError):
    """The request of a tool cannot be made: an argument, the base URL or a credential is missing or wrong.

    Found before anything is sent. ``subject`` names the argument or the option. The values of arguments and credentials are
    never part of it.
    """

    def __init__(self, message: str, subject: str = "", remedy: str = "") -> None:
        super().__init__(message, subject, remedy, reason="TOOL_REQUEST")


class NotFoundError(ClientError):
    """The snapshot has no such tool or node."""

    codes = ("NOT_FOUND",)


class OverloadedError(ClientError):
    """Too many calls at once (try again later), or a request above the size limit."""

    codes = ("RESOURCE_EXHAUSTED",)


class ClientDeadlineError(ClientError):
    """The deadline of the call has passed."""

    codes = ("DEADLINE_EXCEEDED",)


class ClientCancelledError(ClientError):
    """The call was cancelled before it ended."""

    codes = ("CANCELLED",)


class UnavailableError(ClientError):
    """No replica answered in any attempt, or a model that the server needs is down."""

    codes = ("UNAVAILABLE",)


class PreconditionError(ClientError):
    """The server cannot answer in its present state, for example without an optional part."""

    codes = ("FAILED_PRECONDITION",)


class MissingPackageError(PreconditionError):
    """A package that is needed is not installed; ``package`` is its name, as pip takes it."""

    def __init__(self, package: str) -> None:
        remedy = f"Run: pip install {package}"
        super().__init__("this package is not installed", package, remedy, reason="MISSING_PACKAGE")
        self.package = package


class SnapshotLostError(ClientError):
    """The server's snapshot is incomplete or was altered."""

    codes = ("DATA_LOSS",)


class PermissionDeniedError(ClientError):
    """The caller is unknown or not allowed."""

    codes = ("PERMISSION_DENIED", "UNAUTHENTICATED")


class InternalServerError(ClientError):
    """A bug in the server; ``incident_id`` finds it in its log."""

    codes = ("INTERNAL", "UNKNOWN")


_CLASSES = {code: kind for kind in ClientError.__subclasses__() for code in kind.codes}


def client_error_of(code: str, message: str, **details: str) -> ClientError:
    """Return an error of the class for the name of a gRPC status code; ``details`` are the other parameters of :class:`ClientError`."""
    return _CLASSES.get(code, ClientError)(message, code=code, **details)
