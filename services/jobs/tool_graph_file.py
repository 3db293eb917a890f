"""The tool graph of a snapshot as a Ladybug file that questions are asked of: loaded on first use, and kept by the snapshot's id.

Each type of nodes has a table, and so has each predicate. Tools have their effect where it is known, cells without a value are null, and
columns that say where a node or an edge comes from, or that no edge of a type fills, are left out, so that its schema is short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.export import edge_rows, node_rows, relations
from ontology.tool_effects import known_effect_of
from planners.stores.ladybug import ColumnType, NodeTable, RelationshipTable, load_once
from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.cached_store import cache_folder

if TYPE_CHECKING:
    pass

_LAYOUT = 4  # of the files: part of their names; it changes with what this module makes of the same snapshot
_NODE_COLUMNS: Mapping[str, ColumnType] = {
    "key": "string",
    "id": "string",
    "name": "string",
    "text": "string",
    "degree": "integer",
}
_EDGE_COLUMNS: Mapping[str, ColumnType] = {
    "confidence": "number",
    "parameter": "string",
    "output": "string",
    "entity": "string",
    "field": "string",
}


def tool_graph_file(store: Path, folder: Path | None = None) -> Path:
    """Return the file of a store's published snapshot, in a folder of such files (the user's cache where None).

    :raises NotFoundError: when the store has no published snapshot; SnapshotError when it cannot be used.
    :raises StorageError: when the file cannot be written.
    """
    folder = folder or cache_folder("tool-graphs")
    published = current_snapshot(store)
    known = folder / f"{published.name}-{_LAYOUT}.lbdb"
    if published != store and known.exists():  # it is not read and checked once more
        return known
    snapshot = open_snapshot(store)
    try:
        return load_once(folder / f"{snapshot.manifest.snapshot_id}-{_LAYOUT}.lbdb", lambda: _tables(snapshot))
    finally:
        snapshot.release()


def _tables(snapshot: Snapshot) -> tuple[list[NodeTable], list[RelationshipTable]]:
    graph = snapshot_graph(snapshot)
    effects = {f"tool:{tool.id}": known_effect_of(tool) for tool in snapshot.tools}
    by_type: dict[str, list[list[object]]] = defaultdict(list)
    type_of: dict[str, str] = {}
    for node, row in zip(graph, node_rows(graph), strict=True):
        type_of[row["key"]] = row["type"]
        by_type[row["type"]].append([*(row[column] for column in _NODE_COLUMNS), effects.get(node)])
    columns = (*_NODE_COLUMNS.items(), ("effect", "string"))
    nodes = [NodeTable(type=kind, columns=columns, key="key", rows=rows) for kind, rows in by_type.items()]
    edges = []
    for name in relations(graph):  # a table for each pair of types; all have the columns that any of them fills
        pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for row in edge_rows(graph, name):
            pairs[type_of[row["head"]], type_of[row["tail"]]].append(row)
        every = [row for of in pairs.values() for row in of]
        filled = [column for column in _EDGE_COLUMNS if any(row[column] not in ("", None) for row in every)]
        typed = tuple((column, _EDGE_COLUMNS[column]) for column in filled)
        for (source, target), of in pairs.items():
            cells = [[None if row[each] == "" else row[each] for each in ("head", "tail", *filled)] for row in of]
            edges.append(
                RelationshipTable(type=name, source_type=source, target_type=target, columns=typed, rows=cells)
            )
    return nodes, edges
