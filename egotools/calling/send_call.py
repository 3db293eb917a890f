"""Sending one call, with a deadline for the whole of it and a limit of the answer's size.

For programs that have no client of their own. Nothing is tried again, and no redirect is followed: it could take a credential to
another server.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from egotools.calling.send_aws import send_aws
from egotools.calling.send_mcp import send_mcp
from egotools.calling.tool_answer import MAX_BYTES, TIMEOUT_S, ToolAnswer, too_large, too_slow, unreachable

if TYPE_CHECKING:
    import httpx

__all__ = ["MAX_BYTES", "TIMEOUT_S", "ToolAnswer", "send_aws", "send_http", "send_mcp"]

_HTTP_ERROR = 400


async def send_http(request: httpx.Request, *, timeout_s: float = TIMEOUT_S, max_bytes: int = MAX_BYTES) -> ToolAnswer:
    """Send a request over HTTP.

    :raises ClientDeadlineError: when the answer is not complete in time.
    :raises OverloadedError: when the answer has more bytes.
    :raises UnavailableError: when the server cannot be reached or breaks off.
    """
    import httpx

    host = request.url.host
    try:
        async with asyncio.timeout(timeout_s), httpx.AsyncClient(follow_redirects=False, timeout=timeout_s) as client:
            response = await client.send(request, stream=True)
            try:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > max_bytes:
                        raise too_large(host, max_bytes)
            finally:
                await response.aclose()
    except (TimeoutError, httpx.TimeoutException):
        raise too_slow(host, timeout_s) from None
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
        # The texts of httpx may hold the URL, and it the key of the caller: the kind of the error is said, no more.
        raise unreachable(host, type(error).__name__) from None
    return ToolAnswer(
        ok=response.status_code < _HTTP_ERROR,
        status=f"{response.status_code} {response.reason_phrase}".strip(),
        media_type=response.headers.get("content-type", "").partition(";")[0].strip(),
        body=bytes(body),
    )
