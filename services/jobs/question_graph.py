"""Opening the graph that questions are asked of: the tool graph of a store, or any other by its address."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from ontology.errors import InvalidArgumentError
from planners.stores import READABLE_ADDRESSES, open_readable
from planners.stores.graph_schema import ReadableGraph
from planners.stores.ladybug import open_ladybug_reader
from services.jobs.cached_store import cache_folder
from services.jobs.tool_graph_file import tool_graph_file

__all__ = ["open_question_graph"]

_STORE = "store"
_ADDRESSES = (f"{_STORE}:PATH", *READABLE_ADDRESSES)


@contextlib.asynccontextmanager
async def open_question_graph(address: str, cache: Path | None = None) -> AsyncIterator[ReadableGraph]:
    """Open a graph, and close it at the end.

    :param address: ``store:PATH`` for the tool graph of a store, or one of :data:`READABLE_ADDRESSES`.
    :param cache: folder where graphs are loaded into; the user's cache folder where None.
    :raises EgotoolsError: as of :func:`open_readable`, and of :func:`tool_graph_file`.
    """
    kind, _, rest = address.partition(":")
    known = [each.partition(":")[0] for each in _ADDRESSES]
    if kind not in known or not rest:
        remedy = f"Use one of {', '.join(_ADDRESSES)}"
        raise InvalidArgumentError(f"no graph has the address {address[:80]!r}", subject="--graph", remedy=remedy)
    if kind == _STORE:
        path = await asyncio.to_thread(tool_graph_file, Path(rest), cache)
        async with open_ladybug_reader(path) as ladybug:
            yield ladybug
        return
    async with open_readable(address, cache or cache_folder("graphs")) as graph:
        yield graph
