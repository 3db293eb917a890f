"""Limits of all calls of a run together: their number, the bytes of their answers, the seconds since the first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from egotools import OverloadedError, Tool
from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import ToolAnswer

__all__ = ["CallLimits", "LimitedInvoker"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """None: no limit.

    :param calls: attempts too, where this stands below retries.
    :param answer_bytes: of all answers; the one that goes beyond it is still taken.
    :param seconds: from the first call on; a call in flight then is given up.
    """

    calls: int | None = None
    answer_bytes: int | None = None
    seconds: float | None = None


class LimitedInvoker:
    """Refuses the calls of a run that is above a limit."""

    def __init__(self, inner: ToolInvoker, limits: CallLimits) -> None:
        self._inner = inner
        self._limits = limits
        self._started_s: float | None = None
        self.calls = 0
        self.answer_bytes = 0

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`.

        :raises OverloadedError: when a limit of the run is reached.
        """
        limits = self._limits
        if limits.calls is not None and self.calls >= limits.calls:
            raise _used_up(tool, f"{limits.calls:,} calls")
        if limits.answer_bytes is not None and self.answer_bytes >= limits.answer_bytes:
            raise _used_up(tool, f"{limits.answer_bytes:,} bytes of answers")
        now = time.monotonic()
        self._started_s = now if self._started_s is None else self._started_s
        left_s = None if limits.seconds is None else self._started_s + limits.seconds - now
        if left_s is not None and left_s <= 0:
            raise _used_up(tool, f"{limits.seconds:g} seconds")
        self.calls += 1
        deadline = asyncio.timeout(left_s)
        try:
            async with deadline:
                answer = await self._inner.invoke(tool, arguments)
        except TimeoutError:
            if deadline.expired():
                raise _used_up(tool, f"{limits.seconds:g} seconds") from None
            raise
        self.answer_bytes += answer.size
        return answer


def _used_up(tool: Tool, limit: str) -> OverloadedError:
    return OverloadedError(
        f"the run has used up its limit of {limit}",
        code="RESOURCE_EXHAUSTED",
        reason="RUN_LIMIT",
        subject=tool.id,
        remedy="Ask for less, or raise the limit.",
    )
