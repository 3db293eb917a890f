"""What a tool answered, the limits of a call, and the errors of one that got no answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from egotools.client_errors import ClientDeadlineError, OverloadedError, UnavailableError

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "TIMEOUT_S",
    "TOO_DEEP",
    "ToolAnswer",
    "compressed",
    "too_large",
    "too_slow",
    "unreachable",
]

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
