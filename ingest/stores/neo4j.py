"""The graph store Neo4j, over Bolt.

First all nodes and edges are merged with the id of this build. Then those with another build id are removed. So during a
write a reader sees at least the old graph.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ingest.export import NODE_LABEL, batches, edge_rows, node_rows, relations
from ingest.stores.bolt_connection import bolt_session, parse_bolt_address
from ingest.stores.graph_store import Counts, check_counts, counts_of

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Neo4jStore"]

_ROWS_A_BATCH = 1_000


class Neo4jStore:
    """Storage in a Neo4j database: every node has the label ``EgotoolsNode``, every edge its predicate as type.

    :param url: ``bolt://user:password@host:port/database``; errors and logs never show the password.
    """

    name = "neo4j.v1"

    def __init__(self, url: str) -> None:
        self._place = parse_bolt_address(url, feature="the graph store Neo4j")
        self.address = self._place.shown

    def __repr__(self) -> str:
        return f"Neo4jStore({self.address!r})"

    def write(self, graph: nx.MultiDiGraph[str]) -> Counts:
        """Merge the graph in batches, remove nodes and edges of other builds, and return the counts."""
        build = _build_id(graph)
        with bolt_session(self._place) as session:
            session.run(
                f"CREATE CONSTRAINT egotools_node_key IF NOT EXISTS FOR (n:{NODE_LABEL}) REQUIRE n.key IS UNIQUE"
            ).consume()
            _merge_nodes(session, graph, build)
            _merge_edges(session, graph, build)
            _remove_others(session, build)
            found = _counts(session)
        return check_counts(counts_of(graph), found, subject=self.address)

    def counts(self) -> Counts:
        """Return the number of nodes with the label ``EgotoolsNode`` and of edges between them."""
        with bolt_session(self._place) as session:
            return _counts(session)


def _merge_nodes(session: Any, graph: nx.MultiDiGraph[str], build: str) -> None:
    for batch in batches(node_rows(graph), _ROWS_A_BATCH):
        _run(
            session,
            f"UNWIND $rows AS row MERGE (n:{NODE_LABEL} {{key: row.key}}) SET n = row SET n.build = $build",
            batch,
            build,
        )


def _merge_edges(session: Any, graph: nx.MultiDiGraph[str], build: str) -> None:
    for name in relations(graph):
        statement = (
            f"UNWIND $rows AS row MATCH (head:{NODE_LABEL} {{key: row.head}}) MATCH (tail:{NODE_LABEL} {{key: row.tail}}) "
            f"MERGE (head)-[e:{name} {{key: row.properties.key}}]->(tail) SET e = row.properties SET e.build = $build"
        )
        rows = ({"head": row.pop("head"), "tail": row.pop("tail"), "properties": row} for row in edge_rows(graph, name))
        for batch in batches(rows, _ROWS_A_BATCH):
            _run(session, statement, batch, build)


def _remove_others(session: Any, build: str) -> None:
    """Remove the edges and nodes of other builds, at most 10,000 in one transaction."""
    for statement in (
        f"MATCH (:{NODE_LABEL})-[e]->(:{NODE_LABEL}) WHERE e.build <> $build WITH e LIMIT 10000 DELETE e RETURN count(e) AS removed",
        f"MATCH (n:{NODE_LABEL}) WHERE n.build <> $build WITH n LIMIT 10000 DETACH DELETE n RETURN count(n) AS removed",
    ):
        while session.execute_write(_single, statement, {"build": build}):
            pass


def _run(session: Any, statement: str, rows: Sequence[dict[str, Any]], build: str) -> None:
    session.execute_write(_consume, statement, {"rows": list(rows), "build": build})


def _consume(transaction: Any, statement: str, parameters: dict[str, Any]) -> None:
    transaction.run(statement, parameters).consume()


def _single(transaction: Any, statement: str, parameters: dict[str, Any]) -> int:
    return int(transaction.run(statement, parameters).single()[0])


def _counts(session: Any) -> Counts:
    nodes = session.execute_read(_single, f"MATCH (n:{NODE_LABEL}) RETURN count(n) AS nodes", {})
    edges = session.execute_read(_single, f"MATCH (:{NODE_LABEL})-[e]->(:{NODE_LABEL}) RETURN count(e) AS edges", {})
    return Counts(nodes=nodes, edges=edges)


def _build_id(graph: nx.MultiDiGraph[str]) -> str:
    """Return a hash of the whole graph. To write the same graph again removes nothing."""
    digest = hashlib.sha256()
    for rows in (node_rows(graph), edge_rows(graph)):
        for row in rows:
            digest.update(repr(sorted(row.items())).encode())
    return digest.hexdigest()[:32]
