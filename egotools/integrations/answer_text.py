"""What a model is shown of a tool's answer, and what the next search is told of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from egotools.calling.answer_fence import fenced, shown_answer_text
from egotools.calling.call_credentials import Credential
from egotools.calling.known_secrets import KnownSecrets
from egotools.calling.tool_answer import ToolAnswer

__all__ = ["answer_text", "answered_names"]

_MAX_NAME = 256  # of `have`, as the server takes them


def answer_text(tool_id: str, answer: ToolAnswer, credentials: Iterable[Credential], max_bytes: int) -> str:
    """Return an answer for a model: bounded, between marks, without the credentials of the call."""
    shown = KnownSecrets(credentials).without(replace(answer, body=_values(answer.body)))
    text, left_out = shown_answer_text(shown, max_bytes)
    notes = (f"Only the first {max_bytes:,} bytes are shown; {left_out:,} are left out.",) if left_out else ()
    return fenced(text, tool_id=tool_id, status=shown.status, notes=notes)


def answered_names(answer: ToolAnswer) -> tuple[str, ...]:
    """Return the names of the plain values that an answer holds."""
    body = _values(answer.body)
    names = body.items() if isinstance(body, Mapping) else ()
    plain = [name for name, value in names if value is not None and not isinstance(value, list | Mapping)]
    return tuple(name for name in plain if 0 < len(name) <= _MAX_NAME)


def _values(body: Any) -> Any:
    """JSON values of an answer over HTTP or MCP, else its text, else its bytes."""
    if isinstance(body, Mapping):
        return body.get("structuredContent") or body.get("content")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return body
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
