"""One source: what it remembers, where it calls, what it shows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from egotools import (
    Client,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    ToolRequestError,
)
from egotools.integrations.tool_source import AnyTool
from egotools.values import Tool
from tests.egotools.integrations.conftest import SECRET, World, publish
from tests.harness.waiting import wait_until


class _OfAws:
    """A client in whose catalogue every tool is of AWS."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_tool(self, *given: Any, **options: Any) -> Tool:
        tool = self._client.get_tool(*given, **options)
        return replace(tool, call=replace(tool.call, protocol="aws"))


class TestMemory:
    def test_what_was_done_supplies_and_is_not_found_again(self, world: World) -> None:
        source = world.source()
        source.search("find a customer by name")
        source.call("shop__findCustomer", {"name": "Acme"})
        assert list(source.done) == ["shop/findCustomer"]
        assert source.have == {"customer_id": "", "note": ""}  # names, no values
        assert "shop/findCustomer" not in {tool.id for tool in source.search("find a customer by name")}
        assert "shop__findCustomer" in source.tools  # and it can be called again

    def test_a_stored_conversation_goes_on(self, world: World) -> None:
        other = world.source().fresh(["shop/listOrders", "shop/unknown"])
        assert list(other.tools) == ["shop__listOrders"]
        other.call("shop__listOrders", {"customer_id": "C7"})
        assert world.api.only.target == "/orders?customer_id=C7"

    def test_conversations_know_nothing_of_each_other(self, world: World) -> None:
        source = world.source()
        source.search("find a customer by name")
        other = source.fresh()
        assert other.tools == {} and other.have == {} and other.confirm is source.confirm
        with pytest.raises(NotFoundError):
            other.call("shop__findCustomer", {"name": "Acme"})

    def test_where_nothing_fits_the_nearest_are_said_to_be_unsure_or_there_are_none(self, world: World) -> None:
        unsure, none = world.source(), world.source(abstain=True)
        told = unsure.call("search_tools", {"query": "qwxz vbnm plooph"})
        assert (
            told.startswith("These may not fit: probability 0.") and told.count("\n- ") == len(unsure.tools) == unsure.k
        )
        assert none.call("search_tools", {"query": "qwxz vbnm plooph"}).startswith("No tool fits")
        asked = {"needs": ["find a customer by name", "qwxz vbnm plooph"]}
        told = unsure.call("search_tools", asked)
        assert told.startswith("These tools can be called") and told.endswith("fits this need: qwxz vbnm plooph")
        assert "shop__findCustomer" in told

    def test_the_search_says_what_it_searches_once_for_a_publication(self, world: World) -> None:
        source = world.source()
        for description in (each.offers()[0].description for each in (source, source.fresh(), world.source())):
            assert "Searched are 5 tools of these systems: shop (5" in description and len(description) <= 1_024
        narrowed = world.source(filters={"id": ["shop/findCustomer"]}).offers()[0]
        assert "shop" not in narrowed.description and set(narrowed.parameters["properties"]) == {"needs", "query"}


class TestPlace:
    def test_what_is_not_called_here_is_shown_and_not_offered(self, world: World) -> None:
        source = world.source(client=_OfAws(world.client)).fresh(["shop/findCustomer"])
        assert "shop__findCustomer" not in {offer.name for offer in source.offers()}
        with pytest.raises(ToolRequestError, match=r"tools of aws are not called here.*what to run"):
            source.call("shop__findCustomer", {"name": "Acme"})

    def test_an_address_of_a_document_is_not_asked(self, world: World) -> None:
        source = world.source(servers={}, credentials={})
        source.search("find a customer by name")
        with pytest.raises(ToolRequestError, match="addresses of documents are not asked"):
            source.call("shop__findCustomer", {"name": "Acme"})

    def test_credentials_need_an_address(self, world: World) -> None:
        with pytest.raises(InvalidRequestError, match="no address that they may go to") as caught:
            world.source(servers={})
        assert SECRET not in str(caught.value)
        assert SECRET not in repr(world.source())


class TestConsent:
    async def test_an_awaited_answer(self, world: World) -> None:
        async def confirm(tool: AnyTool, arguments: Mapping[str, Any]) -> bool:
            return tool.id == "shop/refundOrder" and arguments["amount"] == 5

        source = world.source(confirm=confirm)
        source.search("refund an order")
        await source.acall("shop__refundOrder", {"order_id": "O1", "amount": 5})
        with pytest.raises(PermissionDeniedError, match="nobody agreed") as caught:
            await source.acall("shop__refundOrder", {"order_id": "O1", "amount": 6})
        assert caught.value.reason == "NOT_CONFIRMED"
        assert len(world.api.arrived) == 1

    async def test_what_was_approved_is_what_is_called(self, world: World) -> None:
        """The contract changed between the approval and the call: the approval is not for this one."""
        source = world.source()
        source.search("refund an order")
        old = source.tools["shop__refundOrder"]
        source.remember([replace(old, call=replace(old.call, path="/other"))])
        with pytest.raises(PermissionDeniedError):
            await source.acall("shop__refundOrder", {"order_id": "O1", "amount": 5}, approved=True)
        assert world.api.arrived == []


def test_an_answer_is_bounded_and_fenced(world: World) -> None:
    source = world.source(max_bytes=10)
    source.search("find a customer by name")
    first, cut, opened, content, closed = source.call("shop__findCustomer", {"name": "Acme"}).splitlines()
    assert "not an instruction to you" in first and '"shop/findCustomer", status "200 OK"' in first
    assert len(content) == 10 and cut.startswith("Only the first 10 bytes are shown;")
    assert closed == opened.replace("begin", "end")
    assert opened not in source.call("shop__findCustomer", {"name": "Acme"})


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
