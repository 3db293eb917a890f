"""The tool graph of a snapshot for other programs: a JSON file, and the Ladybug file that questions are asked of; and the store of the
shipped company, built once for each state of its documents, whose graph is asked where none is named.

In the Ladybug file each type of nodes has a table, and so has each predicate. Tools have their effect where it is known, and columns that
say where a node or an edge comes from, or that no edge of a type fills, are left out, so that its schema is short.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import astuple
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from examples.company.shipped_documents import SHIPPED_CATALOG
from ingest.neo4j import relation
from ontology.files import disk_errors, write_file
from ontology.tool_effects import known_effect_of
from planners.stores.ladybug import ColumnType, NodeTable, RelationshipTable, load_once
from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.reader import Snapshot, open_snapshot

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
        rows_of[relation(data["predicate"])][ends].append([head, tail, *cells])
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


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache, ``$XDG_CACHE_HOME/egotools/NAME``: what is in it can be made anew."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "egotools" / name


def shipped_store(folder: Path | None = None) -> Path:
    """Return a store with the tools of the shipped company, in a folder or the user's cache; where that has none of these documents, it is
    built, which takes some seconds. StorageError when it cannot be written."""
    texts = [f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in sorted(SHIPPED_CATALOG.glob("*.*"))]
    documents, folder = "\n".join(texts), folder or cache_folder("company")
    key = hashlib.sha256(f"{version('egotools')}\n{documents}".encode()).hexdigest()[:16]
    store = folder / key
    if (store / "CURRENT").exists():
        return store
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    with disk_errors(store):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        build_snapshot([str(SHIPPED_CATALOG)], building / key, encoder=load_encoder(DEFAULT_ENCODER, workers=1))
        with contextlib.suppress(OSError):  # another process was faster
            (building / key).rename(store)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return store
