"""Opened stores, and the servers that some of them stand on."""

from collections.abc import AsyncIterator

import pytest

from planners.stores.property_graph import PropertyGraph
from tests.planners.stores.stores import PARAMS, STORES


@pytest.fixture(params=PARAMS)
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[PropertyGraph]:
    """An empty graph of each store."""
    async with STORES[request.param](request) as opened:
        yield opened
