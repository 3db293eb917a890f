"""Errors of a store or a sandbox as JSON values in a journal, and raised again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ontology.errors
from ontology.errors import EgotoolsError

__all__ = ["fault_json", "raise_fault"]

_TOLD = ("problem", "subject", "remedy")


def fault_json(error: EgotoolsError) -> dict[str, str]:
    """Return an error as JSON values."""
    return {"error": type(error).__name__, **{name: getattr(error, name) for name in _TOLD}}


def raise_fault(given: Mapping[str, Any]) -> None:
    """Raise the error of these JSON values, where they are those of one. Its class is that of the name, where there is one."""
    if "error" not in given:
        return
    kind = getattr(ontology.errors, str(given["error"]), EgotoolsError)
    if not (isinstance(kind, type) and issubclass(kind, EgotoolsError)):
        kind = EgotoolsError
    raise kind(given["problem"], subject=given["subject"], remedy=given["remedy"])
