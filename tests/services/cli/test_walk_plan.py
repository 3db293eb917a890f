"""The planner behind the page: words, tools found over gRPC and called, the events as the page gets them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from egotools import AsyncClient, Tool
from planners.calling.call_limits import CallLimits
from planners.calling.tool_access import ToolAccess
from planners.dfs import answer_graph
from planners.dfs.domain import read_domain
from planners.dfs.execution.execution import Execution
from planners.dfs.execution.executor_settings import ExecutorSettings
from planners.dfs.executor import execute
from planners.dfs.parsing.rules_parser import RulesParser
from services.cli import walk_plan as planner
from services.cli.walk_plan import walk_plan
from services.web.live_runs import LiveRun, LiveRuns
from services.web.own_server import client_maker
from services.web.run_events import Plan, PlanRequest
from services.web.web_page import WebSettings, serve_web
from tests.conftest import ROOT
from tests.harness.servers import serving
from tests.harness.waiting import until
from tests.planners.conftest import library_store

pytest.importorskip("uvicorn", reason="the extra web is not installed")
__all__ = ["library_store"]


@asynccontextmanager
async def planning(store: Path, *, calls: int = 100, client: type[AsyncClient] = AsyncClient) -> AsyncIterator[Plan]:
    """The planner of a library, at a real server."""
    domain = read_domain(ROOT / "tests" / "planners" / "dfs" / "library.yaml")
    access = ToolAccess(modules=["tests.planners.dfs.library_tools"])
    async with serving(store) as server:
        limits = CallLimits(calls=calls, seconds=60)
        yield walk_plan({"library": domain}, access, lambda token, tenant: client(server.address), limits=limits)


def begun(runs: LiveRuns, plan: Plan, request: str = "Find all the books", token: str = "") -> LiveRun:
    run = runs.begin("me")
    run.start(plan, PlanRequest(request=request, ask=run.ask, token=token))
    return run


async def last(run: LiveRun) -> Any:
    await until(lambda: run.ended)
    return run.events[-1]


async def test_a_cancelled_run_holds_its_place_until_its_thread_has_ended(
    library_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse, go_on, begins = RulesParser.parse, Event(), []

    def slow(self: RulesParser, request: str, *rest: Any) -> Any:
        begins.append(request)
        assert request == "Find all the books" or go_on.wait(10)
        return parse(self, "Find all the books", *rest)

    monkeypatch.setattr(RulesParser, "parse", slow)
    async with planning(library_store) as plan:
        runs = LiveRuns(plan)
        both = [begun(runs, plan, f"slow {number}") for number in range(2)]
        await until(lambda: len(begins) == 2)
        waiting = begun(runs, plan)
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "free"), 60) == "free"
        ends = [asyncio.ensure_future(run.cancel()) for run in (*both, *both, waiting)]
        await until(lambda: waiting.ended)  # what has not begun is given up at once
        assert begins == ["slow 0", "slow 1"] and not any(run.ended for run in both)
        go_on.set()
        await asyncio.gather(*ends)
        assert {(await last(run))["event"] for run in (*both, waiting)} == {"Cancelled"}
        assert (await last(begun(runs, plan)))["count"] == 5


class Counting(AsyncClient):
    """The client, with a count of the documents that all clients ask for."""

    asked = 0

    async def get_tool(self, tool_id: str, **options: Any) -> Tool:
        Counting.asked += 1
        return await super().get_tool(tool_id, **options)


async def test_runs_of_one_visitor_read_a_document_once(library_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_MOST_VISITORS", 2)
    monkeypatch.setattr(Counting, "asked", 0)
    async with planning(library_store, client=Counting) as plan:
        runs, read = LiveRuns(plan), []
        for token in ("one", "one", "two", "one", "three", "one", "two"):
            before = Counting.asked
            assert (await last(begun(runs, plan, token=token)))["count"] == 5
            read.append(Counting.asked - before > 0)
    assert read == [True, False, True, False, True, False, True]  # of three visitors the least recent is forgotten


async def test_the_limits_of_the_page_bound_a_run(library_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    async def noted(*of: Any, settings: ExecutorSettings, **rest: Any) -> Execution:
        given.append((settings.max_calls, settings.max_seconds))
        return await execute(*of, settings=settings, **rest)

    monkeypatch.setattr(answer_graph, "execute", noted)
    async with planning(library_store, calls=1_500) as plan:
        assert (await last(begun(LiveRuns(plan), plan)))["count"] == 5
    assert given == [(1_500, 60.0)]


async def test_a_request_of_the_page_is_planned_and_executed(library_store: Path) -> None:
    domain = read_domain(ROOT / "tests" / "planners" / "dfs" / "library.yaml")
    access = ToolAccess(modules=["tests.planners.dfs.library_tools"])
    async with serving(library_store) as server:
        limits = CallLimits(calls=100, seconds=60)
        plan = walk_plan({"library": domain}, access, client_maker(server), limits=limits)
        settings = WebSettings(port=0, plan=plan, domains=["library"])
        async with (
            serve_web(server, {"": library_store}, settings) as address,
            httpx.AsyncClient(base_url=address, trust_env=False) as client,
        ):
            headers = {"x-egotools-csrf": (await client.get("/api/session")).json()["csrf"]}
            asked = {"query": "Find all the books", "domain": "library"}
            run = (await client.post("/api/runs", json=asked, headers=headers)).json()["id"]
            stream = (await client.get(f"/api/runs/{run}/events")).text
            lines = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
            events: list[dict[str, Any]] = [json.loads(line) for line in lines]
            assert events[0]["graph"]["vars"] == {"b": "Book"}
            assert {"VariableEntered", "Called", "SetResolved", "Pruned", "Done"} <= {each["event"] for each in events}
            resolved = next(each for each in events if each["event"] == "SetResolved")
            assert [each["id"] for each in resolved["first"]] == ["b1", "b2", "b3", "b4", "b5"]
            assert events[-1]["event"] == "Answered" and events[-1]["count"] == 5
            shown = (await client.get(f"/api/runs/{run}/entities", params={"var": "b"})).json()
            assert shown["total"] == 5 and shown["entities"][0]["fields"]["title"] == "Emma"
