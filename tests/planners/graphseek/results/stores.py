"""Tables for stores, and what a context of operators needs when no graph is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.operator import OperatorContext
from planners.graphseek.results import Cell, ColumnType, Result, ResultColumn, ResultStore
from planners.stores.graph_schema import GraphSchema, ReadableGraph

SCHEMA = GraphSchema(nodes=(), relationships=())


def column(name: str, kind: ColumnType = "string") -> ResultColumn:
    return ResultColumn(name=name, type=kind, node_type="VehicleModel" if kind == "node" else "")


async def kept(store: ResultStore, columns: Sequence[ResultColumn], rows: Sequence[tuple[Cell, ...]]) -> Result:
    return await store.keep_table(columns, rows, title="a table")


def context(store: ResultStore) -> OperatorContext:
    graph = cast(ReadableGraph, None)
    return OperatorContext(graph=graph, schema=SCHEMA, catalog=SemanticCatalog(), results=store, seconds=30)
