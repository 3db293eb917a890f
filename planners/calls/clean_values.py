"""Values of tools and models as the rest of a run may take them: JSON that UTF-8 can say, of bounded depth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from egotools.calling.invoker import ToolInvoker
from egotools.calling.tool_answer import MAX_DEPTH, TOO_DEEP, ToolAnswer
from egotools.values import Tool

__all__ = ["CleanInvoker", "clean_text", "cleaned"]

T = TypeVar("T")

_LARGE_BITS = 13_000
"""Of an integer: Python writes 4,300 digits at most, which are 14,284 bits."""
_LARGE = "[an integer of more than 3,900 digits]"


def clean_text(text: str) -> str:
    """Return a text that UTF-8 can say: a lone surrogate, which JSON allows, becomes a question mark."""
    if text.isascii():
        return text
    clean = text.encode("utf-8", "replace").decode("utf-8")
    return text if clean == text else clean


def cleaned(value: T) -> T:
    """Return a value of which each part can be written as strict JSON in UTF-8; the same object where nothing has to change.

    Numbers that JSON does not have (NaN, Infinity) are None, as in answers of MCP. What is nested deeper than ``MAX_DEPTH`` is replaced
    by a note. Dataclasses keep their class.
    """
    result: T = _cleaned(value, 0)
    return result


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _LARGE_BITS else _LARGE
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return _clean_container(value, depth) if depth < MAX_DEPTH else TOO_DEEP


def _clean_container(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        made = {clean_text(str(key)): _cleaned(inner, depth + 1) for key, inner in value.items()}
        same = len(made) == len(value) and all(made.get(key, made) is inner for key, inner in value.items())
        return value if same else made
    if isinstance(value, list | tuple):
        items = [_cleaned(inner, depth + 1) for inner in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return items if isinstance(value, list) else tuple(items)
    if is_dataclass(value) and not isinstance(value, type):
        given = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        changed = {name: new for name, old in given.items() if (new := _cleaned(old, depth)) is not old}
        return replace(value, **changed) if changed else value
    return value


class CleanInvoker:
    """Cleans each answer when it arrives, so that a journal, a page and a prompt can have it."""

    def __init__(self, inner: ToolInvoker) -> None:
        self._inner = inner

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`."""
        return cleaned(await self._inner.invoke(tool, arguments))
