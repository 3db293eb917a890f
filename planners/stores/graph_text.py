"""A state as text for prompts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from planners.stores.property_graph import GraphEdge, GraphNode, GraphState, Properties, Value

__all__ = ["state_text"]

_EMPTY = "The graph is empty."


def state_text(state: GraphState, *, longest: int | None = None) -> str:
    """Return a state as text: nodes by label, then edges by type, one a line, their properties as JSON.

    The ids join the lines of this text; they are no properties, and the engine does not know them. A line break in a value
    is escaped. Characters that mean something in XML are not: a prompt fences or escapes the text.

    :param longest: characters of one text value; of a longer one the beginning stands, and how long it is. None: all.
    """
    if not state.nodes:
        return _EMPTY
    labels = {node.id: node.label for node in state.nodes}
    lines = ["Nodes by label:"]
    for label, nodes in _grouped((node.label, node) for node in state.nodes):
        lines.append(f"{_name(label)}:")
        lines += [f"  {node.id} {_properties(node.properties, longest)}" for node in nodes]
    lines.append("Relationships by type:" if state.edges else "Relationships: none.")
    for kind, edges in _grouped((edge.type, edge) for edge in state.edges):
        lines.append(f"{_name(kind)}:")
        lines += [
            f"  ({edge.source}:{_name(labels[edge.source])})->({edge.target}:{_name(labels[edge.target])})"
            + (f" {_properties(edge.properties, longest)}" if edge.properties else "")
            for edge in edges
        ]
    return "\n".join(lines)


def _grouped(items: Iterable[tuple[str, Any]]) -> list[tuple[str, list[Any]]]:
    groups: dict[str, list[GraphNode | GraphEdge]] = {}
    for name, item in items:
        groups.setdefault(name, []).append(item)
    return sorted(groups.items())


def _name(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _properties(properties: Properties, longest: int | None) -> str:
    return json.dumps({name: _cut(value, longest) for name, value in properties.items()}, ensure_ascii=False)


def _cut(value: Value, longest: int | None) -> object:
    if isinstance(value, tuple):
        return [_cut(member, longest) for member in value]
    if isinstance(value, str) and longest is not None and len(value) > longest:
        return f"{value[:longest]}… ({len(value)} characters)"
    return value
