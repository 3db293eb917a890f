"""Operators run one after another on one graph, with results on disk; nodes of results come back as the keys of the graph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.cypher_text import Compiled
from planners.graphseek.operators.operator import OperatorContext, check_arguments, known_operators
from planners.graphseek.results import Result, ResultStore
from planners.stores.bolt import open_bolt_reader
from planners.stores.graph_schema import GraphSchema, ReadableGraph
from planners.stores.ladybug import load_graph, open_ladybug_reader
from planners.stores.property_graph import QueryLimits
from tests.planners.graphseek.operators.random_graph import RandomGraph, graph_tables, write_neo4j

OPERATORS = known_operators()
SECONDS = 45.0


@dataclass
class Runs:
    """A graph and the results of a run.

    :param keys: id of the graph → key.
    :ivar queries: of the last call.
    """

    graph: ReadableGraph
    schema: GraphSchema
    catalog: SemanticCatalog
    results: ResultStore
    keys: Mapping[str, str] = field(default_factory=dict)
    queries: list[Compiled] = field(default_factory=list)

    async def call(self, operator: str, **arguments: Any) -> Result:
        """Run an operator; the arguments are checked against its schema first."""
        known = OPERATORS[operator]
        check_arguments(arguments, known.parameters(self.schema, self.results.handles))
        self.queries = []
        results = self.results.for_invocation()
        context = OperatorContext(
            graph=self.graph,
            schema=self.schema,
            catalog=self.catalog,
            results=results,
            seconds=SECONDS,
            ran=self.queries.append,
        )
        return await known.runs(arguments, context)

    async def rows(self, operator: str, **arguments: Any) -> list[dict[str, Any]]:
        """Run an operator that gives a table, and return its rows; nodes as keys."""
        result = await self.call(operator, **arguments)
        rows = await self.results.rows(result.handle, limit=100_000)
        return [
            {
                column.name: self.keys[str(cell)] if column.type == "node" else cell
                for column, cell in zip(result.columns, row, strict=True)
            }
            for row in rows
        ]


@asynccontextmanager
async def ladybug_runs(graph: RandomGraph, folder: Path, catalog: SemanticCatalog) -> AsyncIterator[Runs]:
    """Write a graph into a new folder and open it."""
    load_graph(folder / "graph.lbdb", *graph_tables(graph))
    async with open_ladybug_reader(folder / "graph.lbdb") as reader:
        keys = {f"{graph.types[key]}:{key}": key for key in graph.types}
        yield Runs(reader, await reader.schema(), catalog, ResultStore(folder / "results"), keys)


@asynccontextmanager
async def bolt_runs(graph: RandomGraph, address: str, folder: Path, catalog: SemanticCatalog) -> AsyncIterator[Runs]:
    """Write a graph into a database and open it."""
    write_neo4j(graph, address)
    async with open_bolt_reader(address) as reader:
        rows = (await reader.read("MATCH (n) RETURN elementId(n), n.key", {}, QueryLimits())).rows
        keys = {str(id_): str(key) for id_, key in rows}
        yield Runs(reader, await reader.schema(), catalog, ResultStore(folder / "results"), keys)
    write_neo4j(None, address)  # the next test wants it empty
