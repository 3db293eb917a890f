"""A readable graph that adds up how long its queries take, so that the rest of a run's time is known."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from planners.stores.graph_schema import CypherDialect, GraphSchema, ReadableGraph, RowStream
from planners.stores.property_graph import QueryLimits, Value

__all__ = ["TimedGraph", "read_all"]

_LIMITS = QueryLimits(rows=1_000_000, seconds=300.0)


async def read_all(graph: ReadableGraph, text: str) -> int:
    """Run a query and read all its rows; return how many there are."""
    async with graph.read(text, None, _LIMITS) as stream:
        return sum([len(batch) async for batch in stream.batches()])


class TimedGraph:
    """Implements :class:`planners.stores.graph_schema.ReadableGraph`.

    :ivar seconds: of queries: until the first rows, and then waiting for each further batch.
    """

    def __init__(self, graph: ReadableGraph) -> None:
        self._graph = graph
        self.seconds = 0.0

    @property
    def dialect(self) -> CypherDialect:
        """See :class:`ReadableGraph`."""
        return self._graph.dialect

    async def schema(self) -> GraphSchema:
        """See :class:`ReadableGraph`."""
        return await self._graph.schema()

    async def census(self) -> GraphSchema:
        """See :class:`ReadableGraph`."""
        return await self._graph.census()

    @contextlib.asynccontextmanager
    async def read(
        self, text: str, parameters: Mapping[str, Value | None] | None = None, limits: QueryLimits = _LIMITS
    ) -> AsyncIterator[RowStream]:
        """See :class:`ReadableGraph`."""
        async with contextlib.AsyncExitStack() as stack:
            with self.timed():
                stream = await stack.enter_async_context(self._graph.read(text, parameters, limits))

            async def batches(timed: RowStream) -> AsyncIterator[Sequence[tuple[object, ...]]]:
                found = stream.batches()
                while True:
                    with self.timed():
                        batch = await anext(found, None)
                    timed.cut = stream.cut
                    if batch is None:
                        return
                    yield batch

            yield RowStream(stream.columns, batches)

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time of a block."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started
