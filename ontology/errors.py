"""The error classes.

An error has a *subject* (file and line, tool id, snapshot id, field), a problem and a remedy. Each class maps to one
gRPC status code and one exit code of the command::

    EgotoolsError                    INTERNAL             1
    ├── InvalidArgumentError         INVALID_ARGUMENT     2    an invalid request or option
    │   ├── TooLargeError            RESOURCE_EXHAUSTED   2    a request with too many bytes
    │   └── StatementError           INVALID_ARGUMENT     2    a statement that a graph refuses, or that fails there
    ├── DocumentError                INVALID_ARGUMENT     3    a tool document that cannot be read
    │   └── UnknownFormatError       INVALID_ARGUMENT     3    no reader knows the format
    ├── CatalogError                 FAILED_PRECONDITION  4    no catalogue can be built: empty, or --strict
    ├── OntologyError                INVALID_ARGUMENT     5    an ontology file with faults
    ├── SourcesFileError             INVALID_ARGUMENT     5    a sources file with faults
    ├── OverlayFileError             INVALID_ARGUMENT     5    an overlay file with faults
    ├── SnapshotError                FAILED_PRECONDITION  6    a snapshot that cannot be used
    │   ├── SnapshotCorruptError     DATA_LOSS            6    incomplete, truncated or altered
    │   ├── SnapshotVersionError     FAILED_PRECONDITION  6    written in another format version
    │   ├── ModelNotAllowedError     FAILED_PRECONDITION  6    names a model that the operator has not allowed
    │   ├── StaleSnapshotError       FAILED_PRECONDITION  6    the served one is older than the one that a request asks for
    │   └── SnapshotSignatureError   FAILED_PRECONDITION  6    not signed by a key that is trusted
    ├── NotFoundError                NOT_FOUND            7    no such tool, node or snapshot
    ├── StorageError                 RESOURCE_EXHAUSTED   8    a file cannot be written: disk full, not permitted
    ├── MissingExtraError            FAILED_PRECONDITION  9    an optional dependency is not installed
    ├── ModelError                   UNAVAILABLE          10   a model is unavailable or its answer is invalid
    │   └── BudgetExceededError      RESOURCE_EXHAUSTED   11   the token or money budget is used up
    ├── DeadlineError                DEADLINE_EXCEEDED    12   the deadline of the call has passed
    ├── OverloadedError              RESOURCE_EXHAUSTED   13   too many requests at once
    ├── NotReadyError                UNAVAILABLE          14   the server has no snapshot yet, or is stopping
    ├── UnsupportedError             UNIMPLEMENTED        20   this server does not do that
    ├── ToolCallError                ABORTED              16   a tool that was called answers with an error, or not at all
    ├── UnauthenticatedError         UNAUTHENTICATED      22   a call without valid credentials
    ├── PermissionDeniedError        PERMISSION_DENIED    23   a call that its caller may not make
    └── IsolationError               FAILED_PRECONDITION  25   code that cannot be isolated here, and so was not run
"""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from ontology.redaction import redact

__all__ = [
    "BudgetExceededError",
    "CatalogError",
    "DeadlineError",
    "DocumentError",
    "EgotoolsError",
    "InvalidArgumentError",
    "IsolationError",
    "MissingExtraError",
    "ModelError",
    "ModelNotAllowedError",
    "NotFoundError",
    "NotReadyError",
    "OntologyError",
    "OverlayFileError",
    "OverloadedError",
    "PermissionDeniedError",
    "RejectionReason",
    "SnapshotCorruptError",
    "SnapshotError",
    "SnapshotSignatureError",
    "SnapshotVersionError",
    "SourcesFileError",
    "StaleSnapshotError",
    "StatementError",
    "StorageError",
    "TooLargeError",
    "ToolCallError",
    "UnauthenticatedError",
    "UnknownFormatError",
    "UnsupportedError",
    "error_from_status",
    "how_to_install",
]

_LOCKS = Path(__file__).resolve().parents[1] / "requirements"
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def how_to_install(extra: str) -> str:
    """Return what to do to get an extra, one sentence without a full stop.

    :param extra: its name in ``pyproject.toml``, and that of its lock file in ``requirements/``; ``default``: the packages of no extra.
    """
    if (_LOCKS / f"{extra}.txt").is_file():
        return f"Run in the folder of the clone: .venv/bin/python -m pip install -r requirements/{extra}.txt"
    packages = _packages(extra)
    if not packages:  # a copy of the folders that nobody installed
        return f"Install egotools with its extra {extra!r}"
    # Environments that uv made have no pip.
    here = [sys.executable, "-m", "pip", "install"]
    command = here if find_spec("pip") else ["uv", "pip", "install", "--python", sys.executable]
    return f"Run: {shlex.join([*command, *packages])}"


