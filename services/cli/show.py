"""Look up an entity for the command ``egotools show``: its surface forms and its ego graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from egotools.values import EgoGraph
from ontology.errors import NotFoundError
from ontology.names import canonical_name
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot_engine import SnapshotEngine

__all__ = ["look_up"]

_DESCRIPTION_CHARS = 300


def look_up(store: Path, entity: str, *, limit: int) -> dict[str, Any]:
    """Return every node with this name, each with its surface forms and up to ``limit`` edges, as JSON values.

    :param entity: a tool id, a node key, or a name in any surface form ("POs" finds "purchase order").
    :raises NotFoundError: when the graph has no such node.
    """
    from inference.hashing import HashingEncoder

    snapshot = open_snapshot(store)
    engine = SnapshotEngine(snapshot, HashingEncoder())  # nothing is encoded here, so no model is loaded
    keys = _keys(snapshot, entity)
    if not keys:
        raise NotFoundError(
            "the graph has no such node", subject=entity, remedy="Try `egotools search` with the same words"
        )
    return {
        "snapshot_id": snapshot.id,
        "nodes": [_node(snapshot, engine.neighbors(key, limit=limit)) for key in keys],
    }


def _keys(snapshot: Snapshot, entity: str) -> list[str]:
    for key in (entity, f"tool:{entity}"):
        if snapshot.find_node(key) is not None:
            return [key]
    name = canonical_name(entity, snapshot.abbreviations)
    keyed = [f"{kind}:{name}" for kind in snapshot.manifest.counts.nodes if kind != "tool"]
    found = [key for key in keyed if snapshot.find_node(key) is not None]
    return found or [snapshot.node_key(int(number)) for number in snapshot.ngrams[name]]


def _node(snapshot: Snapshot, ego: EgoGraph) -> dict[str, Any]:
    center = ego.center
    number = snapshot.find_node(center.key)
    forms = snapshot.nodes[number].surface_forms if number is not None else ()
    found: dict[str, Any] = {
        "key": center.key,
        "type": center.type,
        "name": center.name,
        "degree": center.degree,
        "forms": [[form, count] for form, count in forms],
        "edges": [
            {
                "head": edge.head,
                "predicate": edge.predicate,
                "tail": edge.tail,
                "confidence": edge.confidence,
                "evidence": ", ".join(sorted({f"{p.tool_id} {p.field}" for p in edge.provenance})[:3]),
                "phrase": edge.phrase,
            }
            for edge in ego.edges
        ],
        "hidden_edges": ego.total_degree - len(ego.edges),
    }
    if center.tool_id:
        found["description"] = snapshot.tool(snapshot.tool_number(center.tool_id)).description[:_DESCRIPTION_CHARS]
    return found
