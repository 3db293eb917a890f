"""A snapshot is swapped while conversations go on: what it no longer has is not called."""

from typing import Any

import pytest

from egotools import NotFoundError
from tests.egotools.integrations.conftest import World, publish
from tests.harness.waiting import wait_until


@pytest.fixture
def swapped(world: World) -> Any:
    """Publish without some paths, and wait until the server serves that; all of them are back afterwards."""

    def swap(*without: str) -> None:
        before = world.client.catalog().snapshot_id
        publish(world.store, *without)
        wait_until(lambda: world.client.catalog().snapshot_id != before)

    yield swap
    swap()


async def test_a_tool_that_is_gone_is_not_called_and_forgotten(world: World, swapped: Any) -> None:
    called, searched = world.source(), world.source()
    called.search("find a customer by name")
    searched.search("find a customer by name")
    assert "shop__findCustomer" in called.tools
    swapped("/customers")
    with pytest.raises(NotFoundError, match="no longer has this tool"):
        await called.acall("shop__findCustomer", {"name": "Acme"})
    assert "shop__findCustomer" not in called.tools
    searched.search("list the orders of a customer")
    assert "shop__findCustomer" not in searched.tools and "shop__listOrders" in searched.tools
    assert world.api.arrived == []