def _packages(extra: str) -> list[str]:
    """What the installed egotools says that an extra needs, as pip takes it: ``mcp>=2.0``."""
    try:
        stated = [line.partition(";") for line in requires("egotools") or []]
    except PackageNotFoundError:
        return []
    wanted = [] if extra == "default" else [extra]
    return [package.strip() for package, _, marker in stated if _EXTRA.findall(marker) == wanted]


class EgotoolsError(Exception):
    """The base class of all errors. What is known to be secret is taken out of problem and subject.

    :param problem: what is wrong, one sentence without a full stop.
    :param subject: where: ``path:line``, a tool id, a snapshot id, the name of a field.
    :param remedy: what to do, one sentence without a full stop.
    """

    grpc_code: ClassVar[str] = "INTERNAL"
    exit_code: ClassVar[int] = 1

    def __init__(self, problem: str, *, subject: str = "", remedy: str = "") -> None:
        self.problem = redact(problem)
        self.subject = redact(subject)
        super().__init__(self.problem)
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.subject}: {self.problem}" if self.subject else self.problem
        return f"{text}. {self.remedy}." if self.remedy else f"{text}."


class InvalidArgumentError(EgotoolsError):
    """An invalid request or option; the subject is the field."""

    grpc_code = "INVALID_ARGUMENT"
    exit_code = 2


class TooLargeError(InvalidArgumentError):
    """A request with too many bytes. Another attempt, or another replica, does not help."""

    grpc_code = "RESOURCE_EXHAUSTED"


class StatementError(InvalidArgumentError):
    """A statement in a query language that a graph refuses, or that fails there; the problem is what its writer must know to correct it."""


