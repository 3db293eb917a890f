"""The error classes, one tree: each class maps to one gRPC status code and one exit code of the command.

An error has a *subject* (file and line, tool id, snapshot id, field), a problem and a remedy. A class that names no code has those of
the class above it.
"""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from ontology.redaction import redact

_LOCKS = Path(__file__).resolve().parents[1] / "requirements"
_MOST_CHARS = 20_000  # of a problem, which may quote a file: chosen, some hundred faults
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def how_to_install(extra: str) -> str:
    """Return what to do to get an extra, one sentence without a full stop.

    :param extra: its name in ``pyproject.toml``, and that of its lock file in ``requirements/``; ``default``: the packages of no extra.
    """
    if (_LOCKS / f"{extra}.txt").is_file():
        return f"Run in the folder of the clone: .venv/bin/python -m pip install -r requirements/{extra}.txt"
    try:
        stated = [line.partition(";") for line in requires("egotools") or []]
    except PackageNotFoundError:
        stated = []
    wanted = [] if extra == "default" else [extra]
    packages = [package.strip() for package, _, marker in stated if _EXTRA.findall(marker) == wanted]
    if not packages:  # a copy of the folders that nobody installed
        return f"Install egotools with its extra {extra!r}"
    # Environments that uv made have no pip.
    here = [sys.executable, "-m", "pip", "install"]
    command = here if find_spec("pip") else ["uv", "pip", "install", "--python", sys.executable]
    return f"Run: {shlex.join([*command, *packages])}"


class EgotoolsError(Exception):
    """The base class of all errors. What is known to be secret is taken out of problem and subject, and a long problem is cut.

    :param problem: what is wrong, one sentence without a full stop.
    :param subject: where: ``path:line``, a tool id, a snapshot id, the name of a field.
    :param remedy: what to do, one sentence without a full stop.
    """

    grpc_code: ClassVar[str] = "INTERNAL"
    exit_code: ClassVar[int] = 1

    def __init_subclass__(cls, code: str = "", exit_code: int = 0) -> None:
        cls.grpc_code = code or cls.grpc_code
        cls.exit_code = exit_code or cls.exit_code

    def __init__(self, problem: str, *, subject: str = "", remedy: str = "") -> None:
        redacted = redact(problem[: 2 * _MOST_CHARS])  # before it is cut: a shape that is cut is none
        self.problem = redacted if len(redacted) <= _MOST_CHARS else f"{redacted[:_MOST_CHARS]} …"
        self.subject = redact(subject)
        super().__init__(self.problem)
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.subject}: {self.problem}" if self.subject else self.problem
        return f"{text}. {self.remedy}." if self.remedy else f"{text}."


class InvalidArgumentError(EgotoolsError, code="INVALID_ARGUMENT", exit_code=2):
    """An invalid request or option; the subject is the field."""


class TooLargeError(InvalidArgumentError, code="RESOURCE_EXHAUSTED"):
    """A request with too many bytes. Another attempt, or another replica, does not help."""


class StatementError(InvalidArgumentError):
    """A statement in a query language that a graph refuses, or that fails there; the problem is what its writer must know to correct it."""


class DocumentError(EgotoolsError, code="INVALID_ARGUMENT", exit_code=3):
    """A tool document, or a part of it, that cannot be read; the subject is the file and, where known, the line.

    :param reason: the kind of fault, in a word or two with hyphens: reports count the rejected records by reason.
    """

    reason = "unreadable"

    def __init__(self, problem: str, *, subject: str = "", remedy: str = "", reason: str = "") -> None:
        super().__init__(problem, subject=subject, remedy=remedy)
        self.reason = reason or self.reason


class UnknownFormatError(DocumentError):
    """No reader knows the format of this document."""

    reason = "unknown-format"


class CatalogError(EgotoolsError, code="FAILED_PRECONDITION", exit_code=4):
    """No catalogue can be built: it is empty, or records were rejected under ``--strict``."""


class OntologyError(EgotoolsError, code="INVALID_ARGUMENT", exit_code=5):
    """An ontology file with faults; the problem lists each with its line."""


class SourcesFileError(EgotoolsError, code="INVALID_ARGUMENT", exit_code=5):
    """A sources file with faults; the problem lists each with its line, without values."""


class OverlayFileError(EgotoolsError, code="INVALID_ARGUMENT", exit_code=5):
    """An overlay file with faults; the problem lists each with its line."""


class SnapshotError(EgotoolsError, code="FAILED_PRECONDITION", exit_code=6):
    """A snapshot that cannot be used; the subject is its folder."""


