"""The graph store Neo4j, over Bolt.

First all nodes and edges are merged with the id of this build. Then those with another build id are removed. So during a
write a reader sees at least the old graph.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ingest.export import NODE_LABEL
from ingest.graph_rows import batches, edge_rows, node_rows, relations
from ingest.stores.graph_store import Counts, check_counts, counts_of
from ontology.errors import InvalidArgumentError, MissingExtraError, StorageError
from ontology.redaction import redacted_url

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Neo4jStore"]

_ROWS_A_BATCH = 1_000
_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_TIMEOUT_S = 10.0


class Neo4jStore:
    """Storage in a Neo4j database: every node has the label ``EgotoolsNode``, every edge its predicate as type.

    :param url: ``bolt://user:password@host:port/database``; errors and logs never show the password.
    """

    name = "neo4j.v1"

    def __init__(self, url: str) -> None:
        if importlib.util.find_spec("neo4j") is None:
            raise MissingExtraError("the graph store Neo4j", extra="neo4j")
        parts = urlsplit(url)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
        try:
            port = f":{parts.port}" if parts.port else ""
        except ValueError:  # a "/" in the password may stand before the end of the user's part
            raise _not_an_address(redacted_url(url)) from None
        self._uri = f"{parts.scheme}://{host}{port}"
        self._database = parts.path.strip("/") or None
        masked = f"{self._user}:***@" if self._password else f"{self._user}@" if self._user else ""
        self.address = f"{parts.scheme}://{masked}{host}{port}{parts.path}"
        if parts.scheme not in _SCHEMES or not host:
            raise _not_an_address(self.address)

    def __repr__(self) -> str:
        return f"Neo4jStore({self.address!r})"

    def write(self, graph: nx.MultiDiGraph[str]) -> Counts:
        """Merge the graph in batches, remove nodes and edges of other builds, and return the counts."""
        build = _build_id(graph)
        with self._session() as session:
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
        with self._session() as session:
            return _counts(session)

    @contextlib.contextmanager
    def _session(self) -> Iterator[Any]:
        from neo4j import GraphDatabase
        from neo4j.exceptions import DriverError, Neo4jError

        auth = (self._user, self._password) if self._user else None
        try:
            with (
                GraphDatabase.driver(
                    self._uri, auth=auth, connection_timeout=_TIMEOUT_S, max_transaction_retry_time=_TIMEOUT_S
                ) as driver,
                driver.session(database=self._database) as session,
            ):
                driver.verify_connectivity()  # fail at once when the server is down, not after all retries
                yield session
        except (DriverError, Neo4jError, OSError, ValueError) as error:
            problem = str(error).split("\n", 1)[0].strip().rstrip(".") or type(error).__name__
            if self._password:
                problem = problem.replace(self._password, "***")
            raise StorageError(
                f"the Neo4j database cannot be read or written: {problem}",
                subject=self.address,
                remedy="Check that it runs, that the address and password are right and that the user may write",
            ) from None


def _not_an_address(shown: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "the address of a Neo4j must be bolt://user:password@host:port",
        subject=shown,
        remedy=f"Begin it with one of: {', '.join(_SCHEMES)}",
    )


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
