"""Turns: fair between tenants and between their callers, by cost; the flow with most gives way."""

from __future__ import annotations

import asyncio

import pytest

from services.server.admission.fair_queue import FairQueue, Flow, Turn

A, B, C = Flow("", "a"), Flow("", "b"), Flow("other", "c")


async def turn(flow: Flow, cost: int = 1, *, begun: bool = False) -> Turn:
    return Turn(flow=flow, cost=cost, begun=begun, ready=asyncio.get_running_loop().create_future())


async def filled(queue: FairQueue, *flows: Flow, cost: int = 1) -> list[Turn]:
    turns = [await turn(flow, cost) for flow in flows]
    for each in turns:
        queue.push(each)
    return turns


def order(queue: FairQueue, most: int = 100) -> list[str]:
    found: list[str] = []
    while len(found) < most and (each := queue.pop()) is not None:
        found.append(each.flow.caller)
    return found


async def test_one_flow_is_first_come_first_served() -> None:
    queue = FairQueue(10)
    turns = await filled(queue, A, A, A)
    assert [queue.pop(), queue.pop(), queue.pop(), queue.pop()] == [*turns, None]
    assert queue.cost == 0


async def test_flows_take_turns_however_many_one_of_them_waits_with() -> None:
    queue = FairQueue(100)
    await filled(queue, *[A] * 6, *[B] * 2)
    assert "".join(order(queue)) == "ababaaaa"


async def test_turns_are_charged_by_cost() -> None:
    queue = FairQueue(100)
    await filled(queue, A, A, cost=4)
    await filled(queue, *[B] * 6)
    assert "".join(order(queue)) == "abbbbabb"


async def test_cheaper_turns_go_before_those_that_do_not_fit() -> None:
    queue = FairQueue(100)
    await filled(queue, A, B, cost=8)
    await filled(queue, A, C)
    assert [turn.cost for _ in range(2) if (turn := queue.pop(4))] == [1, 1]
    assert queue.pop(4) is None
    assert queue.cost == 16
    assert sorted(order(queue)) == ["a", "b"]


@pytest.mark.parametrize("dear", [A, Flow("other", "a")])
async def test_who_was_passed_over_for_cost_has_one_turn_more_and_no_credit(dear: Flow) -> None:
    queue = FairQueue(1_000)
    await filled(queue, dear, cost=8)
    await filled(queue, *[B] * 60)
    assert {turn.flow for _ in range(50) if (turn := queue.pop(4))} == {B}
    assert (passed := queue.pop()) is not None
    assert passed.flow == dear
    await filled(queue, *[dear] * 20, *[C] * 20)
    served = order(queue, 20)
    assert served.count("b") >= 5
    assert served.count("a") <= 10


async def test_tenants_share_alike_however_many_callers_one_has() -> None:
    queue = FairQueue(100)
    await filled(queue, A, B, A, B, A, B, C, C, C)
    assert "".join(order(queue)).count("c", 0, 6) == 3


async def test_who_comes_back_pays_for_what_it_had() -> None:
    queue = FairQueue(1_000)
    await filled(queue, *[B] * 40)
    taken = ""
    for _ in range(30):  # `a` has never more than one dear turn in the queue
        if "a" not in taken or taken[-1] == "a":
            await filled(queue, A, cost=10)
        taken += "".join(order(queue, 1))
    assert taken.count("a") <= 4


async def test_a_full_queue_refuses_the_newest_of_its_own_flow() -> None:
    queue = FairQueue(2)
    await filled(queue, A, A)
    newest = await turn(A)
    queue.push(newest)
    assert queue.shed(newest) == [newest]
    assert queue.cost == 2


async def test_it_says_beforehand_whose_turn_it_would_refuse() -> None:
    queue = FairQueue(4)
    await filled(queue, A, A, B)
    assert not queue.refuses(A)
    await filled(queue, A)
    assert [queue.refuses(flow) for flow in (A, B, C)] == [True, False, False]
    for flow in (A, B):
        newest = await turn(flow)
        queue.push(newest)
        assert (queue.shed(newest) == [newest]) == (flow == A)


async def test_a_full_queue_of_one_flow_gives_way_to_another() -> None:
    queue = FairQueue(4)
    waiting = await filled(queue, A, A, A, A)
    newest = await turn(B)
    queue.push(newest)
    assert queue.shed(newest) == [waiting[-1]]
    assert order(queue) == ["a", "b", "a", "a"]


async def test_the_tenant_with_most_gives_way_even_when_its_callers_have_little_each() -> None:
    queue = FairQueue(4)
    waiting = await filled(queue, Flow("", "a"), Flow("", "b"), Flow("", "d"), Flow("", "e"))
    newest = await turn(C)
    queue.push(newest)
    (gave_way,) = queue.shed(newest)
    assert gave_way in waiting


async def test_later_pieces_of_a_call_come_first_in_their_flow_and_never_give_way() -> None:
    queue = FairQueue(1)
    later, first = await turn(A, begun=True), (await filled(queue, A))[0]
    queue.push(later)
    assert queue.shed(later) == []
    newest = await turn(B)
    queue.push(newest)
    assert queue.shed(newest) in ([first], [newest])
    assert queue.pop() is later


@pytest.mark.parametrize("where", ["waits", "gone"])
async def test_a_turn_is_removed_once(where: str) -> None:
    queue = FairQueue(4)
    first, second = await filled(queue, A, A)
    if where == "gone":
        queue.pop()
    queue.remove(first)
    queue.remove(first)
    assert (queue.pop(), queue.pop(), queue.cost) == (second, None, 0)


async def test_what_is_known_of_those_who_left_is_bounded() -> None:
    queue = FairQueue(10)
    for number in range(20_000):
        await filled(queue, Flow("", str(number)))
        assert queue.pop() is not None
    assert len(queue._charged) < 5_000
    assert len(queue._cost) < 5_000
