"""Cues: words of a request that state order, dependence or conditions of its parts.

All functions read text in lower case in which quotes, addresses and identifiers are masked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from datagen.patterns import load_patterns

__all__ = ["Cue", "condition_cues", "dependence_cues", "order_cues", "refers_back"]

_CUES = load_patterns("validation/cues")
_IF = re.compile(r"\bif\b")
_CLAUSE_END = re.compile(r"[.;!?]\s|,\s")
_BEFORE_IF = 60  # characters before an "if" that are looked at
_EDGES = " ,.;!?"


class Cue(NamedTuple):
    """Words of a request that state something, and the position of their first character."""

    start: int
    words: str


def order_cues(text: str) -> tuple[Cue, ...]:
    """Return the cues of order: ``then``, ``once``, ``before booking``."""
    if not any(word in text for word in _CUES.words("order_words")):
        return ()
    found = [
        *_CUES["order"].finditer(text),
        *(cue for cue in _CUES["first_do"].finditer(text) if cue["verb"] not in _CUES.words("counted_first")),
    ]
    return tuple(sorted(Cue(match.start(), match[0].strip(_EDGES + ":")) for match in found))


def dependence_cues(text: str) -> tuple[str, ...]:
    """Return the cues of dependence: ``based on``, ``the result``, ``whoever``."""
    return tuple(match[0].strip() for match in _CUES["dependence"].finditer(text))


def refers_back(clause: str) -> bool:
    """Whether a clause refers to something before it: ``it``, ``the cheapest``, ``that order``."""
    return _CUES["back_reference"].search(clause) is not None


def condition_cues(text: str) -> tuple[Cue, ...]:
    """The cues that state a condition; an ``if`` that is polite or begins an indirect question is none."""
    found = [Cue(match.start(), "if") for match in _IF.finditer(text) if _is_condition(text, match)]
    if any(word in text for word in _CUES.words("condition_words")):
        found += [Cue(match.start(), match[0].strip(_EDGES)) for match in _CUES["condition"].finditer(text)]
    if "should" in text:
        # "should I?" asks; "should it rain, can you ...?" states a condition.
        stated = (match for match in _CUES["should"].finditer(text) if match["end"] != "?" or "," in match[0][1:])
        found += [Cue(match.start(), "should") for match in stated]
    return tuple(sorted(found))


def _is_condition(text: str, match: re.Match[str]) -> bool:
    """Whether an ``if`` states a condition."""
    if _CUES["if_so"].match(text, match.end()):
        return True
    if _CUES["polite_after"].match(text, match.end()):
        return False
    before = text[max(0, match.start() - _BEFORE_IF) : match.start()]
    clause = "" if before.rstrip().endswith(",") else _CLAUSE_END.split(before)[-1]
    return _CUES["asking_before"].search(clause) is None
