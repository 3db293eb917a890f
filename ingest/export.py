"""The rows of a graph for other programs, and the graph as a JSON file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ontology.files import disk_errors, replacing

if TYPE_CHECKING:
    import networkx as nx


Row: TypeAlias = dict[str, Any]  # map from column name to a text or a number
# The Cypher label of the graph's nodes. It separates them from other data in the same database.
NODE_LABEL = "EgotoolsNode"
_FROM_EDGES = ("parameter", "output", "entity", "field")
# Map from edge column to its type, without ``head`` and ``tail``; ``phrases`` and ``provenance`` are JSON
EDGE_COLUMNS: Mapping[str, type] = {
    **{"key": str, "predicate": str, "confidence": float, "evidence_count": int},
    **dict.fromkeys((*_FROM_EDGES, "phrases", "provenance"), str),
}
_JSON_COLUMNS = ("surface_forms", "phrases", "provenance")
# Characters that XML or UTF-8 does not allow, and NUL, which ends a C string.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Return the text with U+FFFD in place of characters that files and databases cannot store."""
    return _UNPRINTABLE.sub("\ufffd", text)


def node_rows(graph: nx.MultiDiGraph[str]) -> Iterator[Row]:
    """Yield one row for each node, in the graph's order. Keys that cleaning makes equal get ``~`` at their end."""
    for node, key in _keys(graph).items():
        data = graph.nodes[node]
        texts = {name: clean(data[name]) for name in ("type", "id", "name", "text")}
        yield {"key": key, **texts, "degree": data["degree"], "surface_forms": _json_text(data["surface_forms"])}


def edge_rows(graph: nx.MultiDiGraph[str], relation_name: str = "") -> Iterator[Row]:
    """Yield one row for each edge, in the graph's order.

    :param relation_name: only the edges of this relation (see :func:`relations`); all edges when it is empty.
    """
    keys = _keys(graph)
    for head, tail, key, data in graph.edges(keys=True, data=True):
        if not relation_name or _relation(data["predicate"]) == relation_name:
            yield {
                "head": keys[head],
                "tail": keys[tail],
                "key": clean(key),
                "predicate": clean(data["predicate"]),
                "confidence": data["confidence"],
                "evidence_count": data["evidence_count"],
                **{name: clean(data.get(name, "")) for name in _FROM_EDGES},
                "phrases": _json_text(data["phrases"]),
                "provenance": _json_text(
                    (one.tool_id, one.field, one.extractor, one.start, one.end) for one in data["provenance"]
                ),
            }


def relations(graph: nx.MultiDiGraph[str]) -> list[str]:
    """Return the predicates of a graph as Cypher relationship types (``HAS_PARAMETER``), sorted."""
    return sorted({_relation(data["predicate"]) for *_, data in graph.edges(data=True)})


def batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield the rows in lists of at most ``size``."""
    left = iter(rows)
    while batch := list(islice(left, size)):
        yield batch


@cache
def _relation(predicate: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", predicate).strip("_").upper() or "RELATED"
    return name if name[0].isalpha() else f"P_{name}"


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


def export_graph(graph: nx.MultiDiGraph[str], path: Path) -> None:
    """Write the graph to ``path`` as node-link JSON, one node or edge a line; an existing file is replaced only when the new one is complete.

    Characters that it cannot represent (control characters, lone surrogates) become U+FFFD.

    :raises StorageError: when the file cannot be written.
    """
    attributes = json.dumps({str(key): value for key, value in sorted(graph.graph.items())}, ensure_ascii=False)
    edges = ({"source": row.pop("head"), "target": row.pop("tail"), **row} for row in edge_rows(graph))
    with (
        disk_errors(path, remedy="Check that the folder exists, can be written and has free space"),
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(f'{{"directed": true, "multigraph": true, "graph": {attributes},\n"nodes": [')
        file.writelines(_lines(node_rows(graph)))
        file.write('\n],\n"edges": [')
        file.writelines(_lines(edges))
        file.write("\n]}\n")


def _lines(rows: Iterable[Row]) -> Iterator[str]:
    for number, row in enumerate(rows):
        parsed = {name: json.loads(row[name] or "[]") for name in _JSON_COLUMNS if name in row}
        yield f"{',' if number else ''}\n {json.dumps(row | parsed, ensure_ascii=False)}"
