"""The graph as flat rows of text and numbers, for file formats and databases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from ontology.tool_graph import EdgeAttributes, NodeAttributes

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "EDGE_COLUMNS",
    "NODE_COLUMNS",
    "Row",
    "batches",
    "clean",
    "edge_rows",
    "node_rows",
    "relation",
    "relations",
]

Row: TypeAlias = dict[str, Any]
"""Map from column name to a text or a number."""
_Row = TypeVar("_Row")
_EdgeItem = tuple[str, str, str, EdgeAttributes]

# Characters that XML or UTF-8 does not allow, and NUL, which ends a C string.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


NODE_COLUMNS = {"key": str, "type": str, "id": str, "name": str, "text": str, "degree": int, "surface_forms": str}
"""Map from node column to its type; ``surface_forms`` is JSON: a list of [form, count]."""
EDGE_COLUMNS = {
    "key": str,
    "predicate": str,
    "confidence": float,
    "evidence_count": int,
    "parameter": str,
    "output": str,
    "entity": str,
    "field": str,
    "phrases": str,
    "provenance": str,
}
"""Map from edge column to its type, without ``head`` and ``tail``; ``phrases`` and ``provenance`` are JSON."""


def clean(text: str) -> str:
    """Return the text with U+FFFD in place of characters that files and databases cannot store."""
    return _UNPRINTABLE.sub("\ufffd", text) if _UNPRINTABLE.search(text) else text


def node_rows(graph: nx.MultiDiGraph[str]) -> Iterator[Row]:
    """Yield one row for each node, in the graph's order. Keys that cleaning makes equal get ``~`` at their end."""
    keys = _keys(graph)
    for node in graph:
        data = cast("NodeAttributes", graph.nodes[node])
        yield dict(
            key=keys[node],
            type=clean(data["type"]),
            id=clean(data["id"]),
            name=clean(data["name"]),
            text=clean(data["text"]),
            degree=data["degree"],
            surface_forms=_json_text(data["surface_forms"]),
        )


def edge_rows(graph: nx.MultiDiGraph[str], relation_name: str = "") -> Iterator[Row]:
    """Yield one row for each edge, in the graph's order.

    :param relation_name: only the edges of this relation (see :func:`relation`); all edges when it is empty.
    """
    keys = _keys(graph)
    for head, tail, key, data in _edges(graph):
        if not relation_name or relation(data["predicate"]) == relation_name:
            yield dict(
                head=keys[head],
                tail=keys[tail],
                key=clean(key),
                predicate=clean(data["predicate"]),
                confidence=data["confidence"],
                evidence_count=data["evidence_count"],
                parameter=clean(data.get("parameter", "")),
                output=clean(data.get("output", "")),
                entity=clean(data.get("entity", "")),
                field=clean(data.get("field", "")),
                phrases=_json_text(data["phrases"]),
                provenance=_json_text(
                    (one.tool_id, one.field, one.extractor, one.start, one.end) for one in data["provenance"]
                ),
            )


def relations(graph: nx.MultiDiGraph[str]) -> list[str]:
    """Return the names of all relations of a graph, sorted."""
    return sorted({relation(data["predicate"]) for *_, data in _edges(graph)})


@cache
def relation(predicate: str) -> str:
    """Return a predicate's name as a Cypher relationship type: ``HAS_PARAMETER``."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", predicate).strip("_").upper() or "RELATED"
    return name if name[0].isalpha() else f"P_{name}"


def batches(rows: Iterable[_Row], size: int) -> Iterator[Sequence[_Row]]:
    """Yield the rows in lists of at most ``size``."""
    batch: list[_Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _edges(graph: nx.MultiDiGraph[str]) -> Iterator[_EdgeItem]:
    return cast("Iterator[_EdgeItem]", iter(graph.edges(keys=True, data=True)))


def _keys(graph: nx.MultiDiGraph[str]) -> dict[str, str]:
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for node in graph:
        key = clean(node)
        while key in taken:
            key += "~"
        taken.add(key)
        keys[node] = key
    return keys


def _json_text(items: Iterable[Any]) -> str:
    return clean(json.dumps(list(items), ensure_ascii=False))
