"""Neo4j over Bolt: addresses, errors without passwords; and a tool graph written into a database (``egotools export neo4j:…``)."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ingest.export import NODE_LABEL, batches, edge_rows, node_rows, relations
from ontology.errors import InvalidArgumentError, MissingExtraError, StorageError
from ontology.redaction import redacted_url

if TYPE_CHECKING:
    import networkx as nx


_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_TIMEOUT_S = 10.0
"""Seconds for a connection, and for repeated attempts of a transaction; chosen as several times what a loaded server takes."""
_ROWS_A_BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BoltAddress:
    """Where a database is.

    :param uri: for the driver, without user and password.
    :param database: its name, or None for the default of the server.
    :param shown: the address as errors and logs show it.
    """

    uri: str
    user: str
    password: str = field(repr=False)
    database: str | None
    shown: str


def parse_bolt_address(url: str, *, feature: str) -> BoltAddress:
    """Return the parts of ``bolt://user:password@host:port/database``.

    :param feature: what needs the driver, for the error.
    :raises InvalidArgumentError: when it is no such address.
    :raises MissingExtraError: when the driver is not installed.
    """
    if importlib.util.find_spec("neo4j") is None:
        raise MissingExtraError(feature, extra="neo4j")
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    masked = f"{user}:***@" if password else f"{user}@" if user else ""
    try:
        port = f":{parts.port}" if parts.port else ""
        shown = f"{parts.scheme}://{masked}{host}{port}{parts.path}"
        is_address = parts.scheme in _SCHEMES and host
    except ValueError:  # a "/" in the password may stand before the end of the user's part
        port, shown, is_address = "", redacted_url(url), ""
    if not is_address:
        problem = "the address of a Neo4j must be bolt://user:password@host:port"
        raise InvalidArgumentError(problem, subject=shown, remedy=f"Begin it with one of: {', '.join(_SCHEMES)}")
    uri, database = f"{parts.scheme}://{host}{port}", parts.path.strip("/") or None
    return BoltAddress(uri=uri, user=user, password=password, database=database, shown=shown)


def driver_options(address: BoltAddress) -> dict[str, Any]:
    """Return the options of a driver."""
    return {
        "auth": (address.user, address.password) if address.user else None,
        "connection_timeout": _TIMEOUT_S,
        "max_transaction_retry_time": _TIMEOUT_S,
    }


@contextlib.contextmanager
def bolt_errors(address: BoltAddress) -> Iterator[None]:
    """Turn the errors of the driver into ones that show no password.

    :raises StorageError: for each of them.
    """
    from neo4j.exceptions import DriverError, Neo4jError

    try:
        yield
    except (DriverError, Neo4jError, OSError, ValueError) as error:
        raise StorageError(
            f"the Neo4j database cannot be read or written: {shown_error(error, address)}",
            subject=address.shown,
            remedy="Check that it runs, that the address and password are right and that the user may write",
        ) from None


def shown_error(error: BaseException, address: BoltAddress) -> str:
    """Return the first line of an error, without the password and a full stop."""
    problem = str(error).split("\n", 1)[0].strip().rstrip(".") or type(error).__name__
    return problem.replace(address.password, "***") if address.password else problem


_UNIQUE = f"CREATE CONSTRAINT egotools_node_key IF NOT EXISTS FOR (n:{NODE_LABEL}) REQUIRE n.key IS UNIQUE"
_MERGE_NODES = f"UNWIND $rows AS row MERGE (n:{NODE_LABEL} {{key: row.key}}) SET n = row SET n.build = $build"
_MERGE_EDGES = (
    f"UNWIND $rows AS row MATCH (head:{NODE_LABEL} {{key: row.head}}) MATCH (tail:{NODE_LABEL} {{key: row.tail}}) "
    "MERGE (head)-[e:%s {key: row.properties.key}]->(tail) SET e = row.properties SET e.build = $build"
)
_REMOVE = (
    f"MATCH (:{NODE_LABEL})-[e]->(:{NODE_LABEL}) WHERE e.build <> $build WITH e LIMIT 10000 DELETE e RETURN count(e) AS removed",
    f"MATCH (n:{NODE_LABEL}) WHERE n.build <> $build WITH n LIMIT 10000 DETACH DELETE n RETURN count(n) AS removed",
)
_COUNT = (
    f"MATCH (n:{NODE_LABEL}) RETURN count(n) AS nodes",
    f"MATCH (:{NODE_LABEL})-[e]->(:{NODE_LABEL}) RETURN count(e) AS edges",
)


def write_neo4j(address: BoltAddress, graph: nx.MultiDiGraph[str]) -> None:
    """Replace the tool graph in a database: every node has the label ``EgotoolsNode``, every edge its predicate as type.

    All nodes and edges are merged with the hash of this graph, then those of another are removed: a reader sees at least the old graph.

    :raises StorageError: when the server cannot be reached, writing fails, or the database then holds another number of nodes or edges.
    """
    from neo4j import GraphDatabase

    digest = hashlib.sha256()  # of the whole graph: to write the same graph again removes nothing
    for row in chain(node_rows(graph), edge_rows(graph)):
        digest.update(repr(sorted(row.items())).encode())
    build = digest.hexdigest()[:32]
    with (
        bolt_errors(address),
        GraphDatabase.driver(address.uri, **driver_options(address)) as driver,
        driver.session(database=address.database) as session,
    ):
        driver.verify_connectivity()  # fail at once when the server is down, not after all retries
        session.run(_UNIQUE).consume()
        for batch in batches(node_rows(graph), _ROWS_A_BATCH):
            session.execute_write(_run, _MERGE_NODES, {"rows": batch, "build": build})
        for name in relations(graph):
            edges = edge_rows(graph, name)
            rows = ({"head": row.pop("head"), "tail": row.pop("tail"), "properties": row} for row in edges)
            for batch in batches(rows, _ROWS_A_BATCH):
                session.execute_write(_run, _MERGE_EDGES % name, {"rows": batch, "build": build})
        for statement in _REMOVE:
            while session.execute_write(_run, statement, {"build": build}):
                pass
        found = [session.execute_read(_run, statement, {}) for statement in _COUNT]
    expected = [graph.number_of_nodes(), graph.number_of_edges()]
    if found != expected:
        raise StorageError(
            f"the database holds {found[0]} nodes and {found[1]} edges after {expected[0]} nodes and {expected[1]} edges were written",
            subject=address.shown,
            remedy="Let nothing else write to it and write the graph again",
        )


def _run(transaction: Any, statement: str, parameters: dict[str, Any]) -> int:
    """Run a statement; return the number that it counts, 0 where it counts none."""
    rows = list(transaction.run(statement, parameters))
    return int(rows[0][0]) if rows else 0
