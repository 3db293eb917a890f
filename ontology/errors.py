"""The one tree of errors.

Each error carries its *subject* (file and line, tool id, snapshot id, field), says what is wrong and what to do,
and maps to exactly one gRPC status code and one exit code of the command::

    EgotoolsError                    INTERNAL             1
    ├── InvalidArgumentError         INVALID_ARGUMENT     2    a request or option that cannot be served as asked
    ├── DocumentError                INVALID_ARGUMENT     3    a tool document that cannot be read
    │   └── UnknownFormatError       INVALID_ARGUMENT     3    no reader knows this document
    ├── CatalogError                 FAILED_PRECONDITION  4    the catalogue as a whole cannot be built (empty, refused under --strict)
    ├── OntologyError                INVALID_ARGUMENT     5    an ontology file with faults
    ├── SnapshotError                FAILED_PRECONDITION  6    a snapshot that cannot be used
    │   ├── SnapshotCorruptError     DATA_LOSS            6    torn, truncated or altered
    │   └── SnapshotVersionError     FAILED_PRECONDITION  6    written in another format version
    ├── NotFoundError                NOT_FOUND            7    no such tool, node or snapshot
    ├── StorageError                 RESOURCE_EXHAUSTED   8    the disk refused a write (full, read-only, not permitted)
    ├── MissingExtraError            FAILED_PRECONDITION  9    an optional dependency is not installed
    ├── ModelError                   UNAVAILABLE          10   a model endpoint is dead, slow or answers nonsense
    │   └── BudgetExceededError      RESOURCE_EXHAUSTED   11   the token or money cap is reached
    ├── DeadlineError                DEADLINE_EXCEEDED    12   the caller's time is over
    ├── OverloadedError              RESOURCE_EXHAUSTED   13   too many requests at once
    └── NotReadyError                UNAVAILABLE          14   the server has no snapshot loaded yet, or is stopping
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

__all__ = [
    "BudgetExceededError",
    "CatalogError",
    "DeadlineError",
    "DocumentError",
    "EgotoolsError",
    "InvalidArgumentError",
    "MissingExtraError",
    "ModelError",
    "NotFoundError",
    "NotReadyError",
    "OntologyError",
    "OverloadedError",
    "RejectionReason",
    "SnapshotCorruptError",
    "SnapshotError",
    "SnapshotVersionError",
    "StorageError",
    "UnknownFormatError",
    "error_from_status",
]


class EgotoolsError(Exception):
    """The root: anything egotools raises on purpose.

    :param problem: what is wrong, one sentence without a full stop.
    :param subject: what it is about: ``path:line``, a tool id, a snapshot id, the name of a field.
    :param remedy: what to do about it, one sentence without a full stop.
    """

    grpc_code: ClassVar[str] = "INTERNAL"
    exit_code: ClassVar[int] = 1

    def __init__(self, problem: str, *, subject: str = "", remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.subject = subject
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.subject}: {self.problem}" if self.subject else self.problem
        return f"{text}. {self.remedy}." if self.remedy else f"{text}."


class InvalidArgumentError(EgotoolsError):
    """A request or an option that cannot be served as asked; the subject is the field."""

    grpc_code = "INVALID_ARGUMENT"
    exit_code = 2


RejectionReason: TypeAlias = Literal[
    "dangling-link",
    "dangling-ref",
    "dangling-shape",
    "dangling-type",
    "duplicate-id",
    "empty",
    "invalid-csv",
    "invalid-json",
    "invalid-xml",
    "invalid-yaml",
    "missing",
    "missing-page",
    "no-name",
    "no-operation",
    "no-operations",
    "no-signature",
    "not-importable",
    "not-utf8",
    "rpc-error",
    "too-deep",
    "too-large",
    "too-many-contained",
    "unknown-dependency",
    "unknown-format",
    "unreachable",
    "unreadable",
    "unsupported-version",
    "wrong-columns",
    "wrong-type",
]
"""Why a document, or a record in it, is not taken into the catalogue. Reports count the rejected records by it."""


class DocumentError(EgotoolsError):
    """A tool document, or a part of it, that cannot be read; the subject is the file and, where known, the line.

    :param reason: the kind of fault.
    """

    grpc_code = "INVALID_ARGUMENT"
    exit_code = 3
    reason: RejectionReason = "unreadable"

    def __init__(
        self, problem: str, *, subject: str = "", remedy: str = "", reason: RejectionReason | None = None
    ) -> None:
        super().__init__(problem, subject=subject, remedy=remedy)
        if reason is not None:
            self.reason = reason


class UnknownFormatError(DocumentError):
    """No reader knows this document."""

    reason: RejectionReason = "unknown-format"


class CatalogError(EgotoolsError):
    """The catalogue as a whole cannot be built: it is empty, or something was refused under ``--strict``."""

    grpc_code = "FAILED_PRECONDITION"
    exit_code = 4


class OntologyError(EgotoolsError):
    """An ontology file with faults; the message lists each with its line."""

    grpc_code = "INVALID_ARGUMENT"
    exit_code = 5


class SnapshotError(EgotoolsError):
    """A snapshot that cannot be used; the subject is its folder."""

    grpc_code = "FAILED_PRECONDITION"
    exit_code = 6


class SnapshotCorruptError(SnapshotError):
    """A snapshot that is torn, truncated or altered; the subject is the file that is not what the manifest says."""

    grpc_code = "DATA_LOSS"


class SnapshotVersionError(SnapshotError):
    """A snapshot written in a format version that this egotools does not read."""


class NotFoundError(EgotoolsError):
    """No such tool, node or snapshot; the subject is what was asked for."""

    grpc_code = "NOT_FOUND"
    exit_code = 7


class StorageError(EgotoolsError):
    """The disk refused a write: full, read-only or not permitted; what was published before is untouched."""

    grpc_code = "RESOURCE_EXHAUSTED"
    exit_code = 8


class MissingExtraError(EgotoolsError):
    """An optional dependency is not installed; the remedy is the command that installs it.

    :param feature: what was asked for.
    :param extra: the name of the extra in ``pyproject.toml``, and of its lock file in ``requirements/``.
    """

    grpc_code = "FAILED_PRECONDITION"
    exit_code = 9

    def __init__(self, feature: str, *, extra: str) -> None:
        super().__init__(
            "an optional dependency is not installed",
            subject=feature,
            remedy=f"Run in the folder of the clone: .venv/bin/python -m pip install -r requirements/{extra}.txt",
        )
        self.extra = extra


class ModelError(EgotoolsError):
    """A model endpoint is dead, slow or answers nonsense; the subject is its address without credentials."""

    grpc_code = "UNAVAILABLE"
    exit_code = 10


class BudgetExceededError(ModelError):
    """The token or money cap is reached; what was already answered is in the cache."""

    grpc_code = "RESOURCE_EXHAUSTED"
    exit_code = 11


class DeadlineError(EgotoolsError):
    """The caller's time is over; later stages were not run."""

    grpc_code = "DEADLINE_EXCEEDED"
    exit_code = 12


class OverloadedError(EgotoolsError):
    """Too many requests at once; try again later."""

    grpc_code = "RESOURCE_EXHAUSTED"
    exit_code = 13


class NotReadyError(EgotoolsError):
    """The server has no snapshot loaded yet, or is stopping; another replica, or this one later, can answer."""

    grpc_code = "UNAVAILABLE"
    exit_code = 14


_BY_STATUS: dict[str, type[EgotoolsError]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "NOT_FOUND": NotFoundError,
    "RESOURCE_EXHAUSTED": OverloadedError,
    "DEADLINE_EXCEEDED": DeadlineError,
    "UNAVAILABLE": NotReadyError,
    "FAILED_PRECONDITION": SnapshotError,
    "DATA_LOSS": SnapshotCorruptError,
}


def error_from_status(code: str, problem: str, *, subject: str = "", remedy: str = "") -> EgotoolsError:
    """The error for what a server, or the way to it, answered: the likeliest of those that map to a gRPC code.

    :param code: name of the gRPC status code; the root for one that none maps to.
    """
    kind = _BY_STATUS.get(code, EgotoolsError)
    return kind(problem.rstrip("."), subject=subject, remedy=remedy.rstrip("."))
