"""The seam of graphs that are only read: graphs of any size, that belong to somebody else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias

from planners.stores.graph_schema import GraphSchema
from planners.stores.property_graph import QueryLimits, Value

__all__ = ["CypherDialect", "ReadableGraph", "RowStream"]

CypherDialect: TypeAlias = Literal["ladybug", "bolt"]
"""Which Cypher: that of Ladybug, whose paths are walks, or that of Neo4j, whose paths are trails."""


class RowStream(Protocol):
    """The rows of a query, as the engine gives them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    @property
    def cut(self) -> bool:
        """After the last batch: whether there were more rows than the limit."""
        ...

    def batches(self) -> AsyncIterator[Sequence[tuple[object, ...]]]:
        """Yield batches of rows; values are JSON values. Memory is that of one batch.

        A node as a value is ``{"id": …, "label": …, "properties": {…}}``, a relationship ``{"type", "source", "target", "properties"}``
        with ids of its ends, a path ``{"nodes": […], "edges": […]}``.

        :raises StatementError: when the query fails or takes too long.
        :raises StorageError: when the engine ends or cannot be reached.
        """
        ...


class ReadableGraph(Protocol):
    """One graph. It is never written, whatever a query says. Concurrent calls are allowed."""

    @property
    def dialect(self) -> CypherDialect:
        """Which Cypher it is asked in."""
        ...

    async def schema(self) -> GraphSchema:
        """Return the types as the engine has them now, without counts: cheap enough to ask at the beginning of each question.

        :raises StorageError: when the engine cannot be reached.
        """
        ...

    async def census(self) -> GraphSchema:
        """Return the types with counts, ranges, samples and degrees: one query for each type.

        :raises StorageError: when the engine cannot be reached.
        """
        ...

    def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = ...
    ) -> AbstractAsyncContextManager[RowStream]:
        """Run a query in a transaction that cannot write. What a model wrote passes ``allowed_cypher`` first: it is the caller's duty.

        :raises StatementError: when the query is refused or fails.
        :raises StorageError: when the engine cannot be reached, is locked, or failed.
        """
        ...
