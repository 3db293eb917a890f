"""Consent: each call is made, asked about or refused, as the policy of the operator says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from egotools import PermissionDeniedError, Tool
from egotools.calling.invoker import ToolInvoker
from egotools.calling.live_tool import StrongerEffectError
from egotools.calling.not_confirmed import not_confirmed
from egotools.calling.tool_answer import ToolAnswer
from planners.calls.call_policy import CallPolicy, Decision

__all__ = ["Ask", "ConsentingInvoker", "always", "never"]

Ask: TypeAlias = Callable[[Tool, Mapping[str, Any]], Awaitable[bool]]
"""Whether a call may be made: of a terminal, of a page, or :func:`always` and :func:`never`."""
LookUp: TypeAlias = Callable[[Tool, Mapping[str, Any]], Awaitable[Tool]]
"""Returns a tool as its server has it now, before anybody is asked about a call with these arguments."""

_DEFAULT = CallPolicy()


async def always(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Allow every call that is asked about."""
    return True


async def never(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Allow no call that is asked about."""
    return False


class ConsentingInvoker:
    """Makes the calls that a policy allows, and asks before those that it asks about. One question is open at a time.

    A tool whose server says now that it does more than the catalogue has it is decided about again.
    """

    def __init__(
        self, inner: ToolInvoker, ask: Ask, policy: CallPolicy = _DEFAULT, look_up: LookUp | None = None
    ) -> None:
        self._inner = inner
        self._ask = ask
        self._policy = policy
        self._look_up = look_up
        self._one_question = asyncio.Lock()

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`.

        :raises PermissionDeniedError: when the policy refuses the call (reason ``CALL_DENIED``), or nobody confirmed it
            (``NOT_CONFIRMED``); nothing is sent.
        """
        asked = False
        if self._decision(tool) == "ask":
            if self._look_up is not None:
                tool = await self._look_up(tool, arguments)
            asked = await self._settled(tool, arguments)
        try:
            return await self._inner.invoke(tool, arguments)
        except StrongerEffectError as error:  # the tool is not what the policy has decided about
            now = error.tool
        if self._decision(now) == "ask" and not asked:
            await self._settled(now, arguments)
        return await self._inner.invoke(now, arguments)

    def _decision(self, tool: Tool) -> Decision:
        decision = self._policy.decision(tool)
        if decision == "deny":
            raise _call_denied(tool.id)
        return decision

    async def _settled(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Ask about a call where the policy says so; return whether that was done."""
        if self._decision(tool) != "ask":
            return False
        async with self._one_question:
            allowed = await self._ask(tool, arguments)
        if not allowed:
            raise not_confirmed(tool.id)
        return True


def _call_denied(tool_id: str) -> PermissionDeniedError:
    """Return the error of a call that the policy refuses."""
    return PermissionDeniedError(
        "the policy of the operator refuses calls of this tool; nothing was sent",
        code="PERMISSION_DENIED",
        reason="CALL_DENIED",
        subject=tool_id,
        remedy="Ask the operator to allow it, or leave the call out.",
    )
