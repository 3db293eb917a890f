"""The seam through which planners call tools: the invoker, the answer of a tool, and answers without the secrets of their call."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol, TypeVar

from egotools.calling.call_credentials import Credential
from egotools.client_errors import ClientDeadlineError, OverloadedError, UnavailableError
from egotools.values import Tool

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "TIMEOUT_S",
    "TOO_DEEP",
    "KnownSecrets",
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


_SHORTEST = 8  # characters; a shorter one also stands in answers by chance
_PIECE_BYTES = 2**18
_MOST_ESCAPED = 19  # bytes that stand for one: a percent sign, eight times 25, two digits
_HIDDEN = "[credential]"
_ESCAPED = re.compile(
    rb"%(?:25){0,8}[0-9A-Fa-f]{2}"
    rb"|\\+(?:u([dD][89abAB][0-9A-Fa-f]{2})\\+u([dD][c-fC-F][0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|[\"\\/])"
)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)\s+", re.IGNORECASE)


class KnownSecrets:
    """The credentials of some calls, found also where they are percent-encoded, escaped as in JSON, or in base64.

    One that a server transforms in another way, or sends back in parts, is not found. The time is linear in the length of an answer.

    :param credentials: keys, tokens, values of headers or variables, and pairs of user and password. Shorter than 8 characters
        they are left out.
    """

    def __init__(self, credentials: Iterable[Credential]) -> None:
        found = {text for each in credentials for text in _texts(each) if len(text) >= _SHORTEST}
        longest_first = sorted(found, key=lambda text: (-len(text), text))
        self._plain = list(dict.fromkeys(form for text in longest_first for form in _plain(text)))
        self._decoded = list(dict.fromkeys(form for text in longest_first for form in _unescaped(text)))
        self._beyond = _MOST_ESCAPED * max(map(len, self._decoded), default=0)
        self._piece = max(_PIECE_BYTES, 2 * self._beyond)
        self._shortest = min(map(len, (*self._plain, *self._decoded)), default=0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def without(self, answer: ToolAnswer) -> ToolAnswer:
        """Return the answer without them; what is nested more than 100 levels deep in it is left out."""
        if not self._plain:
            return answer
        return replace(answer, status=self.without_in(answer.status), body=self.without_in(answer.body))

    def without_in(self, value: Any) -> Any:
        """Return JSON values, a text or bytes without them."""
        return self._cleaned(value, 0) if self._plain else value

    def _cleaned(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._cleaned_text(value) if len(value) >= self._shortest else value
        if isinstance(value, bytes):
            return self._cleaned_text(value.decode("latin-1")).encode("latin-1")
        if not isinstance(value, Mapping | list | tuple):
            return value
        if depth >= MAX_DEPTH:
            return TOO_DEEP
        if isinstance(value, Mapping):
            return {self._cleaned(key, depth): self._cleaned(inner, depth + 1) for key, inner in value.items()}
        return [self._cleaned(inner, depth + 1) for inner in value]

    def _cleaned_text(self, text: str) -> str:
        for form in self._plain:
            text = text.replace(form, _HIDDEN)
        if "%" not in text and "\\" not in text:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        spans = _joined([span for start in range(0, len(raw), self._piece) for span in self._spans(raw, start)])
        if not spans:
            return text
        kept, last = [], 0
        for start, end in spans:
            kept.append(raw[last:start])
            last = end
        return _HIDDEN.encode().join([*kept, raw[last:]]).decode("utf-8", "surrogatepass")

    def _spans(self, raw: bytes, start: int) -> Iterator[tuple[int, int]]:
        """Yield where credentials stand that begin in a piece of a text: of all of it the places would take much memory."""
        decoded, at_decoded, at_raw = _decoded(raw[start : start + self._piece + self._beyond])
        for form in self._decoded:
            for at in _places(decoded, form):
                first, end = (_place(each, at_decoded, at_raw) for each in (at, at + len(form)))
                yield start + first, start + end


def _decoded(raw: bytes) -> tuple[bytes, list[int], list[int]]:
    """Undo escapes of URLs and of JSON; also return where the unescaped parts begin, in what is returned and in what was given.

    Each token is one of Python's steps, so another thread is never kept waiting for all of a long text.
    """
    parts: list[bytes] = []
    at_decoded, at_raw = [0], [0]
    length, last = 0, 0
    for token in _ESCAPED.finditer(raw):
        start, end = token.span()
        made = _character(token)
        parts += (raw[last:start], made)
        length += start - last
        at_decoded += (length, length + len(made))
        at_raw += (start, end)
        length += len(made)
        last = end
    parts.append(raw[last:])
    return b"".join(parts), at_decoded, at_raw


def _character(token: re.Match[bytes]) -> bytes:
    text = token[0]
    if text.startswith(b"%"):
        return bytes((int(text[-2:], 16),))
    units = [int(unit, 16) for unit in token.groups() if unit]
    if not units:
        return text[-1:]
    raw = b"".join(unit.to_bytes(2, "big") for unit in units)
    return raw.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")


def _place(at: int, at_decoded: list[int], at_raw: list[int]) -> int:
    """The place in the given text of one in the unescaped text; no credential begins or ends within an escaped character."""
    part = bisect_right(at_decoded, at) - 1
    return at_raw[part] + at - at_decoded[part]


def _places(text: bytes, form: bytes) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + len(form))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in their order, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _texts(credential: Credential) -> Iterator[str]:
    """The texts by which a credential may come back."""
    pair = tuple(credential.split(":", 1)) if isinstance(credential, str) else credential
    whole = [_SCHEME.sub("", credential, count=1), credential] if isinstance(credential, str) else []
    for text in (*whole, *pair[1:], ":".join(pair)):
        yield text
        yield from _in_base64(text)


def _in_base64(text: str) -> Iterator[str]:
    raw = text.encode("utf-8", "replace")
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        yield encoded.decode("ascii")
        yield encoded.decode("ascii").rstrip("=")


def _plain(text: str) -> tuple[str, ...]:
    bytes_as_text = text.encode("utf-8", "replace").decode("latin-1")
    return text, text.replace(" ", "+"), bytes_as_text


def _unescaped(text: str) -> Iterator[bytes]:
    """The forms of a credential in a text whose escapes are undone; it may have what looks like one itself."""
    for form in _plain(text):
        yield _decoded(form.encode("utf-8", "replace"))[0]
