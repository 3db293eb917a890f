"""Long documentation made brief: its first sentences."""

from __future__ import annotations

import re

__all__ = ["brief"]

_END = re.compile(r"[.!?](?=\s)")


def brief(text: str, most: int) -> str:
    """The text up to the last sentence that ends within ``most`` characters; else up to the last word, with an ellipsis."""
    if len(text) <= most:
        return text
    end = max((match.end() for match in _END.finditer(text, 0, most + 1)), default=0)
    if end > most // 4:
        return text[:end]
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
