"""Calling operations of AWS services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egotools.calling.send_aws import send_aws
from egotools.calling.tool_answer import MAX_BYTES, TIMEOUT_S, ToolAnswer
from egotools.calling.tool_request import AwsCall
from egotools.client_errors import ToolRequestError
from egotools.values import Tool

__all__ = ["AwsInvoker"]


class AwsInvoker:
    """Calls operations with the credentials and the region that botocore finds.

    :param endpoint_url: instead of the services' own.
    """

    def __init__(self, *, endpoint_url: str = "", timeout_s: float = TIMEOUT_S, max_bytes: int = MAX_BYTES) -> None:
        self._endpoint_url = endpoint_url
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`egotools.calling.invoker.ToolInvoker`; the values of the body may be dates and bytes, as botocore gives them."""
        request = tool.request(arguments)
        if not isinstance(request, AwsCall):
            raise ToolRequestError("this tool is not of AWS", subject=tool.id, remedy="Call it by its protocol.")
        return await send_aws(
            request, endpoint_url=self._endpoint_url, timeout_s=self._timeout_s, max_bytes=self._max_bytes
        )
