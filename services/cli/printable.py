"""Text of documents, snapshots and servers, without what could command a terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["printable"]


def printable(text: str) -> str:
    """Return the text without characters that could command a terminal."""
    return "".join(
        character if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs") else "�"
        for character in text
    )
