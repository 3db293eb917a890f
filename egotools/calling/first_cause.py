"""The error behind a group of errors."""

from __future__ import annotations

__all__ = ["first_cause"]


def first_cause(error: BaseException) -> BaseException:
    """The first error that is no group: of several tasks, or of several addresses of one host, each may have failed."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
