"""The tool graph of a snapshot for other programs: a JSON file, a Neo4j database, and the Ladybug file that questions are asked of.

In the Ladybug file each type of nodes has a table, and so has each predicate. Tools have their effect where it is known, and columns that
say where a node or an edge comes from, or that no edge of a type fills, are left out, so that its schema is short.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ontology.files import write_file
from ontology.tool_effects import known_effect_of
from planners.stores.bolt import BoltAddress, bolt_errors, driver_options
from planners.stores.ladybug import ColumnType, NodeTable, RelationshipTable, load_once
from planners.stores.statements import quoted_name
from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.cached_store import cache_folder

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.MultiDiGraph[str]


def export_graph(graph: Graph, path: Path) -> None:
    """Write a graph as node-link JSON, which ``networkx.node_link_graph(…, name="key", key="key", edges="edges")`` reads.

    :raises StorageError: when the file cannot be written; what stood there stays.
    """
    import networkx as nx

    data = nx.node_link_data(graph, name="key", key="key", edges="edges")
    write_file(path, json.dumps(data, default=astuple, indent=0) + "\n")


_LABEL, _BATCH = "EgotoolsNode", 1_000
_UNIQUE = f"CREATE CONSTRAINT egotools_node_key IF NOT EXISTS FOR (n:{_LABEL}) REQUIRE n.key IS UNIQUE"
_CLEAR = f"MATCH (n:{_LABEL}) CALL {{ WITH n DETACH DELETE n }} IN TRANSACTIONS OF 10000 ROWS"
_NODES = f"UNWIND $rows AS row CREATE (n:{_LABEL}) SET n = row"
_EDGES = (
    f"UNWIND $rows AS row MATCH (head:{_LABEL} {{key: row.head}}) MATCH (tail:{_LABEL} {{key: row.tail}}) "
    "CREATE (head)-[e:%s]->(tail) SET e = row.properties"
)


def write_neo4j(address: BoltAddress, graph: Graph) -> None:
    """Replace the tool graph in a database: every node has the label ``EgotoolsNode``, every edge its predicate as type.
    Other nodes stay. While it is written, a reader sees a part of it; a write that failed is done again from the start.

    :raises StorageError: when the server cannot be reached, or writing fails.
    """
    from neo4j import GraphDatabase

    edges: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for head, tail, key, data in graph.edges(keys=True, data=True):
        row = {"head": head, "tail": tail, "properties": _flat({"key": key, **data})}
        edges[quoted_name(_relation(data["predicate"]), "bolt")].append(row)
    nodes = [_flat({"key": key, **data}) for key, data in graph.nodes(data=True)]
    with (
        bolt_errors(address),
        GraphDatabase.driver(address.uri, **driver_options(address)) as driver,
        driver.session(database=address.database) as session,
    ):
        for statement in (_UNIQUE, _CLEAR):
            session.run(statement).consume()
        for statement, rows in [(_NODES, nodes), *((_EDGES % name, edges[name]) for name in sorted(edges))]:
            for start in range(0, len(rows), _BATCH):
                session.run(statement, {"rows": rows[start : start + _BATCH]}).consume()


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes as properties of a database: what is a list is JSON text."""
    listed = (list, tuple)
    return {
        name: json.dumps(value, default=astuple, ensure_ascii=False) if isinstance(value, listed) else value
        for name, value in data.items()
    }


def _relation(predicate: str) -> str:
    """The type of relationships of a predicate (``HAS_PARAMETER``)."""
    return re.sub(r"\W+", "_", predicate).upper()


_LAYOUT = 4  # of the Ladybug files: part of their names; it changes with what this module makes of the same snapshot
_NODE_COLUMNS: Mapping[str, ColumnType] = {"id": "string", "name": "string", "text": "string", "degree": "integer"}
_EDGE_COLUMNS: Mapping[str, ColumnType] = {
    "confidence": "number",
    "parameter": "string",
    "output": "string",
    "entity": "string",
    "field": "string",
}


def tool_graph_file(store: Path, folder: Path | None = None) -> Path:
    """Return the Ladybug file of a store's published snapshot, in a folder of such files (the user's cache where None):
    loaded on first use, and kept by the snapshot's id.

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
    for key, data in graph.nodes(data=True):
        by_type[data["type"]].append([key, *(data[column] for column in _NODE_COLUMNS), effects.get(key)])
    columns: tuple[tuple[str, ColumnType], ...] = (("key", "string"), *_NODE_COLUMNS.items(), ("effect", "string"))
    nodes = [NodeTable(type=kind, columns=columns, key="key", rows=rows) for kind, rows in by_type.items()]
    rows_of: dict[str, dict[tuple[str, str], list[list[object]]]] = defaultdict(lambda: defaultdict(list))
    for head, tail, data in graph.edges(data=True):
        ends = graph.nodes[head]["type"], graph.nodes[tail]["type"]
        cells = [data.get(column) for column in _EDGE_COLUMNS]
        rows_of[_relation(data["predicate"])][ends].append([head, tail, *cells])
    edges = []
    for name in sorted(rows_of):  # a table for each pair of types; all have the columns that any of them fills
        every = [row for rows in rows_of[name].values() for row in rows]
        filled = [at for at in range(len(_EDGE_COLUMNS)) if any(row[at + 2] is not None for row in every)]
        typed = tuple(list(_EDGE_COLUMNS.items())[at] for at in filled)
        for (source, target), rows in rows_of[name].items():
            cells_of = [[*row[:2], *(row[at + 2] for at in filled)] for row in rows]
            edges.append(
                RelationshipTable(type=name, source_type=source, target_type=target, columns=typed, rows=cells_of)
            )
    return nodes, edges
