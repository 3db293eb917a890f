r"""Repairing JSON of a model where only its writing is wrong: fences around it, bad escapes, raw line breaks, lost or surplus brackets.

Nothing is guessed: a text that ends amid a string, that lacks a value or stands in prose stays as it is, and its reader says so.
The cases are those that appendix B.3.1 of the paper names (statements in JSON, and their escapes), and those that small models show:
``\'`` and ``\x41`` of Python, commas before a closing bracket.
"""

from __future__ import annotations

import json
import re

__all__ = ["repaired_json"]

_FENCED = re.compile(r"\A\s*```[A-Za-z]*[ \t]*\n(.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_ESCAPES = '"\\/bfnrt'
_CLOSERS = {"{": "}", "[": "]"}
_RAW = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_WIDE = 0x10000  # from here a character is two \u escapes
_DEEPEST = 200


def repaired_json(text: str) -> str | None:
    """Return a text as JSON; None where it is none, however it is written."""
    text = text.strip()
    if fence := _FENCED.match(text):
        text = fence[1].strip()
    if not text.startswith(("{", "[")):
        return None
    repaired = _Repair(text).run()
    if repaired is None:
        return None
    try:
        json.loads(repaired)
    except (ValueError, RecursionError):
        return None
    return repaired


class _Repair:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[str] = []
        self._out: list[str] = []

    def run(self) -> str | None:
        while self._at < len(self._text):
            sign = self._text[self._at]
            if self._out and not self._open and not sign.isspace():
                return self._ended()
            if sign == '"':
                if not self._string():
                    return None
                continue
            if sign in "{[":
                self._open.append(sign)
                if len(self._open) > _DEEPEST:
                    return None
            if sign not in "}]":
                self._out.append(sign)
            elif not self._close(sign):
                return None
            self._at += 1
        self._close_rest()
        return "".join(self._out)

    def _ended(self) -> str | None:
        """Return the value where only closing brackets follow it."""
        rest = self._text[self._at :]
        return "".join(self._out) if not rest.strip("}] \t\r\n") else None

    def _close(self, sign: str) -> bool:
        """Close up to the bracket that this one belongs to; False where there is none."""
        if sign not in [_CLOSERS[each] for each in self._open]:
            return False
        while _CLOSERS[self._open[-1]] != sign:
            self._put_closer()
        self._put_closer()
        return True

    def _close_rest(self) -> None:
        while self._open:
            self._put_closer()

    def _put_closer(self) -> None:
        at = len(self._out) - 1
        while at >= 0 and self._out[at].isspace():
            at -= 1
        if at >= 0 and self._out[at] == ",":
            del self._out[at]
        self._out.append(_CLOSERS[self._open.pop()])

    def _string(self) -> bool:
        """Take a string over, its escapes repaired; False where it does not end."""
        self._out.append('"')
        self._at += 1
        while self._at < len(self._text):
            sign = self._text[self._at]
            self._at += 1
            if sign == '"':
                self._out.append('"')
                return True
            self._out.append(self._escape() if sign == "\\" else _written(sign))
        return False

    def _escape(self) -> str:
        r"""Return an escape as JSON has it; a backslash that begins none stands for itself."""
        rest = self._text[self._at : self._at + 9]
        if rest[:1] and rest[0] in _ESCAPES:
            self._at += 1
            return f"\\{rest[0]}"
        if rest[:1] == "'":
            self._at += 1
            return "'"
        for begins, digits in (("u", 4), ("x", 2), ("U", 8)):
            if rest[:1] == begins and re.fullmatch(rf"[0-9A-Fa-f]{{{digits}}}", rest[1 : 1 + digits]):
                code = int(rest[1 : 1 + digits], 16)
                if code > 0x10FFFF:
                    break
                self._at += 1 + digits
                return f"\\u{code:04x}" if code < _WIDE else json.dumps(chr(code))[1:-1]
        return "\\\\"


def _written(sign: str) -> str:
    return _RAW.get(sign) or (f"\\u{ord(sign):04x}" if sign < " " else sign)
