"""What ``egotools call`` shows: the request without its credentials, and the answer without control characters."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from egotools.calling.answer_fence import binary_size
from egotools.calling.tool_answer import ToolAnswer
from egotools.calling.tool_request import AwsCall, McpCall, PythonCall, ToolRequest
from planners.calls.untrusted import fence_answer
from services.cli.printable import printable

if TYPE_CHECKING:
    from egotools.calling.http_call import ToolHttpRequest

__all__ = ["shown_answer", "shown_request"]

_MAX_SHOWN = 20_000
_QUIET_HEADERS = ("host", "content-length")


def shown_request(request: ToolRequest, base_url: str = "") -> dict[str, Any]:
    """Return the request as JSON values (``request``) and as text for people (``text``); credentials are ``***``."""
    if isinstance(request, McpCall):
        row = {"mcp_session": request.session, "tool": request.tool, "arguments": _plain(request.arguments)}
        return {"request": row, "text": printable(f"MCP tool {request.tool}\n\n{_pretty(row['arguments'])}")}
    if isinstance(request, AwsCall):
        endpoint = f" at {base_url}" if base_url else ""
        row = {"service": request.service, "operation": request.operation, "arguments": _plain(request.arguments)}
        title = f"AWS {request.service} {request.operation}{endpoint}"
        return {"request": row, "text": printable(f"{title}\n\n{_pretty(row['arguments'])}")}
    if isinstance(request, PythonCall):
        row = {"function": request.function, "arguments": _plain(request.arguments)}
        return {"request": row, "text": printable(f"Python {request.function}\n\n{_pretty(row['arguments'])}")}
    return _shown_http(request)  # type: ignore[arg-type]


def shown_answer(answer: ToolAnswer, tool_id: str) -> dict[str, Any]:
    """Return the answer as JSON values: whole (``body``, or ``body_base64`` of binary data), and as the ``text`` that models are shown
    of it too: fenced, at most 64 KiB, with the ``flags`` of what reads like an instruction.

    :param answer: its body as JSON values.
    """
    shown = fence_answer(answer, tool_id=tool_id)
    row: dict[str, Any] = {"ok": answer.ok, "status": answer.status, "text": printable(shown.text)}
    if shown.flags:
        row["flags"] = [flag._asdict() for flag in shown.flags]
    if answer.media_type:
        row["media_type"] = answer.media_type
    is_binary = isinstance(answer.body, str) and binary_size(answer.body, answer.media_type) is not None
    return {**row, "body_base64" if is_binary else "body": _plain(answer.body)}


def _shown_http(request: ToolHttpRequest) -> dict[str, Any]:
    headers = [(name, value) for name, value in request.public_headers() if name.lower() not in _QUIET_HEADERS]
    body = request.read().decode("utf-8", "replace")
    row = {"method": request.method, "url": request.public_url, "headers": dict(headers), "body": body}
    lines = [f"{request.method} {request.public_url}", *(f"{name}: {value}" for name, value in headers)]
    shown = body if len(body) <= _MAX_SHOWN else f"{body[:_MAX_SHOWN]}… ({len(body):,} characters)"
    return {"request": row, "text": printable("\n".join([*lines, "", shown] if body else lines))}


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _plain(value: Any) -> Any:
    """Return the value as JSON: bytes in base64, dates and the like as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
