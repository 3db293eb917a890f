"""The body of an answer as JSON values, whatever the protocol brought it in."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from egotools.calling.tool_answer import ToolAnswer

__all__ = ["of_http", "of_mcp"]


def of_http(answer: ToolAnswer) -> ToolAnswer:
    """Return an answer over HTTP with its body as JSON values, else as text, else as base64; None for an empty one."""
    body: Any = None
    if answer.body:
        try:
            body = answer.body.decode("utf-8")
        except UnicodeDecodeError:
            body = base64.b64encode(answer.body).decode("ascii")
        else:
            body = _json_or_text(body)
    return replace(answer, body=body)


def of_mcp(answer: ToolAnswer) -> ToolAnswer:
    """Return an answer of MCP with the value that the tool gave: its structured content, else its one text, else its texts."""
    result = answer.body if isinstance(answer.body, Mapping) else {}
    structured = result.get("structuredContent")
    if structured is not None:
        return replace(answer, body=_json_or_text(json.dumps(structured)))
    parts = [part for part in result.get("content", ()) if isinstance(part, Mapping)]
    values = [_json_or_text(part["text"]) if isinstance(part.get("text"), str) else dict(part) for part in parts]
    return replace(answer, body=values[0] if len(values) == 1 else values or None)


def _json_or_text(text: str) -> Any:
    """Numbers that JSON does not have (NaN, Infinity) are null, and lone surrogates are replaced: neither can be sent on."""
    try:
        value = json.loads(text, parse_constant=lambda name: None, parse_float=_finite)
        if "\\u" in text or not text.isascii():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        return value
    except (ValueError, RecursionError):
        return text.encode("utf-8", "replace").decode("utf-8")


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None
