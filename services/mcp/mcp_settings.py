"""What an MCP server offers, and its limits."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["McpSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """Chosen by the operator.

    :param pins: ids of tools that are always listed.
    :param append_only: whether tools that a session finds are listed from then on, at the end.
    :param watch_s: seconds between two looks at the snapshot of the gRPC server.
    :param question_s: seconds in which a user may answer a question.
    :param max_calls: calls of one session at once; more are refused.
    :param max_listed: found tools that a session lists at most; later ones are not listed.
    """

    pins: tuple[str, ...] = ()
    append_only: bool = False
    watch_s: float = 2.0
    question_s: float = 300.0
    max_calls: int = 16
    max_listed: int = 100
