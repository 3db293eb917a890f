"""The texts of a tool's document by field: provenance refers to them, and evidence is searched in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ontology.tool import Tool

__all__ = ["document_texts", "field_texts", "metadata_texts", "parameter_texts"]


def field_texts(tool: Tool, field: str) -> list[str]:
    """Return the texts of a provenance field; an empty list when the tool has no such field.

    ``parameters.NAME`` and ``returns.NAME`` give the *descriptions* of that input or output, because a triple read from
    the name has no span. There are several texts when two inputs have the same name (one in the path, one in the body).
    """
    kind, _, rest = field.partition(".")
    if field == "name":
        return [tool.name]
    if field == "description":
        return [tool.description]
    if kind in ("parameters", "returns"):
        named = tool.parameters if kind == "parameters" else tool.returns
        return [parameter.description for parameter in named if parameter.name == rest]
    if kind == "depends_on" and tool.depends_on:
        return [" ".join(dependency.tool for dependency in tool.depends_on)]
    if kind == "metadata" and rest in tool.metadata:
        return [" ".join(metadata_texts(tool.metadata[rest]))]
    return []


def parameter_texts(tool: Tool) -> dict[str, list[str]]:
    """Map from the provenance field of each input and output to its :func:`field_texts`, in the order of the document.

    For whoever looks up many fields: one look-up of :func:`field_texts` reads all inputs.
    """
    texts: dict[str, list[str]] = {}
    for kind, named in (("parameters", tool.parameters), ("returns", tool.returns)):
        for parameter in named:
            texts.setdefault(f"{kind}.{parameter.name}", []).append(parameter.description)
    return texts


def document_texts(tool: Tool) -> Iterator[str]:
    """Yield every text of the document, in the order of its fields."""
    yield tool.id
    yield tool.name
    yield tool.description
    for parameter in (*tool.parameters, *tool.returns):
        yield parameter.name
        yield parameter.description
        yield from parameter.enum
    for dependency in tool.depends_on:
        yield from (dependency.tool, dependency.parameter, dependency.output, dependency.reason)
    yield from metadata_texts(dict(tool.metadata))


def metadata_texts(value: Any, depth: int = 4) -> list[str]:
    """Return the texts and numbers inside a JSON value as text, down to ``depth`` levels."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [str(value)]
    if depth <= 0 or value is None or isinstance(value, bool):
        return []
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [text for item in inner for text in metadata_texts(item, depth - 1)]
