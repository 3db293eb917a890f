"""Neo4j over Bolt: addresses, errors without passwords; and a tool graph written into a database (``egotools export neo4j:…``)."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ontology.errors import InvalidArgumentError, MissingExtraError, StorageError
from ontology.redaction import redacted_url

if TYPE_CHECKING:
    import networkx as nx

_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_TIMEOUT_S = 10.0
"""Seconds for a connection, and for repeated attempts of a transaction; chosen as several times what a loaded server takes."""


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


_LABEL, _BATCH = "EgotoolsNode", 1_000
_UNIQUE = f"CREATE CONSTRAINT egotools_node_key IF NOT EXISTS FOR (n:{_LABEL}) REQUIRE n.key IS UNIQUE"
_CLEAR = f"MATCH (n:{_LABEL}) CALL {{ WITH n DETACH DELETE n }} IN TRANSACTIONS OF 10000 ROWS"
_NODES = f"UNWIND $rows AS row CREATE (n:{_LABEL}) SET n = row"
_EDGES = (
    f"UNWIND $rows AS row MATCH (head:{_LABEL} {{key: row.head}}) MATCH (tail:{_LABEL} {{key: row.tail}}) "
    "CREATE (head)-[e:%s]->(tail) SET e = row.properties"
)


def write_neo4j(address: BoltAddress, graph: nx.MultiDiGraph[str]) -> None:
    """Replace the tool graph in a database: every node has the label ``EgotoolsNode``, every edge its predicate as type.
    Other nodes stay. While it is written, a reader sees a part of it; a write that failed is done again from the start.

    :raises StorageError: when the server cannot be reached, or writing fails.
    """
    from neo4j import GraphDatabase

    edges: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for head, tail, key, data in graph.edges(keys=True, data=True):
        row = {"head": head, "tail": tail, "properties": _flat({"key": key, **data})}
        edges[f"`{relation(data['predicate'])}`"].append(row)
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


def relation(predicate: str) -> str:
    """The type of relationships of a predicate (``HAS_PARAMETER``)."""
    return re.sub(r"\W+", "_", predicate).upper()
