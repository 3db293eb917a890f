"""The paper's Figure 1 in a real browser: a request in words over a generated mailbox, the graph walked live, the answer the truth."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from datagen.personal.write_personal_data import TODAY
from planners.dfs.request_set import request_set
from scripts.graph_truth import true_answer
from tests.conftest import ROOT
from tests.harness.waiting import until
from tests.services.web.browser import expect, tab_at
from tests.services.web.mail_pages import FIGURE_1, Mailbox, Watch, mail_page

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
_WRITE = os.environ.get("EGOTOOLS_WRITE_DOCS", "")
"""Set it to make the screenshot of the README anew: it has times in it, so that it differs at every run."""


async def test_the_request_of_figure_1_is_drawn_with_its_answer(browser: Any, mailbox: Mailbox) -> None:
    (gold,) = [each.graph for each in request_set("personal") if each.request == FIGURE_1]
    true = {var: true_answer(gold.model_copy(update={"return_var": var}), mailbox.truth, TODAY) for var in gold.vars}
    assert len(true["w"]) > 10, "the data has an answer"
    async with mail_page(mailbox) as served, tab_at(browser, served.address) as tab:
        await tab.ask(FIGURE_1)
        await tab.shows("#run-status", f"{len(true['w'])} found.")
        await tab.shows("#run-notes", '"in February" is read as 2026-02-01 to 2026-02-28')
        await tab.page.wait_for_selector("#tools-graph [data-drawn]")
        await tab.page.wait_for_selector("#run-graph [data-drawn='6']")
        await expect(tab.page.locator("#results li")).to_have_count(len(true["w"]))
        await tab.page.evaluate("document.activeElement.blur()")
        shown = await tab.page.screenshot()
        if _WRITE:
            (ROOT / "docs" / "page.png").write_bytes(shown)
        answer = await tab.page.locator("#results dd:nth-of-type(1)").all_text_contents()
        assert sorted(answer) == sorted(true["w"])
        for var in ("w", "e", "p", "ev", "self"):
            assert sorted(await tab.identifiers(var)) == sorted(true[var]), f"a click on {var} shows the truth"
        assert await tab.identifiers("d") == ["2026-02-01/2026-03-01"]


async def test_the_walk_of_figure_1_is_live(browser: Any, mailbox: Mailbox) -> None:
    watch = Watch(permits=asyncio.Semaphore(0))
    async with mail_page(mailbox, watch) as served, tab_at(browser, served.address) as tab:
        candidates = tab.page.locator("#variables tbody tr:nth-child(2) td:nth-of-type(3)")  # of e
        await tab.ask(FIGURE_1)
        await tab.page.wait_for_selector("#run-graph [data-drawn='6']")
        edges = await tab.page.locator("#run-graph text.edge").all_text_contents()
        assert sorted(edges) == ["attended", "attended", "from", "mentions_url", "occurred_on"]
        watch.let(4)  # counts, from which the walk is ordered
        await until(lambda: len(watch.called) == 5)
        await tab.shows("#run-status", "Resolving")
        log = [each for each in await tab.page.locator("#log li").all_text_contents() if each.startswith("next: ")]
        assert log == [f"next: {var}" for var in ("w", "e", "p", "ev", "d")], "depth first, from what is asked for"
        assert await candidates.inner_text() == "–"
        watch.let(4)
        await until(lambda: len(watch.called) == 9)
        await expect(candidates).to_have_text("71")
        await tab.page.click("#run-graph .node[data-id=e]")
        await tab.shows("#results", "71 candidates so far. The first 50 are listed.")
        await expect(tab.page.locator("#run-graph .node.now")).to_have_count(1)
        await expect(tab.page.locator("#run-graph .link.done")).to_have_count(4)
        watch.let(1)
        await tab.shows("#run-status", "40 found.")
        await expect(candidates).to_have_text("71 → 29")
        calls = [each for each in await tab.page.locator("#log li").all_text_contents() if " ms)" in each]
        assert len(calls) == len(watch.called) == 9
        assert "follow Email mentions_url Webpage: 43 rows" in calls[-1]
        (stream,) = [each for each in tab.answered if each.url.endswith("/events")]
        assert stream.headers["content-type"].startswith("text/event-stream")
