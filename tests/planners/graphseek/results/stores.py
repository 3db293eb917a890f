"""Tables for stores, and what a context of operators needs when no graph is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import cast

from planners.graphseek.catalog import SemanticCatalog
from planners.graphseek.operators.operator import OperatorContext
from planners.graphseek.results import Cell, ColumnType, Result, ResultColumn, ResultStore, TableRows
from planners.stores.graph_schema import GraphSchema, ReadableGraph

SCHEMA = GraphSchema(nodes=(), relationships=())


def column(name: str, kind: ColumnType = "string") -> ResultColumn:
    return ResultColumn(name=name, type=kind, node_type="VehicleModel" if kind == "node" else "")


def table(columns: Iterable[ResultColumn], rows: Sequence[tuple[Cell, ...]], *, batch: int = 3) -> TableRows:
    async def batches() -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
        for start in range(0, len(rows), batch):
            yield rows[start : start + batch]

    return TableRows(columns=tuple(columns), batches=batches())


async def kept(
    store: ResultStore,
    columns: Iterable[ResultColumn],
    rows: Sequence[tuple[Cell, ...]],
    *,
    most: int = 10**6,
    title: str = "a table",
) -> Result:
    return await store.keep_table(table(columns, rows), title=title, most=most)


def context(store: ResultStore) -> OperatorContext:
    graph = cast(ReadableGraph, None)
    return OperatorContext(graph=graph, schema=SCHEMA, catalog=SemanticCatalog(), results=store, seconds=30)
