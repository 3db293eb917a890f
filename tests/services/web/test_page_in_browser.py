"""The page in a real browser: calls, tools and runs live, hostile documents as text, questions, and what axe finds."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from services.jobs.ask_parts import AskPlan
from tests.services.web import browser as browsers
from tests.services.web.browser import Tab, expect, tab_at
from tests.services.web.demo_plan import EVENTS, FIGURE_1, HOSTILE, DemoPlan
from tests.services.web.web_pages import web_page

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
Opened: TypeAlias = Callable[..., AbstractAsyncContextManager[Tab]]


@pytest.fixture
def opened(browser: Any, web_store: Path) -> Opened:
    """Opens the page of a store."""
    return partial(browsers.opened, browser, web_store)


@pytest.mark.ci
async def test_a_request_is_shown_with_its_calls_its_tools_and_its_run(opened: Opened) -> None:
    async with opened(DemoPlan()) as tab:
        await tab.ask(FIGURE_1)
        await tab.shows("#run-status", "6 found.")
        await tab.shows("#tools-status", "10 tools")
        assert await tab.page.locator("#tools > li").count() == 10
        assert await tab.page.locator("#call-plan > li").count() > 0
        assert await tab.page.locator("#calls > li").count() == 4
        assert await tab.page.locator("#results li").count() == 6
        for box in ("#tools-graph-box", "#run-graph-box"):
            assert await tab.page.locator(f"{box} .node").first.is_hidden()
            await tab.page.click(f"{box} > summary")
        await tab.page.wait_for_selector("#tools-graph [data-drawn]")
        assert await tab.page.locator("#tools-graph .node.tool").count() >= 10
        assert await tab.page.locator("#run-graph .node").count() == 4
        rows = await tab.page.locator("#variables tbody tr").all_inner_texts()
        assert rows[2].endswith("461 → 180") and rows[3].split("\t")[2] == "name = Jane Doe"
        assert await tab.serious() == []
        await tab.ask("mark a good customer")  # hostile documents and mails stay text
        await tab.shows("#tools", HOSTILE)
        await tab.page.click("#run-graph .node[data-id=e]")
        await tab.shows("#results summary >> nth=0", "onerror")
        await tab.page.click("#tools >> text=hostile/mark_customer")
        await tab.shows("#entity", HOSTILE)
        assert await tab.page.locator("img, main script").count() == 0


async def test_a_run_is_live(opened: Opened) -> None:
    plan = DemoPlan()
    async with opened(plan) as tab:
        await tab.ask("wait for folders")
        for _ in range(3):
            plan.steps.release()
        await tab.page.click("#run-graph-box > summary")
        await expect(tab.page.locator("#variables tr.now th")).to_have_text("f")
        for _ in range(7):
            plan.steps.release()
        await tab.shows("#variables tbody tr:nth-child(3)", "461")
        assert await tab.page.locator("#cancel").is_visible()
        await tab.page.click("#run-graph .node[data-id=e]")
        await tab.shows("#results", "461 candidates so far. The first 50 are listed.")
        for _ in EVENTS:
            plan.steps.release()
        await tab.shows("#variables tbody tr:nth-child(3)", "461 → 180")
        await expect(tab.page.locator("#log li")).to_have_count(len(EVENTS) + 1)


async def test_a_question_is_answered_with_a_table(browser: Any, web_store: Path, tmp_path: Path) -> None:
    plan = AskPlan(graph="", cache=tmp_path)
    async with web_page(web_store, ask=plan) as address, tab_at(browser, address) as tab:
        await tab.page.click("#to-questions")
        await tab.page.fill("#question", "How many tools does each system offer?")
        await tab.page.press("#question", "Enter")
        await tab.shows("#question-status", "Answered.")
        await tab.shows("#question-results table", "Sales Hub")
        assert await tab.serious() == []
        await tab.page.fill("#question", 'Which tools does the system "Sales Hubb" offer?')
        await tab.page.press("#question", "Enter")
        await tab.page.click("#question-meant")
        await tab.shows("#question-status", "Answered.")
