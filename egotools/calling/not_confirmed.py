"""The error of a call that needs consent and has none."""

from __future__ import annotations

from egotools.client_errors import PermissionDeniedError

__all__ = ["NOT_CONFIRMED", "not_confirmed"]

NOT_CONFIRMED = "NOT_CONFIRMED"
"""Its reason, whoever calls: a gateway, a planner, an agent's framework."""


def not_confirmed(
    tool_id: str,
    problem: str = "nobody confirmed it",
    remedy: str = "Do not repeat the call unless the user asks for it.",
) -> PermissionDeniedError:
    """Return the error.

    :param problem: why there is no consent.
    """
    return PermissionDeniedError(
        f"the call may change something, and {problem}; nothing was sent",
        code="PERMISSION_DENIED",
        reason=NOT_CONFIRMED,
        subject=tool_id,
        remedy=remedy,
    )
