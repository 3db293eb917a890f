"""The texts of a tool that have an index of their own, and the values that it can be filtered by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ontology.tool import Tool
from ontology.tool_text import tool_text

__all__ = ["FIELDS", "NAMES", "filter_terms", "params_text", "returns_text", "values_text", "whole_text"]

_FILTER_CHARS = 200


def params_text(tool: Tool) -> str:
    """What is matched as a tool's parameters: names and descriptions of inputs, names of outputs."""
    inputs = " ".join(f"{parameter.name} {parameter.description[:_FILTER_CHARS]}" for parameter in tool.parameters)
    return f"{inputs} {' '.join(output.name for output in tool.returns)}"


def returns_text(tool: Tool) -> str:
    """What is matched as a tool's outputs: their names and descriptions."""
    return " ".join(f"{output.name} {output.description[:_FILTER_CHARS]}" for output in tool.returns)


def values_text(tool: Tool) -> str:
    """What is matched as the values that a tool's inputs may have, where they are a fixed few."""
    return " ".join(str(value) for parameter in tool.parameters for value in parameter.enum)


def whole_text(tool: Tool) -> str:
    """A tool's title, description and parameters as one document."""
    return f"{tool_text(tool)} {params_text(tool)}"


FIELDS: Mapping[str, Callable[[Tool], str]] = {
    "text": tool_text,
    "params": params_text,
    "returns": returns_text,
    "values": values_text,
    "whole": whole_text,
}
"""The fields that have a BM25 index, each with its text."""
NAMES = "names"
"""The index of how much of a name a request says."""


def filter_terms(tool: Tool) -> Iterator[str]:
    """The ``key=value`` pairs by which a tool can be filtered: texts, numbers and booleans, and lists of them."""
    for key, value in tool.metadata.items():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            text = _plain(one)
            if text is not None and len(text) <= _FILTER_CHARS:
                yield f"{key}={text}"


def _plain(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else None
