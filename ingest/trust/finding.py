"""The finding: one place in a tool's document that could mislead a model or its user."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["QUARANTINE", "REPORT", "Finding", "FindingKind", "Severity", "visible"]

FindingKind: TypeAlias = Literal[
    "instruction-to-model",  # of earlier versions, in records of stores
    "invisible-characters",
    "bidirectional-characters",
    "look-alike-name",
    "changed-description",
    "exfiltrating-value",
]
Severity: TypeAlias = Literal["report", "quarantine"]
REPORT: Severity = "report"
QUARANTINE: Severity = "quarantine"
_QUOTED_CHARS = 120
_SHOWN_AS_THEY_ARE = frozenset("LNPSZ")  # the first letters of Unicode categories


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place in a tool's document that could mislead a model or its user.

    :param tool: id of the tool.
    :param field: the place in its JSON form (``description``, ``parameters[2].default``).
    :param start: of the span in the field's text, in characters; 0 and the length of the text where all of it is meant.
    :param end: after its last character.
    :param quote: the text of the span with everything invisible escaped, at most 120 characters.
    :param rule: versioned name of the rule.
    :param why: what was found, one sentence without a full stop.
    :param remedy: what to do, likewise.
    """

    kind: FindingKind
    severity: Severity
    tool: str
    field: str
    start: int
    end: int
    quote: str
    rule: str
    why: str
    remedy: str

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def visible(text: str, limit: int = _QUOTED_CHARS) -> str:
    """Return the text with an escape sequence for every character that is not seen or that moves others, cut to ``limit`` characters."""
    shown: list[str] = []
    length = 0
    for char in text[: limit + 1]:
        part = char if char == " " or (_is_seen(char) and char not in "\u2028\u2029\u2800\u3164") else _escape(char)
        if length + len(part) > limit - 1 and len(text) > len(shown) + (length + len(part) <= limit):
            return "".join(shown) + "…"
        shown.append(part)
        length += len(part)
    return "".join(shown)


def _is_seen(char: str) -> bool:
    return (char.isascii() and char.isprintable()) or unicodedata.category(char)[0] in _SHOWN_AS_THEY_ARE - {"Z"}


def _escape(char: str) -> str:
    code = ord(char)
    if char in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
