"""Whether an answer is the true one. One rule for every system that is compared."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

__all__ = ["Verdict", "verdict_of"]

Verdict: TypeAlias = Literal["solved", "wrong", "not attempted"]

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_LISTED = re.compile(r"\s*[,;\n]\s*|\s+and\s+")
_ARTICLES = frozenset({"a", "an", "the"})
_NO_ANSWER = re.compile(
    r"unknown|none|null|n/?a|not (?:available|found|known|provided|specified|enough)\b.*|no (?:answer|solution|data|information|result)\b.*"
    r"|insufficient\b.*|(?:i )?(?:can ?not|can't|could not|do(?:es)? not|don't|unable)\b.*|(?:the )?(?:graph|information|data) (?:is|does)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""Answers that say that there is none; written in view of what the small model said in the tasks of the half ``dev``."""


def verdict_of(given: str, truth: str) -> Verdict:
    """Compare an answer with the true one.

    Numbers are compared as numbers: one number may stand beside a unit, thousands may be parted by commas. Lists are compared without
    regard to order, words without regard to case, articles and punctuation.
    """
    text = given.strip().strip(".\"'`").strip()
    if _same(text, truth):
        return "solved"
    return "not attempted" if not text or _NO_ANSWER.fullmatch(text) else "wrong"


def _same(given: str, truth: str) -> bool:
    if _NUMBER.fullmatch(truth):
        numbers = _NUMBER.findall(given)
        return len(numbers) == 1 and abs(_value(numbers[0]) - _value(truth)) <= 1e-6 * max(1.0, abs(_value(truth)))
    if ", " in truth:
        return _members(given) == _members(truth)
    return _words(given) == _words(truth)


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _members(text: str) -> list[str]:
    return sorted(_words(each) for each in _LISTED.split(text.strip("[]() ")) if _words(each))


def _words(text: str) -> str:
    return " ".join(word for word in re.findall(r"[\w&.-]+", text.casefold().strip(". ")) if word not in _ARTICLES)
