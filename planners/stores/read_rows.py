"""All rows of a query that the project itself asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planners.stores.property_graph import QueryLimits, Value

if TYPE_CHECKING:
    from planners.stores.readable_graph import ReadableGraph

__all__ = ["read_rows_of"]

_LIMITS = QueryLimits(rows=1_000_000, seconds=300.0)
"""Of queries about types, which give few rows; the time is for graphs tenfold the largest of ours, whose census takes seconds."""


async def read_rows_of(
    graph: ReadableGraph, text: str, parameters: Mapping[str, Value | None] | None = None
) -> list[list[Any]]:
    """Return the rows of a query.

    :raises StatementError: when it fails or takes too long.
    :raises StorageError: when the engine cannot be reached.
    """
    async with graph.read(text, parameters, _LIMITS) as stream:
        return [list(row) async for batch in stream.batches() for row in batch]
