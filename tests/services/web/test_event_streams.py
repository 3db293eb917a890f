"""The streams of events of the page are bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from services.web import live_runs
from tests.services.web.demo_plan import DemoPlan
from tests.services.web.test_page_access import browsing
from tests.services.web.web_pages import web_page


async def test_event_streams_are_bounded(monkeypatch: pytest.MonkeyPatch, web_store: Path) -> None:
    monkeypatch.setattr(live_runs, "_MOST_STREAMS", 9)
    plan = DemoPlan()
    async with web_page(web_store, plan) as address, browsing(address) as client:
        runs = [(await client.post("/api/runs", json={"query": "wait"})).json()["id"] for _ in range(2)]

        async def streams(run: str, number: int) -> list[Any]:
            asked = [client.build_request("GET", f"/api/runs/{run}/events") for _ in range(number)]
            return list(await asyncio.gather(*(client.send(each, stream=True) for each in asked)))

        first = await streams(runs[0], 10)
        assert sorted(each.status_code for each in first) == [200] * 8 + [429] * 2
        second = await streams(runs[1], 2)
        assert sorted(each.status_code for each in second) == [200, 429]
        for each in first:
            await each.aclose()

        async def free() -> bool:
            (again,) = await streams(runs[0], 1)
            await again.aclose()
            return bool(again.status_code == 200)

        async with asyncio.timeout(20):
            while not await free():
                pass
        for each in second:
            await each.aclose()
