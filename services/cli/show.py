"""The command ``egotools show``: an entity or a tool, its surface forms and its ego graph; a value, and what it looks like."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egotools.values import EgoGraph, GraphEdge, GraphNode
from ontology.errors import NotFoundError
from ontology.names import canonical_name
from ontology.tool_graph import Aliases, SurfaceForms
from services.cli.console import plain, print_json, stdout, table
from services.cli.options import Json, Store
from services.jobs.plans import DEFAULT_STORE

if TYPE_CHECKING:
    from retrieval.index.value_shapes import ShapeMatch
    from retrieval.snapshot.reader import Snapshot

__all__ = ["show"]


def value_matches(snapshot: Snapshot, text: str) -> list[ShapeMatch]:
    """Return the shapes that a whole text has, the most specific first."""
    text = text.strip()
    return [match for match in snapshot.value_shapes.match(text) if match.text == text]


def show_matches(snapshot: Snapshot, matches: Sequence[ShapeMatch], limit: int) -> None:
    """Print the shapes of a value."""
    for match in matches[:limit]:
        named = f" ({match.shape.kind})" if match.shape.kind else ""
        stdout.print(f"[bold]{plain(match.text)}[/] looks like [bold]{plain(match.shape.pattern)}[/]{plain(named)}")
        stdout.print("  entities: " + plain(", ".join(match.entities) or "unknown"))
        rows = [
            (snapshot.tool_id(use.tool), use.parameter, "output" if use.output else "input", use.entity, use.source)
            for use in match.uses[:limit]
        ]
        stdout.print(table("Parameters", ("tool", "parameter", "", "entity", "known from"), rows))
        if len(match.uses) > limit:
            stdout.print(f"… {len(match.uses) - limit} more parameters (--limit)")
    if len(matches) > limit:
        stdout.print(f"… {len(matches) - limit} more shapes (--limit)")


def matches_to_json(snapshot: Snapshot, matches: Sequence[ShapeMatch]) -> list[dict[str, Any]]:
    """Return the JSON form of the shapes of a value."""
    return [
        {
            "value": match.text,
            "pattern": match.shape.pattern,
            "kind": match.shape.kind,
            "specificity": match.specificity,
            "entities": list(match.entities),
            "parameters": [
                {
                    "tool_id": snapshot.tool_id(use.tool),
                    "parameter": use.parameter,
                    "output": use.output,
                    "entity": use.entity,
                    "source": use.source,
                }
                for use in match.uses
            ],
        }
        for match in matches
    ]


_DESCRIPTION_CHARS = 300
_MAX_ALTERNATIVES = 3
_MAX_PLACES = 3  # maximum number of places shown as evidence of an edge


def show(
    entity: Annotated[
        str, typer.Argument(help="A tool id, a node key (type:name), a name in any of its forms, or a value.")
    ],
    store: Store = DEFAULT_STORE,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of edges.")] = 40,
    as_json: Json = False,
) -> None:
    """Show an entity or a tool: its surface forms and its ego graph. Of a value (INC0012345): which parameters have such values."""
    from inference.encoder import HashingEncoder
    from retrieval.engine import SnapshotEngine
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store)
    keys, matches = _keys(snapshot, entity), value_matches(snapshot, entity)
    if not keys and not matches:
        raise NotFoundError(
            "the graph has no node with this name", subject=entity, remedy=_alternatives(snapshot, entity)
        )
    engine = SnapshotEngine(snapshot, HashingEncoder())  # nothing is encoded here, so no model is loaded
    egos = [engine.neighbors(key, limit=limit) for key in keys]
    if as_json:
        nodes = [_to_json(snapshot, ego) for ego in egos]
        values = matches_to_json(snapshot, matches)
        print_json({"snapshot_id": snapshot.id, "nodes": nodes, "values": values})
        return
    for ego in egos:
        _show(snapshot, ego)
    show_matches(snapshot, matches, limit)


def _keys(snapshot: Snapshot, entity: str) -> list[str]:
    """The keys of every node that a tool id, a node key, or a name in any of its forms may mean."""
    for key in (entity, f"tool:{entity}"):
        if snapshot.find_node(key) is not None:
            return [key]
    name = canonical_name(entity, snapshot.abbreviations)
    keyed = [f"{kind}:{name}" for kind in snapshot.manifest.counts.nodes if kind != "tool"]
    found = [key for key in keyed if snapshot.find_node(key) is not None]
    named = [snapshot.node_key(int(number)) for number in snapshot.ngrams[name]]  # also by a synonym or an alias
    return list(dict.fromkeys((*found, *named)))


def _alternatives(snapshot: Snapshot, entity: str) -> str:
    """The remedy for a name that no node has: names that differ by a few letters."""
    names = (
        snapshot.node_key(number).partition(":")[2] for number in range(sum(snapshot.manifest.counts.nodes.values()))
    )
    near = get_close_matches(canonical_name(entity, snapshot.abbreviations), sorted(set(names)), n=_MAX_ALTERNATIVES)
    return f"Is it {' or '.join(map(repr, near))}" if near else "Try `egotools search` with the same words"


def _show(snapshot: Snapshot, ego: EgoGraph) -> None:
    center = ego.center
    stdout.print(f"[bold]{plain(center.key)}[/] ({plain(center.type)}), degree {center.degree}")
    forms = _forms(snapshot, center)
    if forms:
        stdout.print("  surface forms: " + plain(", ".join(f"{form} ({count})" for form, count in forms)))
    aliases = _aliases(snapshot, center)
    if aliases:
        stdout.print("  aliases: " + plain(", ".join(f"{alias} ({origin})" for alias, origin in aliases)))
    description = _description(snapshot, center)
    if description:
        stdout.print("  " + plain(description))
    rows = [(edge.head, edge.predicate, edge.tail, f"{edge.confidence:.2f}", _evidence(edge)) for edge in ego.edges]
    stdout.print(table("Ego graph", ("head", "predicate", "tail", "confidence", "evidence"), rows))
    if ego.truncated:
        stdout.print(f"… {ego.total_degree - len(ego.edges)} more edges (--limit)")


def _to_json(snapshot: Snapshot, ego: EgoGraph) -> dict[str, Any]:
    center = ego.center
    row: dict[str, Any] = {
        "key": center.key,
        "type": center.type,
        "name": center.name,
        "degree": center.degree,
        "forms": _forms(snapshot, center),
        "aliases": _aliases(snapshot, center),
        "edges": [
            {
                "head": edge.head,
                "predicate": edge.predicate,
                "tail": edge.tail,
                "confidence": edge.confidence,
                "evidence": _evidence(edge),
                "phrase": edge.phrase,
            }
            for edge in ego.edges
        ],
        "hidden_edges": ego.total_degree - len(ego.edges),
    }
    if not center.tool_id:
        return row
    return {**row, "description": _description(snapshot, center)}


def _forms(snapshot: Snapshot, node: GraphNode) -> SurfaceForms:
    number = snapshot.find_node(node.key)
    return snapshot.nodes[number].surface_forms if number is not None else ()


def _aliases(snapshot: Snapshot, node: GraphNode) -> Aliases:
    number = snapshot.find_node(node.key)
    return snapshot.nodes[number].aliases if number is not None else ()


def _description(snapshot: Snapshot, node: GraphNode) -> str:
    """The beginning of a tool's description; empty for another node."""
    if not node.tool_id:
        return ""
    return snapshot.tool(snapshot.tool_number(node.tool_id)).description[:_DESCRIPTION_CHARS]


def _evidence(edge: GraphEdge) -> str:
    return ", ".join(sorted({f"{place.tool_id} {place.field}" for place in edge.provenance})[:_MAX_PLACES])
