"""Short numbers that a request says are the number of a thing: "the ticket with id 3". Too short to be a typed value anywhere else."""

from __future__ import annotations

import re

__all__ = ["stated_numbers"]

_STATED = re.compile(
    r"\b([^\W\d_]{2,40})\s{1,3}(?:with\s{1,3})?(?:the\s{1,3}|an?\s{1,3})?(?:id|number|no\.|nr\.?|#)\s{0,3}(?:is\s{1,3}|of\s{1,3}|[=:#]\s{0,3})?"
    r"['\"]?(\d{1,4})\b(?![.:/-]\d)",
    re.IGNORECASE,
)
_MOST = 20


def stated_numbers(text: str) -> dict[str, str]:
    """The noun → its number, as :attr:`retrieval.query.request.Request.have` would say it; of a repeated noun the first."""
    found: dict[str, str] = {}
    for match, _ in zip(_STATED.finditer(text), range(_MOST), strict=False):
        found.setdefault(match[1].lower(), match[2])
    return found
