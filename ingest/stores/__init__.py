"""Graph stores for a ToolGraph: in memory, in the embedded graph database Ladybug, in a Neo4j database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ingest.stores.graph_store import Counts, GraphStore
from ingest.stores.in_memory import MemoryStore
from ingest.stores.ladybug import LadybugStore
from ingest.stores.neo4j import Neo4jStore
from ontology.errors import InvalidArgumentError

__all__ = ["STORES", "Counts", "GraphStore", "LadybugStore", "MemoryStore", "Neo4jStore", "open_store"]

STORES = ("memory", "ladybug:PATH", "neo4j:bolt://user:password@host:port")
"""The address formats that :func:`open_store` accepts."""


def open_store(address: str) -> GraphStore:
    """Return the store at an address.

    :param address: ``memory``, ``ladybug:PATH`` or ``neo4j:bolt://user:password@host:port``.
    :raises InvalidArgumentError: for any other address.
    :raises MissingExtraError: when the store's package is not installed.
    """
    kind, _, rest = address.partition(":")
    known: dict[str, Callable[[], GraphStore]] = {
        "ladybug": lambda: LadybugStore(Path(rest)),
        "neo4j": lambda: Neo4jStore(rest),
    }
    if address == "memory":
        return MemoryStore()
    if kind in known and rest:
        return known[kind]()
    # The error shows only the kind, because the rest of the address may contain a password.
    raise InvalidArgumentError(
        f"the graph store {kind!r} is not known" if kind not in known else f"the graph store {kind!r} needs an address",
        subject="graph-store",
        remedy=f"Choose one of: {', '.join(STORES)}",
    )
