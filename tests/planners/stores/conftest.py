"""Opened stores, and the servers that some of them stand on."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import pytest

from planners.stores.property_graph import PropertyGraph
from tests.planners.stores.stores import PARAMS, STORES

Driven: TypeAlias = tuple[PropertyGraph, Callable[[Coroutine[Any, Any, Any]], Any]]


@pytest.fixture(params=PARAMS)
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[PropertyGraph]:
    """An empty graph of each store."""
    async with STORES[request.param](request) as opened:
        yield opened


@pytest.fixture(params=PARAMS)
def driven(request: pytest.FixtureRequest) -> Iterator[Driven]:
    """An empty graph of each store, and what runs its coroutines: property tests are no coroutines themselves."""
    with asyncio.Runner() as runner:
        context = STORES[request.param](request)
        yield runner.run(context.__aenter__()), runner.run
        runner.run(context.__aexit__(None, None, None))
