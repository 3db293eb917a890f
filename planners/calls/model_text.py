"""What a model says beside what it was asked for: thoughts aloud, a preface, JSON amid prose, or that it does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["is_no_answer", "json_objects", "without_thoughts"]

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_BEFORE = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)  # some servers take the opening mark away
_NO_ANSWER = re.compile(
    r"(?:sorry|unfortunately)?[\s,:]*(?:i\s+(?:do\s+not|don['’]t)\s+know|i(?:['’]m|\s+am)\s+not\s+sure|unknown|n/a)[\s.!]*",
    re.IGNORECASE,
)
_MOST = 64  # places of a text where an object may begin
_DECODER = json.JSONDecoder()


def without_thoughts(text: str) -> str:
    """Return a text without what stands in ``<think>``, and without a block that is not closed."""
    return _THOUGHT_BEFORE.sub("", _THOUGHTS.sub("", text)).strip()


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that stand in a text, none inside another one."""
    at = text.find("{")
    for _ in range(_MOST):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield value
        at = text.find("{", end)


def is_no_answer(text: str) -> bool:
    """Whether a text only says that there is no answer: "I do not know."."""
    return _NO_ANSWER.fullmatch(text.strip()) is not None
