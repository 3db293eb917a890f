"""Who makes a call, and what it may do and see."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["ANYBODY", "Caller", "Role", "current_caller", "set_caller"]

Role: TypeAlias = Literal["read", "admin", "metrics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity of a call, after authentication.

    :param name: of the subject, for the logs; empty for an anonymous caller.
    :param roles: what it may do.
    :param tenants: the tenants it may use; None for all.
    :param filters: metadata key → allowed values, as in ``RetrieveRequest.filters``: the tools that exist for this caller.
    """

    name: str = ""
    roles: frozenset[Role] = frozenset()
    tenants: frozenset[str] | None = None
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def home(self) -> str:
        """The only tenant that it may use; empty where there are several, or all."""
        return next(iter(self.tenants)) if self.tenants is not None and len(self.tenants) == 1 else ""


ANYBODY = Caller(roles=frozenset({"read", "admin", "metrics"}))
"""The caller of a server without access control."""


_CURRENT: ContextVar[Caller] = ContextVar("egotools_caller", default=ANYBODY)


def set_caller(caller: Caller) -> None:
    """Say who makes the current call; before anything else of the call runs."""
    _CURRENT.set(caller)


def current_caller() -> Caller:
    """Return who makes the current call."""
    return _CURRENT.get()
