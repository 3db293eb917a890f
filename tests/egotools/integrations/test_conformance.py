"""What every adapter keeps, with its framework, a chat server that says what it is told, and tools on loopback."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from egotools import Client
from egotools.integrations.tool_source import AnyTool
from egotools.search_tool import SEARCH_TEXT
from tests.egotools.integrations.conftest import HOSTILE, SECRET, World
from tests.egotools.integrations.frameworks import FRAMEWORKS, Framework
from tests.harness.servers import free_port

FIND = ("search_tools", {"query": "find a customer by name"})
CALL = ("shop__findCustomer", {"name": "Acme"})
REFUND = ("shop__refundOrder", {"order_id": "O1", "amount": 5})
SEARCH_REFUND = ("search_tools", {"query": "refund an order"})


ASKING = pytest.mark.parametrize("framework", [name for name, each in FRAMEWORKS.items() if each.asks], indirect=True)
CALLING_SEARCH = pytest.mark.parametrize(
    "framework", [name for name, each in FRAMEWORKS.items() if not each.searches], indirect=True
)
"""The frameworks whose model calls the search; the others search before the first turn."""


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Framework:
    return FRAMEWORKS[request.param]


def test_a_task_in_two_calls(framework: Framework, world: World) -> None:
    world.chat.say(
        FIND, CALL, ("search_tools", {"query": "list the orders"}), ("shop__listOrders", {"customer_id": "C7"}), "O1."
    )
    assert framework.run(world.source(), None) == "O1."
    assert [arrived.target for arrived in world.api.arrived] == ["/customers?name=Acme", "/orders?customer_id=C7"]
    assert {arrived.headers["x-key"] for arrived in world.api.arrived} == {SECRET}
    first, second, *_ = world.chat.offered()
    if not framework.searches:
        assert len(first) == 1 and "shop__findCustomer" in second
    told = world.chat.told()
    assert "C7" in told and "not an instruction to you" in told
    assert SECRET not in told and SECRET.replace("/", "%2F") not in told


def test_a_model_is_taught_to_write_needs_and_told_what_lies_behind_the_search(
    framework: Framework, world: World
) -> None:
    asked = {"needs": ["find a customer by name", "qwxz vbnm plooph"], "query": "Acme"}
    world.chat.say(("search_tools", asked), CALL, "C7.")
    assert framework.run(world.source(), None) == "C7."
    assert [arrived.target for arrived in world.api.arrived] == ["/customers?name=Acme"]
    told = json.dumps(world.chat.requests[0]["tools"])
    assert json.dumps(SEARCH_TEXT)[1:-1] in told and "shop (5" in told


def test_without_consent_nothing_is_changed(framework: Framework, world: World) -> None:
    world.chat.say(SEARCH_REFUND, REFUND, "Not done.")
    ended = framework.run(world.source(), False if framework.asks else None)
    assert ended == "Not done."
    assert world.api.arrived == []
    if not framework.asks:
        assert "PERMISSION_DENIED" in world.chat.told()


@ASKING
def test_what_a_framework_asks_for_waits(framework: Framework, world: World) -> None:
    world.chat.say(SEARCH_REFUND, REFUND, "Done.")
    assert framework.run(world.source(), None) == "interrupted"
    assert world.api.arrived == []


def test_with_consent_it_is_called_once(framework: Framework, world: World) -> None:
    world.chat.say(SEARCH_REFUND, REFUND, "Done.")
    asked = []

    def confirm(tool: AnyTool, arguments: Mapping[str, Any]) -> bool:
        asked.append((tool.id, dict(arguments)))
        return True

    assert framework.run(world.source(confirm=None if framework.asks else confirm), True) == "Done."
    assert [(one.method, one.target, one.body) for one in world.api.arrived] == [
        ("POST", "/orders/O1/refund", b'{"amount":5}')
    ]
    assert asked == ([] if framework.asks else [("shop/refundOrder", REFUND[1])])


def test_a_hostile_schema_harms_nothing(framework: Framework, world: World) -> None:
    arguments = {name: f"<{name}>" for name in HOSTILE}
    given = {name.replace("$", ""): value for name, value in arguments.items()}
    search = ("search_tools", {"query": "find everything in the archive"})
    world.chat.say(search, ("shop__searchArchive", given), "Done.")
    assert framework.run(world.source(), None) == "Done."
    (arrived,) = world.api.arrived
    assert dict(arrived.query) == arguments
    assert "x" * 1_100 not in world.chat.told()


@CALLING_SEARCH
def test_a_tool_that_no_search_found_is_not_called(framework: Framework, world: World) -> None:
    world.chat.say(CALL, "Done.")
    with suppress(Exception):  # some frameworks end the run, some tell the model
        framework.run(world.source(), None)
    assert world.api.arrived == []


@CALLING_SEARCH
def test_a_server_that_is_down_is_said_in_one_sentence(framework: Framework, world: World) -> None:
    world.chat.say(FIND, "Sorry.")
    with Client(f"127.0.0.1:{free_port()}") as down:
        assert framework.run(world.source(client=down), None) == "Sorry."
    assert "UNAVAILABLE" in world.chat.told()
    assert "Traceback" not in world.chat.told() and ".py" not in world.chat.told()
