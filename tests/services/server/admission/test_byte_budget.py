"""Bytes held: bounded for a peer and together; who waits is let in when there is room."""

from __future__ import annotations

import asyncio

import pytest

from ontology.errors import OverloadedError
from services.server.admission import byte_budget
from services.server.admission.byte_budget import ByteBudget


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_budget, "_MOST_WAIT_S", 0.01)


async def test_one_peer_may_hold_a_quarter_and_others_are_served() -> None:
    budget = ByteBudget(80, message=10)
    held = [await budget.reserve("a") for _ in range(2)]
    with pytest.raises(OverloadedError):
        await budget.reserve("a")
    assert (await budget.reserve("b")).size == 10
    held[0].release()
    await budget.reserve("a")
    assert budget.held == 30


async def test_together_they_hold_the_total_but_who_has_nothing_is_served() -> None:
    budget = ByteBudget(80, message=10)
    for peer in "abcd":
        for _ in range(2):
            await budget.reserve(peer)
    assert budget.held == 80
    assert (await budget.reserve("e")).size == 10
    with pytest.raises(OverloadedError):
        await budget.reserve("e")
    for number in range(7):
        await budget.reserve(str(number))
    with pytest.raises(OverloadedError):
        await budget.reserve("nobody before")
    assert budget.held == 160


async def test_who_waits_is_let_in_when_a_message_was_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_budget, "_MOST_WAIT_S", 600.0)
    budget = ByteBudget(40, message=10)
    first = await budget.reserve("a")
    second = asyncio.ensure_future(budget.reserve("a"))
    await asyncio.sleep(0)
    assert not second.done()
    first.resize(0)
    assert (await second).size == 10
    assert budget.held == 10


async def test_a_wait_that_is_given_up_holds_nothing() -> None:
    budget = ByteBudget(40, message=10)
    first = await budget.reserve("a")
    waiting = asyncio.ensure_future(budget.reserve("a"))
    await asyncio.sleep(0)
    first.release()  # the turn is granted, and its task cancelled before it runs
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert budget.held == 0
    assert budget._waiting == {}
