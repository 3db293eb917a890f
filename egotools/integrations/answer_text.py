"""What a model is shown of a tool's answer, and what the next search is told of it."""

from __future__ import annotations

from collections.abc import Mapping

from egotools.calling.answer_fence import fenced, left_out_note, shown_answer
from egotools.calling.invoker import ToolAnswer

__all__ = ["answer_text", "answered_names"]

_MOST_PARTS = 64
_MAX_NAME = 256  # of `have`, as the server takes them


def answer_text(tool_id: str, answer: ToolAnswer, max_bytes: int) -> str:
    """Return an answer for a model: bounded, between marks.

    :param answer: its body as JSON values, without credentials.
    """
    shown = shown_answer(answer, max_bytes)
    notes = tuple(filter(None, (*answer.notes, left_out_note(shown, max_bytes))))
    return fenced(shown.text, tool_id=tool_id, status=answer.status, notes=notes)


def answered_names(answer: ToolAnswer) -> tuple[str, ...]:
    """Return the names of the plain values that an answer holds; of several parts, those of each.

    :param answer: its body as JSON values.
    """
    parts = answer.body[:_MOST_PARTS] if isinstance(answer.body, list) else [answer.body]
    plain = [
        name
        for part in parts
        if isinstance(part, Mapping)
        for name, value in part.items()
        if value is not None and not isinstance(value, list | Mapping)
    ]
    return tuple(name for name in dict.fromkeys(plain) if 0 < len(name) <= _MAX_NAME)
