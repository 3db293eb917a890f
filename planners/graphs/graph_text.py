"""A state as text for prompts, and as JSON for files and events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ontology.errors import StatementError
from planners.graphs.graph_state import canonical_state
from planners.graphs.property_graph import GraphEdge, GraphNode, GraphState, Properties, Value
from planners.graphs.property_rows import EdgeRow, NodeRow
from planners.graphs.property_values import checked_name, checked_properties

__all__ = ["read_state", "state_json", "state_text"]

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


def state_json(state: GraphState) -> dict[str, Any]:
    """Return a state as JSON; equal states give equal bytes, and integers, decimals and booleans stay apart."""
    return {
        "nodes": [{"id": node.id, "label": node.label, "properties": _plain(node.properties)} for node in state.nodes],
        "edges": [
            {"type": edge.type, "source": edge.source, "target": edge.target, "properties": _plain(edge.properties)}
            for edge in state.edges
        ],
    }


def read_state(body: Mapping[str, Any]) -> GraphState:
    """Return the state that JSON stands for, in canonical order whatever its own.

    :raises StatementError: when it is no state, or holds what stores do not keep.
    """
    try:
        places = {node["id"]: at for at, node in enumerate(body["nodes"])}
        nodes = {at: _read_node(node) for at, node in enumerate(body["nodes"])}
        edges = [
            EdgeRow(
                type=checked_name(edge["type"], "a type"),
                source=places[edge["source"]],
                target=places[edge["target"]],
                properties=checked_properties(edge.get("properties", {})),
            )
            for edge in body["edges"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise StatementError(f"JSON that is no state of a graph: {error!r}", remedy="Write it by state_json") from error
    return canonical_state(nodes, edges)


def _read_node(node: Mapping[str, Any]) -> NodeRow:
    return NodeRow(
        label=checked_name(node["label"], "a label"), properties=checked_properties(node.get("properties", {}))
    )


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


def _plain(properties: Properties) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in sorted(properties.items())}
