"""Property graphs: that of a task, which is written, and one that is only read; each is opened by the address of its store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from ontology.errors import InvalidArgumentError

if TYPE_CHECKING:
    from planners.calls.sandbox import Sandbox
    from planners.stores.graph_schema import ReadableGraph
    from planners.stores.property_graph import PropertyGraph

__all__ = ["GRAPH_ADDRESSES", "READABLE_ADDRESSES", "open_graph", "open_readable"]

GRAPH_ADDRESSES = ("memory", "neo4j:bolt://USER:PASSWORD@HOST:PORT", "rdf")  # what addresses of tasks' graphs look like
# What addresses of graphs that are only read look like
READABLE_ADDRESSES = ("ladybug:PATH", "csv:FOLDER", "neo4j:bolt://USER:PASSWORD@HOST:PORT")


@contextlib.asynccontextmanager
async def open_graph(address: str = "memory", sandbox: Sandbox | None = None) -> AsyncIterator[PropertyGraph]:
    """Open the graph of a task, and close it at the end.

    :param sandbox: runs the queries of a graph in ``memory``, or as RDF; one with the usual limits where None.
    :raises InvalidArgumentError: when it is no such address.
    :raises MissingExtraError: when the store needs a package that is not installed.
    :raises StorageError: when the store cannot be reached.
    """
    store, _, rest = address.partition(":")
    if store == "memory" and not rest:
        from planners.stores.memory_graph import MemoryGraph

        yield MemoryGraph(sandbox)
    elif store == "neo4j" and rest:
        from planners.stores.bolt import open_bolt_graph

        async with open_bolt_graph(rest) as bolt:
            yield bolt
    elif address == "rdf":
        from planners.stores.rdf import RdfGraph

        yield RdfGraph(sandbox)
    else:
        problem = f"no graph store has the address {store!r}"
        if store == "rdf":  # rdf:http://… was one
            problem = "graphs of tasks are no longer kept in a SPARQL endpoint"
        raise InvalidArgumentError(problem, subject="graph store", remedy=f"Use one of {', '.join(GRAPH_ADDRESSES)}")


@contextlib.asynccontextmanager
async def open_readable(address: str, cache: Path) -> AsyncIterator[ReadableGraph]:
    """Open a graph that is only read, and close it at the end.

    :param cache: folder where ``csv:`` is loaded into, once for each content.
    :raises DocumentError: when a file to be loaded is at fault; the subject is file and line.
    :raises InvalidArgumentError: when it is no such address.
    :raises MissingExtraError: when the store needs a package that is not installed.
    :raises StorageError: when the graph cannot be reached, read or loaded.
    """
    store, _, rest = address.partition(":")
    if store == "neo4j" and rest:
        from planners.stores.bolt import open_bolt_reader

        async with open_bolt_reader(rest) as bolt:
            yield bolt
        return
    problem = ""
    if not rest or store not in ("ladybug", "csv"):
        problem = f"no graph has the address {store[:80]!r}"
    elif "://" in rest:  # it may hold a password, so it is not shown
        problem = f"{store}: takes a path, and this is the address of a server"
    if problem:
        raise InvalidArgumentError(problem, subject="graph", remedy=f"Use one of {', '.join(READABLE_ADDRESSES)}")
    from planners.stores.ladybug import loaded_folder, open_ladybug_reader

    path = Path(rest)
    if store == "csv":
        path = await asyncio.to_thread(loaded_folder, path, cache)
    async with open_ladybug_reader(path) as ladybug:
        yield ladybug
