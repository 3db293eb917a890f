"""A tool of an MCP server as the server lists it now, with limits: a list may be of anybody's writing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from egotools.calling.not_confirmed import NOT_CONFIRMED
from egotools.calling.tool_answer import MAX_DEPTH
from egotools.client_errors import OverloadedError, PermissionDeniedError
from egotools.values import Tool

__all__ = ["LiveTool", "StrongerEffectError", "check_size", "live_effect", "stronger_effect"]

_MAX_SCHEMA_BYTES = 256 * 2**10
_MAX_PROPERTIES = 1_000
_EFFECTS = ("read", "idempotent", "change")  # the weakest first


class LiveTool(NamedTuple):
    """What the server says of a tool.

    :param input_schema: JSON Schema of its arguments.
    :param effect: ``read``, ``idempotent`` or ``change``, by its annotations.
    """

    input_schema: dict[str, Any]
    effect: str


class StrongerEffectError(PermissionDeniedError):
    """By its server a tool does more now than the catalogue says. Whoever may decide is asked about :attr:`tool`; nothing was sent.

    :param tool: with the effect that the server states.
    """

    def __init__(self, tool: Tool) -> None:
        super().__init__(
            "its server does not say any more that it does as little as the catalogue has it, so the call may change something and"
            " needs consent; nothing was sent",
            code="PERMISSION_DENIED",
            reason=NOT_CONFIRMED,
            subject=tool.id,
            remedy="Confirm the call, or let the catalogue be built again.",
        )
        self.tool = tool


def live_effect(annotations: Mapping[str, Any]) -> str:
    """Return the effect that the annotations of a tool state; what they do not say counts as a change."""
    if annotations.get("readOnlyHint") is True and annotations.get("destructiveHint") is not True:
        return "read"
    return "idempotent" if annotations.get("idempotentHint") is True else "change"


def stronger_effect(one: str, other: str) -> str:
    """Return the effect that does more; an empty one is not known and counts as a change."""
    return max(one or "change", other or "change", key=_EFFECTS.index)


def check_size(schema: Mapping[str, Any], tool: str) -> None:
    """Check the limits of an input schema; it is walked no further than they go.

    :raises OverloadedError: above 256 KiB, 1,000 properties or 100 levels.
    """
    left, properties = _MAX_SCHEMA_BYTES, 0
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            left -= len(value.encode("utf-8", "replace")) + 2
        elif isinstance(value, Mapping):
            stated = value.get("properties")
            properties += len(stated) if isinstance(stated, Mapping) else 0
            left -= 2 * len(value) + 2
            if left >= 0:
                waiting += [(part, depth + 1) for pair in value.items() for part in pair]
        elif isinstance(value, list):
            left -= len(value) + 2
            if left >= 0:
                waiting += [(inner, depth + 1) for inner in value]
        else:
            left -= 4 + (value.bit_length() // 3 if isinstance(value, int) else 0)
        if left < 0:
            raise _too_large(tool, f"{_MAX_SCHEMA_BYTES // 2**10} KiB")
        if properties > _MAX_PROPERTIES:
            raise _too_large(tool, f"{_MAX_PROPERTIES:,} properties")
        if depth > MAX_DEPTH:
            raise _too_large(tool, f"{MAX_DEPTH} levels")


def _too_large(tool: str, limit: str) -> OverloadedError:
    return OverloadedError(
        f"the input schema that the MCP server lists has more than {limit}; nothing was sent",
        code="RESOURCE_EXHAUSTED",
        reason="SCHEMA_TOO_LARGE",
        subject=tool,
        remedy="Use another tool; who runs the server makes its schema smaller.",
    )
