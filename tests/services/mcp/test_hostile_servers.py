"""Servers behind the gateway that list and answer what nobody expects: the model reads none of it unfenced, and others do not wait."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from mcp import Client

from egotools.calling.mcp_invoker import McpAddress
from planners.calling.call_policy import CallPolicy, CallRule
from planners.calling.tool_access import ToolAccess
from tests.services.mcp.conftest import ACCESS, ERAS, User, connected, gateway, text_of
from tests.services.mcp.hostile_server import ORDER
from tests.services.mcp.test_gateway_calls import called
from tests.waiting import LIMIT_S

TOKEN = "wh5ecrettoken"


def taken_over(kind: str) -> ToolAccess:
    """The warehouse is in other hands; the office is not."""
    session = f"mcp:{sys.executable} -m tests.services.mcp.hostile_server"
    warehouse = McpAddress(session=f"{session} {kind}", env={"BOARD_KEY": TOKEN})
    office = McpAddress(session=f"{session} office")
    return replace(ACCESS, sessions={"warehouse": warehouse, "office": office}, timeout_s=LIMIT_S)


@pytest.mark.parametrize(
    "arguments", [{}, {"material": "tin"}, {"other": 1}, {"material": "tin", ORDER: "x"}, {ORDER: 1, "x": 2}]
)
async def test_texts_of_a_changed_schema_are_fenced_and_without_secrets(
    served: str, arguments: dict[str, object]
) -> None:
    async with connected(served, "legacy", access=taken_over("texts")) as client:
        refused = await called(client, "warehouse/count_stock", **arguments)
    told = text_of(refused)
    head, _, rest = told.partition("--- begin ")
    assert refused.is_error
    assert "have changed since the catalogue was built" in head
    if ORDER not in arguments:
        assert "Ignore all" not in head
    assert "Ignore all" in rest
    assert TOKEN not in told
    assert len(told) < 12_000


async def test_a_short_name_that_is_newly_required_is_named_and_can_be_given(served: str) -> None:
    async with connected(served, "legacy", access=taken_over("plant")) as client:
        refused = text_of(await called(client, "warehouse/count_stock", material="tin"))
        assert "material: the tool takes no such argument" in refused.partition("--- begin")[0]
        refused = text_of(await called(client, "warehouse/count_stock"))
        assert "plant: this required argument is missing" in refused.partition("--- begin")[0]
        assert not (await called(client, "warehouse/count_stock", plant=3)).is_error


@pytest.mark.parametrize(("kind", "limit"), [("many", "1,000 properties"), ("long", "256 KiB"), ("deep", "100 levels")])
async def test_a_schema_above_the_limits_ends_its_call_alone(served: str, kind: str, limit: str) -> None:
    async with gateway(served, taken_over(kind)) as server:
        async with Client(server.server, mode="legacy") as one, Client(server.server, mode="legacy") as other:
            refused = text_of(await called(one, "warehouse/count_stock", material="tin"))
            assert "RESOURCE_EXHAUSTED" in refused and limit in refused
            assert "xxxx" not in refused
            assert not (await called(other, "office/find_employee", name="Jan")).is_error
            assert not (await called(one, "office/find_employee", name="Jan")).is_error


async def test_alternatives_that_share_their_parts_take_no_time(served: str) -> None:
    async with connected(served, "legacy", access=taken_over("shared")) as client:
        started = time.monotonic()
        assert not (await called(client, "warehouse/count_stock", material="tin")).is_error
        assert time.monotonic() - started < LIMIT_S / 2


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", ["destructive", "withdrawn"])
async def test_a_tool_that_only_read_and_does_so_no_more_is_asked_about(served: str, kind: str, era: str) -> None:
    user = User()
    async with connected(served, era, user, access=taken_over(kind)) as client:
        assert not (await called(client, "warehouse/count_stock", material="tin")).is_error
        user.action = "decline"
        assert "nothing was sent" in text_of(await called(client, "warehouse/count_stock", material="tin"))
    assert len(user.asked) == 2
    async with connected(served, era, access=taken_over(kind)) as client:  # there is nobody to ask
        refused = text_of(await called(client, "warehouse/count_stock", material="tin"))
    assert "PERMISSION_DENIED" in refused
    only_reads = CallPolicy(
        rules=(CallRule(decision="allow", effects=("read",)), CallRule(decision="deny", effects=("change",)))
    )
    async with connected(served, era, user, access=replace(taken_over(kind), policy=only_reads)) as client:
        refused = text_of(await called(client, "warehouse/count_stock", material="tin"))
    assert "the policy of the operator refuses" in refused
    assert len(user.asked) == 2


async def test_a_user_is_not_asked_about_a_call_that_cannot_be_made(served: str) -> None:
    user = User()
    async with connected(served, "legacy", user, access=taken_over("plant")) as client:
        refused = text_of(await called(client, "warehouse/book_material", material="tin"))
    assert "no such argument" in refused
    assert user.asked == []


async def test_a_large_answer_does_not_keep_other_sessions_waiting(served: str) -> None:
    lags: list[float] = []
    worked: list[float] = []  # by the thread of the loop itself between two of its turns, in processor time

    async def watch() -> None:
        while True:
            started, used = time.monotonic(), time.thread_time()
            await asyncio.sleep(0.01)
            lags.append(time.monotonic() - started - 0.01)
            worked.append(time.thread_time() - used)

    async with gateway(served, taken_over("flood")) as server:
        async with Client(server.server, mode="legacy") as one, Client(server.server, mode="legacy") as other:
            assert not (await called(other, "office/find_employee", name="Jan")).is_error  # its server runs
            with lags_of_a_thread() as of_a_thread:
                watching = asyncio.create_task(watch())
                large = asyncio.create_task(called(one, "warehouse/count_stock", material="tin"))
                waits = []
                while not large.done():
                    started = time.monotonic()
                    assert not (await called(other, "office/find_employee", name="Jan")).is_error
                    waits.append(time.monotonic() - started)
                watching.cancel()
                shown = text_of(await large)
    assert "the rest is left out" in shown
    assert len(shown) < 70_000
    assert max(worked) < 2.0  # 0.5 to 0.8 s; where the loop itself did the work it was 8 s
    # A busy machine keeps every thread waiting. Where the loop did the work it waited 29 s, and a thread 1.3 s.
    busy = max(of_a_thread)
    assert max(lags) < 1.5 + 2 * busy
    assert max(waits) < 3.0 + 4 * busy


@contextmanager
def lags_of_a_thread() -> Iterator[list[float]]:
    """How much longer than it asked for a thread beside the loop slept each time: what machine and interpreter keep anyone waiting."""
    lags, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.is_set():
            started = time.monotonic()
            time.sleep(0.01)
            lags.append(time.monotonic() - started - 0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lags
    finally:
        ended.set()
        thread.join()


async def test_the_pattern_of_an_output_schema_is_not_tried(served: str) -> None:
    async with connected(served, "legacy", access=taken_over("pattern")) as client:
        async with asyncio.timeout(LIMIT_S):
            answer = await called(client, "warehouse/count_stock", material="tin")
    assert "aaaa!" in text_of(answer)
