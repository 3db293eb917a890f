"""The text fields of a tool, each with its own index, and the metadata values that requests can filter by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ontology.tool import Tool
from ontology.tool_effects import effect_of
from ontology.tool_text import tool_text

__all__ = ["EFFECT_KEY", "FIELDS", "NAMES", "filter_pairs", "params_text", "whole_text"]

_FILTER_CHARS = 200


def params_text(tool: Tool) -> str:
    """Return the text of the parameters: names and descriptions of inputs (200 characters each), names of outputs."""
    inputs = " ".join(f"{parameter.name} {parameter.description[:_FILTER_CHARS]}" for parameter in tool.parameters)
    return f"{inputs} {' '.join(output.name for output in tool.returns)}"


def _returns_text(tool: Tool) -> str:
    """Return the text of the outputs: their names and descriptions (200 characters each)."""
    return " ".join(f"{output.name} {output.description[:_FILTER_CHARS]}" for output in tool.returns)


def _values_text(tool: Tool) -> str:
    """Return the enumerated values of the inputs."""
    return " ".join(str(value) for parameter in tool.parameters for value in parameter.enum)


def whole_text(tool: Tool) -> str:
    """Return title, description and parameters of a tool as one document."""
    return f"{tool_text(tool)} {params_text(tool)}"


FIELDS: Mapping[str, Callable[[Tool], str]] = {
    "text": tool_text,
    "params": params_text,
    "returns": _returns_text,
    "values": _values_text,
    "whole": whole_text,
}
"""Map from each field with a BM25 index to the function that returns its text."""
NAMES = "names"
"""Name of the index of :mod:`retrieval.index.name_coverage`."""

EFFECT_KEY = "effect"
"""Key of filters: what a call does, see :mod:`ontology.tool_effects`."""


def filter_pairs(tool: Tool) -> Iterator[tuple[str, str]]:
    """Yield the keys and values by which a tool can be filtered: its effect, scalars of its metadata, and items of lists."""
    yield EFFECT_KEY, effect_of(tool)
    for key, value in tool.metadata.items():
        # no document says that its tools only read; a key with = would be a value of another key in the table of filters
        if key == EFFECT_KEY or "=" in key:
            continue
        for one in value if isinstance(value, (list, tuple)) else (value,):
            text = _plain(one)
            if text is not None and len(text) <= _FILTER_CHARS:
                yield key, text


def _plain(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else None
