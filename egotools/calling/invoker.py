"""The seam through which planners call tools: the invoker, the answer of a tool, and answers without the secrets of their call."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from egotools.calling.call_credentials import Credential
from egotools.client_errors import ClientDeadlineError, OverloadedError, UnavailableError
from egotools.values import Tool

TIMEOUT_S = 30.0
"""Seconds for a call, from its connection to the last byte of the answer."""
MAX_BYTES = 10 * 2**20
"""Bytes of an answer that are taken."""
MAX_DEPTH = 100
"""Levels of JSON values that are walked."""
TOO_DEEP = f"[nested more than {MAX_DEPTH} levels deep]"
"""Stands for what is deeper."""
_LARGE_BYTES = 64 * 2**10
_THREADS = ThreadPoolExecutor(2, "answer")  # more would only share one interpreter; the loop's own resolves names
_T = TypeVar("_T")


async def off_loop(size: int, work: Callable[..., _T], *arguments: Any) -> _T:
    """Return what a function returns; it is called in a thread where it works on more than 64 KiB, of which ``size`` are the bytes."""
    if size <= _LARGE_BYTES:
        return work(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work, *arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool answered."""

    ok: bool  # whether the tool did what it was asked
    status: str  # in a word or two: ``200 OK``, ``error``, …
    media_type: str = ""  # of an answer over HTTP
    body: Any = field(default=b"", repr=False)  # bytes of an answer over HTTP, else JSON values
    retry_after: str = ""  # the header Retry-After of an answer over HTTP
    size: int = field(default=0, compare=False)  # bytes as it arrived, where whoever sent the call counted them
    notes: tuple[str, ...] = ()  # what a reader is to know, one sentence each; never texts of the server


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


def too_slow(subject: str, timeout_s: float) -> ClientDeadlineError:
    """Return the error of a call that takes too long; its effect is not known."""
    problem = f"the answer was not complete within {timeout_s:g} s; the tool may have done its work"
    return ClientDeadlineError(problem, subject, "Look whether it did before you call it again.")


def too_large(subject: str, max_bytes: int) -> OverloadedError:
    """Return the error of an answer above the limit."""
    problem = f"the answer has more than {max_bytes:,} bytes"
    return OverloadedError(problem, subject, "Ask for less, or take more bytes.")


def compressed(subject: str) -> UnavailableError:
    """Return the error of an answer that is compressed: a few bytes could become any number."""
    problem = "the server compressed its answer, although it was asked not to; the tool may have done its work"
    return UnavailableError(problem, subject, "Let the server answer without Content-Encoding.")


def unreachable(subject: str, why: str) -> UnavailableError:
    """Return the error of a server that does not answer."""
    problem = f"the server cannot be reached or broke off ({why})"
    return UnavailableError(problem, subject, "Check the address and that the server runs.")


def of_http(answer: ToolAnswer) -> ToolAnswer:
    """Return an answer over HTTP with its body as JSON values, else as text, else as base64; None for an empty one."""
    if not answer.body:
        return replace(answer, body=None)
    try:
        return replace(answer, body=_json_or_text(answer.body.decode("utf-8")))
    except UnicodeDecodeError:
        return replace(answer, body=base64.b64encode(answer.body).decode("ascii"))


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

    def finite(digits: str) -> float | None:
        value = float(digits)
        return value if math.isfinite(value) else None

    try:
        value = json.loads(text, parse_constant=lambda name: None, parse_float=finite)
        if "\\u" in text or not text.isascii():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        return value
    except (ValueError, RecursionError):
        return text.encode("utf-8", "replace").decode("utf-8")


_SHORTEST = 8  # characters; a shorter one also stands in answers by chance
_PIECE = 2**18  # characters that are searched at once: meanwhile no other thread runs
_MOST_ESCAPED = 32  # characters that stand for one: \ud83d\ude00 with some backslashes; %2525…25 with eight times 25
_HIDDEN = "[credential]"
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)\s+", re.IGNORECASE)


class KnownSecrets:
    """The credentials of some calls, found also where they are percent-encoded, escaped as in JSON, or in base64; shorter than 8 characters
    they are left out.

    One that a server transforms in another way, or sends back in parts, is not found. The time is linear in the length of an answer.
    """

    def __init__(self, credentials: Iterable[Credential]) -> None:
        found = {text for each in credentials for text in _texts(each) if len(text) >= _SHORTEST}
        longest_first = sorted(found, key=lambda text: (-len(text), text))
        self._plain = list(dict.fromkeys(form for text in longest_first for form in _plain(text)))
        self._escaped = re.compile("|".join("".join(map(_any_form, text)) for text in self._plain) or r"(?!)")
        self._overlap = _MOST_ESCAPED * max(map(len, self._plain), default=0)
        self._shortest = min(map(len, self._plain), default=0)

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
        kept, at = [], 0
        while at < len(text):
            end = at + _PIECE
            match = self._escaped.search(text, at, end + self._overlap)
            if match is None or match.start() >= end:
                kept.append(text[at:end])
                at = end
            else:
                kept += (text[at : match.start()], _HIDDEN)
                at = match.end()
        return "".join(kept)


def _any_form(char: str) -> str:
    """A regular expression of a character and its escapes: in a URL, encoded up to nine times, and in JSON, with up to 16 backslashes."""
    percent = "".join(rf"%(?:25){{0,8}}(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))
    units = char.encode("utf-16-be", "surrogatepass").hex()
    escaped = "".join(rf"\\{{1,16}}u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    backslash = rf"|\\{{1,16}}{re.escape(char)}" if char in '"\\/' else ""
    return f"(?:{re.escape(char)}|{percent}|{escaped}{backslash})"


def _texts(credential: Credential) -> Iterator[str]:
    """The texts by which a credential may come back."""
    pair = tuple(credential.split(":", 1)) if isinstance(credential, str) else credential
    whole = [_SCHEME.sub("", credential, count=1), credential] if isinstance(credential, str) else []
    for text in (*whole, *pair[1:], ":".join(pair)):
        raw = text.encode("utf-8", "replace")
        yield text
        for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
            yield encoded.decode("ascii")
            yield encoded.decode("ascii").rstrip("=")


def _plain(text: str) -> tuple[str, ...]:
    """A text as it is, with a plus for each space as in a form, and as bytes that are read as Latin-1."""
    return text, text.replace(" ", "+"), text.encode("utf-8", "replace").decode("latin-1")
