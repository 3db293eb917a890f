"""The client process: puts a server under load through the shipped client and prints the points as JSON.

``python -m scripts.speed.load_client ADDRESS SERVER_PID PRESET PLAN``; one process, one event loop, one connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from egotools import AsyncClient
from ontology.errors import EgotoolsError
from scripts.run_command import run_command
from scripts.speed.linux_accounts import ProcessorTime, processor_time
from scripts.speed.load import Ask, Call, closed_loop, measured_point, open_loop, poisson_schedule
from scripts.speed.speed_queries import bench_queries, mixed
from scripts.speed.speed_results import Point

__all__ = ["POINTS", "LoadPlan", "main", "measure"]

POINTS = TypeAdapter(tuple[Point, ...])
_K = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What a server is put under.

    :param callers: closed loops, each with so many callers.
    :param loads: open loops, each with a rate of arrivals that is this share of the best closed loop's throughput.
    :param seconds: measured time of each loop, after ``warm_s`` that do not count.
    :param seed: of the open loops' arrivals.
    """

    callers: tuple[int, ...] = (1, 2, 4, 8)
    loads: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0, 1.5)
    seconds: float = 5.0
    warm_s: float = 1.0
    seed: int = 0


async def measure(ask: Ask, queries: Sequence[str], plan: LoadPlan, *, server_pid: int) -> list[Point]:
    """The points of a plan: the closed loops first, then the open ones.

    :param server_pid: process whose processor time is charged to the answers.
    :raises EgotoolsError: when no closed loop got an answer.
    """
    span = plan.warm_s + plan.seconds

    async def point(calling: Awaitable[list[Call]], **load: Any) -> Point:
        before = processor_time(server_pid)
        calls = await calling
        spent = processor_time(server_pid) - before
        made = measured_point(calls, warm_s=plan.warm_s, seconds=plan.seconds, **load)
        return _charged(made, answers=sum(not call.code for call in calls), spent=spent)

    points = [
        await point(closed_loop(ask, queries, callers=callers, seconds=span), loop="closed", callers=callers)
        for callers in plan.callers
    ]
    peak = max(point.answered_per_s for point in points)
    if not peak:
        refused = ", ".join(sorted({code for point in points for code in point.refused})) or "no call ended in time"
        raise EgotoolsError("the server answered nothing", subject=refused, remedy="See its log")
    for load in plan.loads:
        schedule = poisson_schedule(load * peak, span, queries, seed=f"{plan.seed}:{load}")
        points.append(await point(open_loop(ask, schedule), loop="open", load=load))
    return points


def _charged(point: Point, *, answers: int, spent: ProcessorTime) -> Point:
    """The point with the processor time of an answer, warm-up and refusals included."""
    if answers:
        server_ms, client_ms = spent.server * 1e3 / answers, spent.client * 1e3 / answers
        point = replace(point, server_cpu_ms=server_ms, client_cpu_ms=client_ms)
    return replace(point, others=spent.others)


def main(
    address: Annotated[str, typer.Argument(help="host:port of the server")],
    server_pid: Annotated[int, typer.Argument(help="the server's process")],
    preset: str,
    plan: Annotated[str, typer.Argument(help="a LoadPlan as JSON")],
) -> None:
    """Measure and print."""
    points = asyncio.run(_measure(address, preset, TypeAdapter(LoadPlan).validate_json(plan), server_pid))
    print(POINTS.dump_json(tuple(points)).decode())


async def _measure(address: str, preset: str, plan: LoadPlan, server_pid: int) -> list[Point]:
    queries = mixed(bench_queries())
    async with AsyncClient(address) as client:

        async def ask(query: str) -> Mapping[str, float]:
            return (await client.retrieve(query, k=_K, preset=preset)).timings_ms

        return await measure(ask, queries, plan, server_pid=server_pid)


if __name__ == "__main__":
    run_command(main)