class SnapshotCorruptError(SnapshotError, code="DATA_LOSS"):
    """A snapshot that is incomplete, truncated or altered; the subject is the file that differs from the manifest."""


class SnapshotVersionError(SnapshotError):
    """A snapshot in a format version that this release does not read."""


class SnapshotSignatureError(SnapshotError):
    """A snapshot that no trusted key has signed, or whose signature does not fit; the subject is its manifest."""


class ModelNotAllowedError(SnapshotError):
    """A snapshot that names a model which the operator has not allowed; nothing was loaded or contacted for it."""


class StaleSnapshotError(SnapshotError):
    """The served snapshot is older than the one that the request asks for; the subject is the id that it asks for."""


class NotFoundError(EgotoolsError, code="NOT_FOUND", exit_code=7):
    """No such tool, node or snapshot; the subject is its name."""


class StorageError(EgotoolsError, code="RESOURCE_EXHAUSTED", exit_code=8):
    """A file cannot be written: the disk is full, read-only or not permitted. Published snapshots are unchanged."""


class MissingExtraError(EgotoolsError, code="FAILED_PRECONDITION", exit_code=9):
    """An optional dependency is not installed; the remedy is the command that installs it.

    :param feature: what needs the dependency.
    :param extra: the name of the extra in ``pyproject.toml``, and of its lock file in ``requirements/``.
    """

    def __init__(self, feature: str, *, extra: str) -> None:
        super().__init__("an optional dependency is not installed", subject=feature, remedy=how_to_install(extra))
        self.extra = extra


class ModelError(EgotoolsError, code="UNAVAILABLE", exit_code=10):
    """A model is unavailable or slow, or its answer is invalid; the subject is its redacted address.

    :ivar status: of the HTTP answer of an endpoint that refused, which no retry changes; 0 where there was none.
    """

    status = 0

    @property
    def for_callers(self) -> str:
        """The problem without the endpoint's own words, which may name hosts and deployments or quote another request."""
        return f"the endpoint answered HTTP {self.status}" if self.status else self.problem


class BudgetExceededError(ModelError, code="RESOURCE_EXHAUSTED", exit_code=11):
    """The token or money budget is used up; finished answers are in the cache."""


class DeadlineError(EgotoolsError, code="DEADLINE_EXCEEDED", exit_code=12):
    """The deadline of the call has passed; later stages were not run."""


class OverloadedError(EgotoolsError, code="RESOURCE_EXHAUSTED", exit_code=13):
    """Too many requests at once; try again later.

    :param retry_after_s: seconds after which there is probably room again.
    """

    def __init__(self, problem: str, *, subject: str = "", remedy: str = "", retry_after_s: float = 0.1) -> None:
        super().__init__(problem, subject=subject, remedy=remedy)
        self.retry_after_s = retry_after_s


class NotReadyError(EgotoolsError, code="UNAVAILABLE", exit_code=14):
    """The server has no snapshot yet, or is stopping. Another replica can answer, or this one later."""


# 15: a tuning found nothing better; 17: two snapshots differ; 26: a plan is not of the whole request.


class ToolCallError(EgotoolsError, code="ABORTED", exit_code=16):
    """A tool that was called answered with an error, or could not be reached; the subject is the tool or its server."""


class UnsupportedError(EgotoolsError, code="UNIMPLEMENTED", exit_code=20):
    """This server does not do that, and will not without another configuration."""


class UnauthenticatedError(EgotoolsError, code="UNAUTHENTICATED", exit_code=22):
    """A call without credentials, or with credentials that are not valid."""


class PermissionDeniedError(EgotoolsError, code="PERMISSION_DENIED", exit_code=23):
    """A call that its caller may not make. It does not say whether what was asked for exists."""


class IsolationError(EgotoolsError, code="FAILED_PRECONDITION", exit_code=25):
    """Code of a model cannot be isolated on this machine; it was not run."""


# The most probable class of each code.
_BY_STATUS: dict[str, type[EgotoolsError]] = {
    kind.grpc_code: kind
    for kind in (
        *(InvalidArgumentError, NotFoundError, OverloadedError, DeadlineError, NotReadyError, SnapshotError),
        *(SnapshotCorruptError, UnsupportedError, ToolCallError, UnauthenticatedError, PermissionDeniedError),
    )
}


def error_from_status(code: str, problem: str, *, subject: str = "", remedy: str = "") -> EgotoolsError:
    """Return the error for a gRPC status: the most probable class among those that map to its code.

    :param code: name of the status code; a code that no class maps to gives an :class:`EgotoolsError`.
    """
    kind = _BY_STATUS.get(code, EgotoolsError)
    return kind(problem.rstrip("."), subject=subject, remedy=remedy.rstrip("."))
