"""Query decomposition: the clauses of a request, each of which may need tools of its own.

The vector of a long request is near to none of the things it asks for. So a request is also matched clause by clause. It is
split at the end of a sentence, at a comma, and at words such as *and*, *then*, *if*.
"""

from __future__ import annotations

import re

from retrieval.index.analysis import terms

__all__ = ["MAX_CLAUSES", "decompose"]

MAX_CLAUSES = 8
"""The rest of a longer request stays in the last clause."""
_MIN_TERMS = 3
# The look-behinds make a run of separators match from its start only: without them a long run takes quadratic time.
_SEPARATOR = re.compile(
    r"(?<![.;?!:])[.;?!\n:]+\s+|[;\n]|,\s+"
    r"|(?<!\s)\s+(?:and then|then|and|but|if|after|before|also|so that|or|when|once|using|based on)\s+",
    re.IGNORECASE,
)


def decompose(text: str) -> tuple[str, ...]:
    """The clauses of a request, in its order; the request itself where it has only one.

    A part with fewer than three index terms is joined to the part before it, the first one to the next.
    """
    found: list[str] = []
    for part in _SEPARATOR.split(text):
        part = part.strip()
        if not part:
            continue
        if found and (len(terms(part)) < _MIN_TERMS or len(found) == MAX_CLAUSES):
            found[-1] = f"{found[-1]} {part}"
        else:
            found.append(part)
    if len(found) > 1 and len(terms(found[0])) < _MIN_TERMS:
        found[:2] = [f"{found[0]} {found[1]}"]
    return tuple(found) if len(found) > 1 else (text,)
