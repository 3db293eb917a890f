"""The seam through which planners call tools: the invoker, and the answer of a tool."""

from __future__ import annotations

import asyncio
import base64
import json
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol, TypeVar

from egotools.client_errors import ClientDeadlineError, OverloadedError, UnavailableError
from egotools.values import Tool

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "TIMEOUT_S",
    "TOO_DEEP",
    "ToolAnswer",
    "ToolInvoker",
    "compressed",
    "of_http",
    "of_mcp",
    "off_loop",
    "too_large",
    "too_slow",
    "unreachable",
]

_LARGE_BYTES = 64 * 2**10
_THREADS = 2  # more would only share one interpreter; not the loop's own, which resolves names
_T = TypeVar("_T")


async def off_loop(size: int, work: Callable[..., _T], *arguments: Any) -> _T:
    """Return what a function returns; it is called in a thread where it works on more than 64 KiB.

    :param size: bytes of what it works on.
    """
    if size <= _LARGE_BYTES:
        return work(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_threads(), work, *arguments)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="answer")


TIMEOUT_S = 30.0
"""Seconds for a call, from its connection to the last byte of the answer."""
MAX_BYTES = 10 * 2**20
"""Bytes of an answer that are taken."""
MAX_DEPTH = 100
"""Levels of JSON values that are walked."""
TOO_DEEP = f"[nested more than {MAX_DEPTH} levels deep]"
"""Stands for what is deeper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool answered.

    :param ok: whether the tool did what it was asked.
    :param status: in a word or two: ``200 OK``, ``error``, …
    :param media_type: of an answer over HTTP, or empty.
    :param body: bytes of an answer over HTTP, else JSON values.
    :param retry_after: the header Retry-After of an answer over HTTP, or empty.
    :param size: bytes of the answer as it arrived, where whoever sent the call counted them; else 0.
    :param notes: what a reader of the answer is to know, one sentence each; never texts of the server.
    """

    ok: bool
    status: str
    media_type: str = ""
    body: Any = field(default=b"", repr=False)
    retry_after: str = ""
    size: int = field(default=0, compare=False)
    notes: tuple[str, ...] = ()


def too_slow(subject: str, timeout_s: float) -> ClientDeadlineError:
    """Return the error of a call that takes too long; its effect is not known."""
    return ClientDeadlineError(
        f"the answer was not complete within {timeout_s:g} s; the tool may have done its work",
        code="DEADLINE_EXCEEDED",
        subject=subject,
        remedy="Look whether it did before you call it again.",
    )


def too_large(subject: str, max_bytes: int) -> OverloadedError:
    """Return the error of an answer above the limit."""
    return OverloadedError(
        f"the answer has more than {max_bytes:,} bytes",
        code="RESOURCE_EXHAUSTED",
        subject=subject,
        remedy="Ask for less, or take more bytes.",
    )


def compressed(subject: str) -> UnavailableError:
    """Return the error of an answer that is compressed: a few bytes could become any number."""
    return UnavailableError(
        "the server compressed its answer, although it was asked not to; the tool may have done its work",
        code="UNAVAILABLE",
        subject=subject,
        remedy="Let the server answer without Content-Encoding.",
    )


def unreachable(subject: str, why: str) -> UnavailableError:
    """Return the error of a server that does not answer."""
    return UnavailableError(
        f"the server cannot be reached or broke off ({why})",
        code="UNAVAILABLE",
        subject=subject,
        remedy="Check the address and that the server runs.",
    )


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


class ToolInvoker(Protocol):
    """Calls a tool. May be used by several tasks at once."""

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool and return its answer, the body as JSON values; also of a call that the tool refused (``ok`` is False).

        :param arguments: JSON values by the names of the tool's input schema.
        :raises ToolRequestError: when no request can be made of the arguments.
        :raises ClientError: when there is no answer: unreachable, too slow, too large.
        :raises PermissionDeniedError: when the call changes something and nobody confirmed it.
        """
        ...
