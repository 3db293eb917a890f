"""Query decomposition: the clauses of a request, each of which may need tools of its own.

The vector of a long request is near to none of the things it asks for. So a request is also matched clause by clause. It is
split at the end of a sentence, at a comma, and at words such as *and*, *then*, *if*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from retrieval.index.analysis import terms
from retrieval.query.typed_values import TypedValue

__all__ = ["MAX_CLAUSES", "Spans", "clause_spans", "decompose"]

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Places in a request, each its start and its end."""

MAX_CLAUSES = 8
"""The rest of a longer request stays in the last clause."""
_MIN_TERMS = 3
# The look-behinds make a run of separators match from its start only: without them a long run takes quadratic time.
_SEPARATOR = re.compile(
    r"(?<![.;?!:])[.;?!\n:]+\s+|[;\n]|,\s+"
    r"|(?<!\s)\s+(?:and then|then|and|but|if|after|before|also|so that|or|when|once|using|based on)\s+",
    re.IGNORECASE,
)


def decompose(text: str, values: Sequence[TypedValue] = ()) -> tuple[str, ...]:
    """The clauses of a request, in its order; the request itself where it has only one.

    A part with fewer than three index terms is joined to the part before it, the first one to the next.
    """
    return tuple(" ".join(text[start:end] for start, end in spans) for spans in clause_spans(text, values))


def clause_spans(text: str, values: Sequence[TypedValue] = ()) -> list[Spans]:
    """The places of the clauses of a request: the parts that each is joined of; all of the text where it has only one.

    :param values: the typed values of the request in order; inside them it is not split.
    """
    found: list[Spans] = []
    counts: list[int] = []
    for start, end in _parts(text, values):
        count = len(terms(text[start:end]))
        if found and (count < _MIN_TERMS or len(found) == MAX_CLAUSES):
            found[-1] = (*found[-1], (start, end))
            counts[-1] += count
        else:
            found.append(((start, end),))
            counts.append(count)
    if len(found) > 1 and counts[0] < _MIN_TERMS:
        found[:2] = [(*found[0], *found[1])]
    return found if len(found) > 1 else [((0, len(text)),)]


def _parts(text: str, values: Sequence[TypedValue]) -> Iterator[tuple[int, int]]:
    """Yield the parts between separators, without white space around them; none is empty."""
    others, at = iter(values), 0
    value = next(others, None)
    for cut in (*_SEPARATOR.finditer(text), None):
        start, end = cut.span() if cut else (len(text), len(text))
        while value is not None and value.end <= start:
            value = next(others, None)
        if cut and value is not None and value.start < end:
            continue
        part = text[at:start]
        if part.strip():
            left = at + len(part) - len(part.lstrip())
            yield left, left + len(part.strip())
        at = end
