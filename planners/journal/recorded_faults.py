"""Errors as JSON values in a journal, and raised again: those of a store or a sandbox, and those of a server or a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ontology.errors
from egotools.client_errors import ClientError, client_error_of
from ontology.errors import EgotoolsError, InvalidArgumentError

__all__ = ["client_fault", "client_fault_json", "fault_json", "not_recorded", "raise_fault"]

_FIELDS = ("problem", "subject", "remedy")
_CLIENT_FIELDS = ("reason", "subject", "remedy")


def fault_json(error: EgotoolsError) -> dict[str, str]:
    """Return an error as JSON values."""
    return {"error": type(error).__name__, **{name: getattr(error, name) for name in _FIELDS}}


def raise_fault(given: Mapping[str, Any]) -> None:
    """Raise the error of these JSON values, where they are those of one. Its class is that of the name, where there is one."""
    if "error" not in given:
        return
    kind = getattr(ontology.errors, str(given["error"]), EgotoolsError)
    if not (isinstance(kind, type) and issubclass(kind, EgotoolsError)):
        kind = EgotoolsError
    error = kind.__new__(kind)  # constructors of some classes take other arguments
    EgotoolsError.__init__(error, given["problem"], subject=given["subject"], remedy=given["remedy"])
    raise error


def not_recorded(problem: str, *, subject: str) -> InvalidArgumentError:
    """Return the error of a replay that goes another way than its journal."""
    return InvalidArgumentError(problem, subject=subject, remedy="Replay with the release that wrote it")


def client_fault_json(error: ClientError) -> dict[str, str]:
    """Return an error of a server or a tool as JSON values."""
    return {
        "code": error.code,
        "message": error.message,
        **{name: getattr(error, name) for name in _CLIENT_FIELDS},
    }


def client_fault(given: Mapping[str, Any]) -> ClientError:
    """Return the error of these JSON values. A field that is missing is empty."""
    details = {name: str(given.get(name, "")) for name in _CLIENT_FIELDS}
    return client_error_of(str(given.get("code", "")), str(given.get("message", "")), **details)
