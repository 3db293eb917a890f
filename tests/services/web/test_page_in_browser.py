"""The page in a real browser: requests drawn, runs live, hostile documents, keyboard, screen reader, long tasks, both colour schemes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.harness.waiting import until
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


async def test_tools_say_which_need_they_serve(opened: Opened) -> None:
    async with opened(errors=("Failed to load resource",)) as tab:
        await tab.page.fill("#needs", "find a customer by name\n\nreverse a posted document\n")
        await tab.page.click("#request-form >> text=Ask")
        await tab.shows("#tools-needs li:nth-child(2)", "reverse a posted document")
        assert await tab.page.locator("#tools-needs li").count() == 2
        await tab.shows("#tools", "Serves: find a customer by name")
        await tab.page.fill("#needs", "4711")
        await tab.page.click("#request-form >> text=Ask")
        await tab.shows("#problem", "needs[0]")


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


async def test_a_run_is_cancelled(opened: Opened) -> None:
    plan = DemoPlan()
    async with opened(plan) as tab:
        await tab.ask("wait for folders")
        plan.steps.release()
        await tab.page.click("#cancel")
        await tab.shows("#run-status", "Cancelled.")
        assert plan.cancelled == 1
        await tab.ask("wait again")
        await tab.shows("#run-status", "Reading the request")
        await tab.ask("folders")  # a new request ends the one before it
        await tab.shows("#run-status", "6 found.")
        await until(lambda: plan.cancelled == 2)


@pytest.mark.parametrize("allowed", [True, False])
async def test_what_may_change_something_is_asked_first(opened: Opened, allowed: bool) -> None:
    async with opened(DemoPlan()) as tab:
        await tab.ask("delete folders")
        await tab.shows("#consent", HOSTILE)
        assert await tab.page.evaluate("document.activeElement.textContent") == "Allow"
        await tab.page.click("text=Allow" if allowed else "text=Refuse")
        await tab.shows("#run-status", "6 found." if allowed else "The run has failed.")


async def test_hostile_documents_and_mails_stay_text(opened: Opened) -> None:
    async with opened(DemoPlan()) as tab:
        await tab.ask("mark a good customer")
        await tab.shows("#tools", HOSTILE)
        await tab.page.click("#run-graph .node[data-id=e]")
        await tab.shows("#results summary >> nth=0", "onerror")
        await tab.page.click("text=hostile/mark_customer")
        await tab.shows("#entity", HOSTILE)
        assert await tab.page.title() == "egotools"
        assert await tab.page.locator("img, main script").count() == 0


async def test_the_catalogue_is_searched_and_walked(opened: Opened) -> None:
    async with opened() as tab:
        await tab.page.click("text=Catalogue")
        await tab.shows("#search-status", "tools.")
        await tab.page.fill("#search", "open orders of a customer")
        await tab.page.press("#search", "Enter")
        await tab.shows("#search-status", "best first")
        await tab.page.click("#search-results button >> nth=0")
        await tab.page.wait_for_selector("#entity-graph [data-drawn]")
        details = await tab.page.locator("#entity-graph .detail").all_text_contents()
        assert sum(each.startswith((" → ", " ← ")) for each in details) == len(details) - 1, (
            "each neighbour says its edge"
        )
        before = await tab.page.inner_text("#entity-title")
        await tab.page.click("#entity-graph .node >> nth=3")
        await expect(tab.page.locator("#entity-title")).not_to_have_text(before)
        await tab.shows("#duplicates", "hostile/noteCustomer")


async def test_a_finding_is_approved(browser: Any, web_store: Path, tmp_path: Path) -> None:
    store = shutil.copytree(web_store, tmp_path / "store", symlinks=True)
    async with browsers.opened(browser, store) as tab:
        await tab.page.goto(f"{tab.address}/#catalogue")
        await tab.shows("#findings", "hostile/note_customer")
        await tab.page.fill("#findings input", "read and judged harmless")
        await tab.page.click("#findings button")
        await tab.shows("#findings", "Approved as it is")
    assert "read and judged harmless" in (store / "approvals.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_serious_for_a_screen_reader(opened: Opened, scheme: str) -> None:
    async with opened(DemoPlan(), color_scheme=scheme) as tab:
        assert await tab.serious() == []
        await tab.ask("delete folders")
        await tab.shows("#consent", "May")
        assert await tab.serious() == []
        await tab.page.click("text=Allow")
        await tab.shows("#results h3", "Answer: 6")
        await tab.page.click("#results summary")
        await tab.page.wait_for_selector("#tools-graph [data-drawn]")
        await tab.page.click("#tools-graph .node.tool circle")
        await tab.shows("#tools-node", "Show in the catalogue")
        await tab.page.click("#tools summary")
        assert await tab.serious() == []
        await tab.ask("fail")
        await tab.shows("#run-status", "The run has failed.")
        assert await tab.serious() == []
        await tab.page.click("text=Catalogue")
        await tab.page.click("#search-results button >> nth=0")
        await tab.page.wait_for_selector("#entity-graph [data-drawn]")
        await tab.page.click("#entity summary")
        await tab.shows("#duplicates", "hostile/noteCustomer")
        assert await tab.serious() == []
        back = await tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
        lightness = sum(map(int, re.findall(r"\d+", back)[:3])) / 3
        assert (lightness > 200) is (scheme == "light")


_FOCUSED = """() => {
  const own = document.activeElement, style = getComputedStyle(own), circle = own.querySelector(":scope > circle");
  const box = own.getBoundingClientRect();
  const ring = circle ? getComputedStyle(circle).strokeWidth : style.outlineStyle !== "none" && style.outlineWidth;
  return { what: own.id || own.textContent.trim().slice(0, 30) || own.getAttribute("aria-label") || own.tagName, tag: own.tagName,
    visible: Boolean(ring) && parseFloat(ring) >= 2 && box.width > 0 && box.height > 0 };
}"""


async def test_everything_is_reached_and_done_with_the_keyboard(opened: Opened) -> None:
    async with opened(DemoPlan()) as tab:
        await tab.ask("delete folders")
        await tab.shows("#consent", "May")
        await tab.page.keyboard.press("Enter")  # the focus is on Allow
        await tab.shows("#run-status", "6 found.")
        await tab.page.wait_for_selector("#tools-graph [data-drawn]")
        await tab.page.focus(".skip")  # the first of the page
        reached = [await tab.page.evaluate(_FOCUSED)]
        while reached[-1]["tag"] != "BODY":
            await tab.page.keyboard.press("Tab")
            reached.append(await tab.page.evaluate(_FOCUSED))
        assert [each for each in reached[:-1] if not each["visible"]] == []
        names = [each["what"] for each in reached]
        for wanted in ("Skip to the content", "to-catalogue", "request", "domain", "Ask", "Reasons", "+", "Log", "dir"):
            assert any(name.startswith(wanted) for name in names), wanted
        assert sum(each["tag"] == "g" for each in reached) == 2, "one stop for each graph"
        await tab.page.focus("#tools-graph .node[tabindex='0']")
        await tab.page.keyboard.press("ArrowRight")
        await tab.page.keyboard.press("Enter")
        await tab.shows("#tools-node-title", "1")
        await tab.page.focus("#tools-node button")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator("#entity-title")).to_be_focused()
        await tab.page.wait_for_selector("#entity-graph [data-drawn]")
