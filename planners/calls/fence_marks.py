"""The marks around data in prompts: equal runs have equal prompts, and whoever writes the data cannot know its mark."""

from __future__ import annotations

import hashlib
import hmac
import secrets

__all__ = ["FenceMarks"]

_KEY_BYTES = 32
_MARK_CHARS = 32  # 128 bits
_SHORT_CHARS = 16  # 64 bits, in prompts with many fences: tokens of hexadecimal digits are short


class FenceMarks:
    """Makes marks: the HMAC-SHA256 of the text that they stand around, so a text that saw the marks of others knows none of its own.

    :param key: of the run; a new one where empty. Tools must not get it.
    """

    def __init__(self, key: bytes = b"") -> None:
        self.key = key or secrets.token_bytes(_KEY_BYTES)

    def __repr__(self) -> str:
        return "FenceMarks(…)"

    def mark(self, text: str) -> str:
        """Return the mark of a text, 32 hexadecimal digits."""
        return hmac.new(self.key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:_MARK_CHARS]

    def fenced(self, text: str) -> str:
        """Return a text between two lines with its mark."""
        mark = self.mark(text)[:_SHORT_CHARS]
        return f"--- data {mark} ---\n{text}\n--- end {mark} ---"
