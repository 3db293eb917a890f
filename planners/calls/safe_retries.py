"""Retries of calls where another attempt can do no harm."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from egotools import Tool, UnavailableError
from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import ToolAnswer
from inference.retry import RetryPolicy, parse_retry_after

__all__ = ["RetryingInvoker"]

_TRANSIENT = ("429", "503")


class RetryingInvoker:
    """Calls again what only reads or is idempotent, when the server is unavailable or answers 429 or 503.

    Any other write is sent once: whether the first attempt had an effect is not known. A Retry-After longer than the policy's
    limit ends the call at once, with the answer.
    """

    def __init__(self, inner: ToolInvoker, policy: RetryPolicy | None = None) -> None:
        self._inner = inner
        self._policy = policy or RetryPolicy(max_retries=3, max_delay_s=5.0, max_retry_after_s=30.0)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`."""
        safe = tool.effect in ("read", "idempotent")
        for retry in range(self._policy.max_retries if safe else 0):
            wait_s = 0.0
            try:
                answer = await self._inner.invoke(tool, arguments)
            except UnavailableError:
                pass
            else:
                wait_s = parse_retry_after(answer.retry_after) or 0.0
                if answer.status[:3] not in _TRANSIENT or wait_s > self._policy.max_retry_after_s:
                    return answer
            await asyncio.sleep(max(wait_s, self._policy.delay_s(retry)))
        return await self._inner.invoke(tool, arguments)
