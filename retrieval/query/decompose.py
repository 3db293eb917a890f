"""Clauses: the parts of a request, each of which may need tools of its own.

One vector of a long request is near to nothing that it asks for. So a request is also matched part by part, cut where
English sets one wish off from the next: at the end of a sentence, at a comma, and at words such as *and*, *then*, *if*.
"""

from __future__ import annotations

import re

from retrieval.index.analysis import terms

__all__ = ["MOST_CLAUSES", "clauses"]

MOST_CLAUSES = 8
"""What a longer request has beyond them stays in the last one."""
_LEAST_TERMS = 3
# A run of stops or blanks is entered at its start alone: from every place in it, a long run would take seconds.
_BETWEEN = re.compile(
    r"(?<![.;?!:])[.;?!\n:]+\s+|[;\n]|,\s+"
    r"|(?<!\s)\s+(?:and then|then|and|but|if|after|before|also|so that|or|when|once|using|based on)\s+",
    re.IGNORECASE,
)


def clauses(text: str) -> tuple[str, ...]:
    """The clauses of a request, in its order; the request itself where it has only one.

    A part with fewer than three index terms says nothing by itself: it stays with the part before it, the first with the next.
    """
    found: list[str] = []
    for part in _BETWEEN.split(text):
        part = part.strip()
        if not part:
            continue
        if found and (len(terms(part)) < _LEAST_TERMS or len(found) == MOST_CLAUSES):
            found[-1] = f"{found[-1]} {part}"
        else:
            found.append(part)
    if len(found) > 1 and len(terms(found[0])) < _LEAST_TERMS:
        found[:2] = [f"{found[0]} {found[1]}"]
    return tuple(found) if len(found) > 1 else (text,)
