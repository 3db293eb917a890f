"""Opening the graph of a task by the address of its store."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from ontology.errors import InvalidArgumentError
from planners.calls.sandbox import Sandbox
from planners.stores.bolt.bolt_graph import open_bolt_graph
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import PropertyGraph
from planners.stores.rdf.rdf_graph import open_rdf_graph

__all__ = ["DEFAULT_STORE", "open_graph"]

DEFAULT_STORE = "memory"
GRAPH_ADDRESSES = ("memory", "neo4j:bolt://USER:PASSWORD@HOST:PORT", "rdf", "rdf:http://…")
"""What addresses look like."""


@contextlib.asynccontextmanager
async def open_graph(address: str = DEFAULT_STORE, sandbox: Sandbox | None = None) -> AsyncIterator[PropertyGraph]:
    """Open a graph, and close it at the end.

    ``memory`` and ``rdf`` start empty and end with the context; of the others their own modules say what is kept.

    :param sandbox: runs the Python of a graph in ``memory``; without one it refuses statements and queries.
    :raises InvalidArgumentError: when it is no such address.
    :raises MissingExtraError: when the store needs a package that is not installed.
    :raises StorageError: when the store cannot be reached.
    """
    store, _, rest = address.partition(":")
    if store == "memory" and not rest:
        yield MemoryGraph(sandbox)
    elif store == "neo4j" and rest:
        async with open_bolt_graph(rest) as bolt:
            yield bolt
    elif store == "rdf":
        async with open_rdf_graph(rest or None) as rdf:
            yield rdf
    else:
        raise InvalidArgumentError(
            f"no graph store has the address {store!r}",
            subject="graph store",
            remedy=f"Use one of {', '.join(GRAPH_ADDRESSES)}",
        )
