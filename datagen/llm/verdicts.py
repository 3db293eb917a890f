"""Verdicts from a chat model: a yes or no with its reason, or a no because the model gave nothing usable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from datagen.llm.chat_step import NAME, Asking, sentence
from datagen.synthetic_request import Verdict
from inference.structured_chat import SchemaParser, StructuredRequest

__all__ = ["Opinion", "reasoned", "verdict"]

Opinion = tuple[bool, str]
"""Whether it passed, and why."""


def verdict(asking: Asking, asked: StructuredRequest, read: Callable[[str], Opinion], check: str) -> Verdict:
    """The model's verdict; one that did not pass where the model gives none that can be used.

    :raises ModelError: when the model is dead.
    """
    answer = asking.ask(asked, read)
    if answer.value is None:
        reason = f"the model gave no usable verdict: {answer.problem.rstrip('.')}"
        return Verdict(check=check, passed=False, reason=reason, by=NAME)
    passed, reason = answer.value
    return Verdict(check=check, passed=passed, reason=reason, by=NAME)


def reasoned(schema: SchemaParser, passed: Callable[[dict[str, Any]], Opinion]) -> Callable[[str], Opinion]:
    """A reader of answers with a reason, which ``passed`` sees cleaned."""

    def read(text: str) -> Opinion:
        row: dict[str, Any] = schema.parse(text)
        return passed({**row, "reason": sentence(row["reason"])})

    return read
