"""Questions of a graph on the page, in a real browser: two turns by a model behind HTTP, a branch, a cancelled run, an error."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from services.jobs.ask_parts import AskPlan
from tests.conftest import ROOT
from tests.harness.http_server import as_json
from tests.planners.graphseek.agent.http_run import calls
from tests.planners.kgot.run_fakes import StepServer
from tests.services.web.browser import Tab, expect, tab_at
from tests.services.web.web_pages import web_page

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
_WRITE = os.environ.get("EGOTOOLS_WRITE_DOCS", "")
"""Set it to make the screenshot of docs/graphseek.md anew."""
COUNT = "How many tools deal with each business object? Draw the first ones."
ANSWER = "Most tools deal with currency (34), customer (24) and product (13)."
GRAPH = "Show what surrounds the tool getCustomer."
BUSY = {
    "start": {"type": "business_object"},
    "direction": "in",
    "relationship_types": ["HAS_ENTITY"],
    "neighbour_type": "tool",
    "at_least": 1,
}
FIRST = {"handle": "t1", "limit": 8}
AROUND = {"start": {"type": "tool", "filters": [{"key": "id", "operator": "ends_with", "value": "getCustomer"}]}}


class Script:
    """A model: what it says depends on the question, and on the number of the step."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.charts = 0

    def __call__(self, body: Mapping[str, Any], nth: int) -> Any:
        said = body["messages"][-1]["content"]
        asked = re.findall(r"^Question: (.*)$", said, re.MULTILINE)[-1]  # those before are of earlier turns
        step = int(re.findall(r"This is step (\d+)", said)[-1])
        if asked == GRAPH:
            around = calls(("subgraph", {**AROUND, "max_hops": 1, "limit": 12, "direction": "out"}))
            return [around, {"answer": "It has 12 nodes and 12 relationships.", "of": ["g4"]}][step - 1]
        if asked == COUNT:
            self.charts += step == 3
            title = "Tools by business object" + (", once more" if self.charts > 1 else "")
            chart = {"handle": "t2", "kind": "bar", "x": "name", "y": "count", "title": title}
            answer = {"answer": ANSWER, "of": ["t2", "t1"]}
            return [calls(("degree", BUSY)), calls(("filter", FIRST)), calls(("chart", chart)), answer][step - 1]
        self.go_on.wait(10)
        return as_json({"error": "it is down"}, status=500)


async def ask(tab: Tab, words: str) -> Any:
    """Ask, and return the turn."""
    turns = await tab.page.locator(".turn").count()
    await tab.page.fill("#question", words)
    await tab.page.press("#question", "Enter")
    return tab.page.locator(".turn").nth(turns)


async def test_a_conversation_about_the_tool_graph(browser: Any, web_store: Path, tmp_path: Path) -> None:
    script = Script()
    with StepServer(turn=script) as server:
        plan = AskPlan(graph="", chat=server.chat(), cache=tmp_path)
        async with web_page(web_store, ask=plan) as address, tab_at(browser, address) as tab:
            await tab.page.click("#to-questions")
            first = await ask(tab, COUNT)
            await expect(first.locator(".outcome")).to_have_text(ANSWER)
            await expect(first.locator("svg.chart .bar")).to_have_count(8)
            await expect(first.locator("figcaption")).to_have_text("Tools by business object")
            second = await ask(tab, GRAPH)
            await second.locator("[data-drawn]").wait_for()
            await expect(second.locator(".node")).to_have_count(12)
            await expect(second.locator(".outcome")).to_have_text("It has 12 nodes and 12 relationships.")
            await _pages(first)
            await _plan(first)
            await tab.page.evaluate("document.activeElement.blur()")
            shown = await tab.page.screenshot(full_page=True)
            if _WRITE:
                (ROOT / "docs" / "graphseek.png").write_bytes(shown)
            assert await tab.serious() == []
            await first.locator(".plan button", has_text="t1: table").click()
            await expect(first.locator(".plan table")).to_be_visible()

            await first.get_by_text("Branch after this step").nth(0).click()
            third = tab.page.locator(".turn").nth(2)
            await expect(third.locator("figcaption")).to_have_text("Tools by business object, once more")
            assert server.steps == ["turn"] * (4 + 2 + 3), "the first step was taken over"

            fourth = await ask(tab, "What will hang?")
            await tab.page.click("#question-cancel")
            await expect(fourth.locator("[role=status]").first).to_have_text("Cancelled.")
            script.go_on.set()
            fifth = await ask(tab, "What is down?")
            await expect(fourth).to_be_visible()
            await expect(fifth.locator(".problem")).to_contain_text("the endpoint answered HTTP 500")
            await expect(fifth.locator(".problem")).to_contain_text("Ask again")


async def _pages(turn: Any) -> None:
    """Go to the next rows of the whole table, and back."""
    table = turn.locator(".results > div").last
    first = await table.locator("tbody tr").first.inner_text()
    assert await table.locator("tbody tr").count() == 10
    await table.get_by_text("Next").click()
    await expect(table.locator(".pager span")).to_contain_text("Rows 11 to")
    assert await table.locator("tbody tr").first.inner_text() != first
    await table.get_by_text("Previous").click()
    await expect(table.locator("tbody tr").first).to_have_text(re.compile(re.escape(first.split("\t")[0])))


async def _plan(turn: Any) -> None:
    """Look at the plan, and at a query."""
    await turn.locator("summary", has_text="Plan").click()
    await turn.locator(".query summary").first.click()
    await expect(turn.locator(".query pre").first).to_contain_text("MATCH")
