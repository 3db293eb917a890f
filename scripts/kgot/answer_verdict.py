"""What became of a task: solved, wrong, or not attempted. One rule for every system that is compared."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from planners.kgot.batch import answer_matches

__all__ = ["Verdict", "verdict_of"]

Verdict: TypeAlias = Literal["solved", "wrong", "not attempted"]

_NO_ANSWER = re.compile(
    r"unknown|none|null|n/?a|not (?:available|found|known|provided|specified|enough|in the)\b.*"
    r"|no (?:answer|solution|data|information|result)\b.*|insufficient\b.*"
    r"|(?:i )?(?:can ?not|can't|could not|do(?:es)? not|don't|unable)\b.*|(?:the )?(?:graph|information|data) (?:is|does)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Answers that say that there is none; written before any answer of a model was seen."""


def verdict_of(given: str, truth: str, question: str = "") -> Verdict:
    """Compare an answer with the true one, as :func:`planners.kgot.batch.answer_matches` does."""
    text = given.strip().strip("\"'`").strip()
    if answer_matches(text, truth, question=question):
        return "solved"
    return "not attempted" if not text or _NO_ANSWER.fullmatch(text.rstrip(".")) else "wrong"