RejectionReason: TypeAlias = Literal[
    "dangling-link",
    "dangling-ref",
    "dangling-shape",
    "dangling-type",
    "duplicate-id",
    "empty",
    "excludes-nothing",
    "foreign-namespace",
    "hint-ignored",
    "invalid-csv",
    "invalid-json",
    "invalid-xml",
    "invalid-yaml",
    "missing",
    "missing-page",
    "no-name",
    "no-operations",
    "no-match",
    "no-signature",
    "no-value",
    "not-a-tool",
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
"""Why a document, or a record in it, is not in the catalogue. Reports count the rejected records by reason.

A new reason is added here.
"""


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
    """No reader knows the format of this document."""

    reason: RejectionReason = "unknown-format"


class CatalogError(EgotoolsError):
    """No catalogue can be built: it is empty, or records were rejected under ``--strict``."""

    grpc_code = "FAILED_PRECONDITION"
    exit_code = 4


class OntologyError(EgotoolsError):
    """An ontology file with faults; the problem lists each with its line."""

    grpc_code = "INVALID_ARGUMENT"
    exit_code = 5


class SourcesFileError(EgotoolsError):
    """A sources file with faults; the problem lists each with its line, without values."""

    grpc_code = "INVALID_ARGUMENT"
    exit_code = 5


class OverlayFileError(EgotoolsError):
    """An overlay file with faults; the problem lists each with its line."""

    grpc_code = "INVALID_ARGUMENT"
    exit_code = 5


class SnapshotError(EgotoolsError):
    """A snapshot that cannot be used; the subject is its folder."""

    grpc_code = "FAILED_PRECONDITION"
    exit_code = 6


class SnapshotCorruptError(SnapshotError):
    """A snapshot that is incomplete, truncated or altered; the subject is the file that differs from the manifest."""

    grpc_code = "DATA_LOSS"


class SnapshotVersionError(SnapshotError):
    """A snapshot in a format version that this release does not read."""


class SnapshotSignatureError(SnapshotError):
    """A snapshot that no trusted key has signed, or whose signature does not fit; the subject is its manifest."""


class ModelNotAllowedError(SnapshotError):
    """A snapshot that names a model which the operator has not allowed; nothing was loaded or contacted for it."""


class StaleSnapshotError(SnapshotError):
    """The served snapshot is older than the one that the request asks for; the subject is the id that it asks for."""


class NotFoundError(EgotoolsError):
    """No such tool, node or snapshot; the subject is its name."""

    grpc_code = "NOT_FOUND"
    exit_code = 7


class StorageError(EgotoolsError):
    """A file cannot be written: the disk is full, read-only or not permitted. Published snapshots are unchanged."""

    grpc_code = "RESOURCE_EXHAUSTED"
    exit_code = 8


class MissingExtraError(EgotoolsError):
    """An optional dependency is not installed; the remedy is the command that installs it.

    :param feature: what needs the dependency.
    :param extra: the name of the extra in ``pyproject.toml``, and of its lock file in ``requirements/``.
    """

    grpc_code = "FAILED_PRECONDITION"
    exit_code = 9

    def __init__(self, feature: str, *, extra: str) -> None:
        super().__init__(
            "an optional dependency is not installed",
            subject=feature,
            remedy=how_to_install(extra),
        )
        self.extra = extra


class ModelError(EgotoolsError):
    """A model is unavailable or slow, or its answer is invalid; the subject is its redacted address."""

    grpc_code = "UNAVAILABLE"
    exit_code = 10


class BudgetExceededError(ModelError):
    """The token or money budget is used up; finished answers are in the cache."""

    grpc_code = "RESOURCE_EXHAUSTED"
    exit_code = 11


class DeadlineError(EgotoolsError):
    """The deadline of the call has passed; later stages were not run."""

    grpc_code = "DEADLINE_EXCEEDED"
    exit_code = 12


class OverloadedError(EgotoolsError):
    """Too many requests at once; try again later.

    :param retry_after_s: seconds after which there is probably room again.
    """

    grpc_code = "RESOURCE_EXHAUSTED"
    exit_code = 13

    def __init__(self, problem: str, *, subject: str = "", remedy: str = "", retry_after_s: float = 0.1) -> None:
        super().__init__(problem, subject=subject, remedy=remedy)
        self.retry_after_s = retry_after_s


class NotReadyError(EgotoolsError):
    """The server has no snapshot yet, or is stopping. Another replica can answer, or this one later."""

    grpc_code = "UNAVAILABLE"
    exit_code = 14


class UnsupportedError(EgotoolsError):
    """This server does not do that, and will not without another configuration."""

    grpc_code = "UNIMPLEMENTED"
    exit_code = 20


class ToolCallError(EgotoolsError):
    """A tool that was called answered with an error, or could not be reached; the subject is the tool or its server."""

    grpc_code = "ABORTED"
    exit_code = (
        16  # 15: a tuning found nothing better; 17: two snapshots differ; 26: a plan is not of the whole request
    )


class UnauthenticatedError(EgotoolsError):
    """A call without credentials, or with credentials that are not valid."""

    grpc_code = "UNAUTHENTICATED"
    exit_code = 22


class PermissionDeniedError(EgotoolsError):
    """A call that its caller may not make. It does not say whether what was asked for exists."""

    grpc_code = "PERMISSION_DENIED"
    exit_code = 23


class IsolationError(EgotoolsError):
    """Code of a model cannot be isolated on this machine; it was not run."""

    grpc_code = "FAILED_PRECONDITION"
    exit_code = 25


_BY_STATUS: dict[str, type[EgotoolsError]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "NOT_FOUND": NotFoundError,
    "RESOURCE_EXHAUSTED": OverloadedError,
    "DEADLINE_EXCEEDED": DeadlineError,
    "UNAVAILABLE": NotReadyError,
    "FAILED_PRECONDITION": SnapshotError,
    "DATA_LOSS": SnapshotCorruptError,
    "UNIMPLEMENTED": UnsupportedError,
    "ABORTED": ToolCallError,
    "UNAUTHENTICATED": UnauthenticatedError,
    "PERMISSION_DENIED": PermissionDeniedError,
}


def error_from_status(code: str, problem: str, *, subject: str = "", remedy: str = "") -> EgotoolsError:
    """Return the error for a gRPC status: the most probable class among those that map to its code.

    :param code: name of the status code; a code that no class maps to gives an :class:`EgotoolsError`.
    """
    kind = _BY_STATUS.get(code, EgotoolsError)
    return kind(problem.rstrip("."), subject=subject, remedy=remedy.rstrip("."))
