"""Texts that are encoded in a text: base64 and hexadecimal runs that decode to words."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["EncodedRun", "encoded_runs"]

_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,20000}={0,2}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(r"(?:[0-9a-f]{2})+\Z|(?:[0-9A-F]{2})+\Z")
_WORDS = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,14}(?![A-Za-z])")
_COMMAND = re.compile(
    r"\b(?:call|send|post|ignore|run|delete|upload|tell|export|forward|execute|copy|reveal|fetch|approve|set|read|do not|system|assistant)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 3
_SHARE = 0.75  # of the decoded characters that stand in words or between them


class EncodedRun(NamedTuple):
    """A run at ``text[start:end]`` that decodes to words; whether one of these commands something."""

    start: int
    end: int
    decoded: str
    has_command: bool


def encoded_runs(text: str) -> Iterator[EncodedRun]:
    """Yield the runs of a text that decode to at least three words with spaces between them."""
    for match in _RUN.finditer(text) if len(text) >= 24 else ():
        decoded = _decoded(match[0])
        if decoded is None or " " not in decoded:
            continue
        words = _WORDS.findall(decoded)
        if len(words) >= _LEAST_WORDS and sum(map(len, words)) + decoded.count(" ") >= _SHARE * len(decoded):
            yield EncodedRun(match.start(), match.end(), decoded, _COMMAND.search(decoded) is not None)


def _decoded(run: str) -> str | None:
    try:
        raw = (
            bytes.fromhex(run)
            if _HEX.match(run)
            else base64.b64decode(_padded(run), altchars=b"-_" if {"-", "_"} & set(run) else None)
        )
        decoded = raw.decode("utf-8")
    except (ValueError, binascii.Error, UnicodeDecodeError):
        return None
    return decoded if decoded.isprintable() or "\n" in decoded else None


def _padded(run: str) -> str:
    stripped = run.rstrip("=")
    return stripped + "=" * (-len(stripped) % 4)
