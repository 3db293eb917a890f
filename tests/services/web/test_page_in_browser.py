"""The page in a real browser: requests drawn, runs live, hostile documents, keyboard, screen reader, long tasks, both colour schemes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.services.web import browser as browsers
from tests.services.web.browser import Tab, expect
from tests.services.web.demo_plan import EVENTS, FIGURE_1, HOSTILE, DemoPlan

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
Opened: TypeAlias = Callable[..., AbstractAsyncContextManager[Tab]]


@pytest.fixture
def opened(browser: Any, web_store: Path) -> Opened:
    """Opens the page of a store."""
    return partial(browsers.opened, browser, web_store)


@pytest.mark.ci
async def test_a_request_is_drawn_with_its_tools_and_its_run(opened: Opened) -> None:
    async with opened(DemoPlan()) as tab:
        await tab.ask(FIGURE_1)
        await tab.shows("#run-status", "6 found.")
        await tab.shows("#tools-status", "10 tools")
        assert await tab.page.locator("#tools > li").count() == 10
        await tab.page.wait_for_selector("#tools-graph [data-drawn]")
        assert await tab.page.locator("#tools-graph .node.tool").count() >= 10
        assert await tab.page.locator("#tools-graph .node.entry").count() > 0
        assert await tab.page.locator("#run-graph .node").count() == 4
        rows = await tab.page.locator("#variables tbody tr").all_inner_texts()
        assert [row.split("\t")[0] for row in rows] == ["dir", "f", "e", "p"]
        assert rows[2].endswith("461 → 180")
        assert rows[3].split("\t")[2] == "name = Jane Doe"
        assert await tab.page.locator("#results li").count() == 6
        assert await tab.serious() == []
        await tab.ask("mark a good customer")  # hostile documents and mails stay text
        await tab.shows("#tools", HOSTILE)
        await tab.page.click("#run-graph .node[data-id=e]")
        await tab.shows("#results summary >> nth=0", "onerror")
        await tab.page.click("text=hostile/mark_customer")
        await tab.shows("#entity", HOSTILE)
        assert await tab.page.locator("img, main script").count() == 0


async def test_a_run_is_live(opened: Opened) -> None:
    plan = DemoPlan()
    async with opened(plan) as tab:
        await tab.ask("wait for folders")
        for _ in range(3):
            plan.steps.release()
        await expect(tab.page.locator("#variables tr.now th")).to_have_text("f")
        await expect(tab.page.locator("#run-graph .node.now")).to_have_attribute("data-id", "f")
        await tab.page.click("#run-graph .node[data-id=e]")
        await tab.shows("#results", "No candidates so far.")
        for _ in range(7):
            plan.steps.release()
        await tab.shows("#variables tbody tr:nth-child(3)", "461")
        assert await tab.page.locator("#cancel").is_visible()
        await tab.page.click("#run-graph .node[data-id=e]")
        await tab.shows("#results", "461 candidates so far. The first 50 are listed.")
        assert await tab.page.locator("#results li").count() == 50
        for _ in EVENTS:
            plan.steps.release()
        await tab.shows("#variables tbody tr:nth-child(3)", "461 → 180")
        assert await tab.page.locator("#log li").count() == len(EVENTS) + 1
