"""What a person sees of a tool that fails, of a run that is cancelled, of a service that is gone and of a lost connection."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datagen.personal.write_personal_data import TODAY
from planners.dfs.request_set import request_set
from scripts.graph_truth import true_answer
from tests.harness.waiting import until
from tests.services.web.browser import expect, tab_at
from tests.services.web.mail_pages import FIGURE_1, Mailbox, Watch, mail_page
from tests.services.web.relay import relayed

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
_LOST = ("Failed to load resource",)  # what a browser says of a request without an answer


async def test_a_tool_that_fails_leaves_a_partial_answer_that_says_what_it_lacks(
    browser: Any, mailbox: Mailbox, tmp_path: Path
) -> None:
    broken = replace(mailbox, index=Path(shutil.copy(mailbox.index, tmp_path / "index.sqlite")))
    with closing(sqlite3.connect(broken.index)) as db:
        db.execute("DROP TABLE event_day")  # no tool can tell the day of an event any more
    (gold,) = [each.graph for each in request_set("personal") if each.request == FIGURE_1]
    rest = tuple(
        each for each in gold.constraints if "d" not in (getattr(each, "target", ""), getattr(each, "var", ""))
    )
    without = gold.model_copy(
        update={"constraints": rest, "vars": {var: kind for var, kind in gold.vars.items() if var != "d"}}
    )
    true = true_answer(without, mailbox.truth, TODAY)
    async with mail_page(broken) as served, tab_at(browser, served.address) as tab:
        await tab.ask(FIGURE_1)
        await tab.shows("#run-status", f"{len(true)} found. The answer is partial.")
        await tab.shows("#run-problem", "ev occurred_on d, d.value = in February")
        await tab.shows("#run-problem", "no such table: event_day")
        await expect(tab.page.locator("#run-graph .node.lost")).to_have_count(1)
        assert await tab.page.locator("#log li.wrong").count() >= 1
        assert sorted(await tab.identifiers("w")) == sorted(true)
        assert await tab.serious() == []


async def test_a_cancelled_run_calls_nothing_more(browser: Any, mailbox: Mailbox) -> None:
    watch = Watch(permits=asyncio.Semaphore(0))
    async with mail_page(mailbox, watch) as served, tab_at(browser, served.address) as tab:
        await tab.ask(FIGURE_1)
        watch.let(5)
        await until(lambda: len(watch.called) == 6)
        await tab.page.click("#cancel")
        await tab.shows("#run-status", "Cancelled.")
        assert watch.cancelled == watch.called[5:], "the call under way is given up before the page says so"
        assert not await tab.page.is_visible("#cancel")
        watch.let(100)
        await tab.ask(FIGURE_1)  # the page goes on
        await tab.shows("#run-status", "40 found.")
        assert len(watch.called) == 6 + 9, "the cancelled run has called nothing more"


async def test_a_service_that_is_gone_is_said_on_both_sides(browser: Any, mailbox: Mailbox) -> None:
    async with mail_page(mailbox) as served, tab_at(browser, served.address, errors=_LOST) as tab:
        await served.server.stop(grace_s=0.0)
        await tab.ask(FIGURE_1)
        await tab.shows("#tools-status", "There is no answer.")
        await tab.shows("#problem", "does not answer")
        await tab.shows("#run-problem", "the tool service did not answer")


async def test_a_lost_connection_is_said_and_taken_up_again(browser: Any, mailbox: Mailbox) -> None:
    watch = Watch(permits=asyncio.Semaphore(0))
    async with (
        mail_page(mailbox, watch) as served,
        relayed(served.address) as relay,
        tab_at(browser, relay.address, errors=_LOST) as tab,
    ):
        await tab.ask(FIGURE_1)
        watch.let(4)
        await tab.shows("#run-status", "Resolving")
        await relay.cut()
        await tab.shows("#run-problem", "The connection to the server is lost")
        watch.let(100)
        await relay.join()
        await tab.shows("#run-status", "40 found.")
        assert not await tab.page.is_visible("#run-problem")
        log = await tab.page.locator("#log li").all_text_contents()
        assert len([line for line in log if " ms)" in line]) == len(watch.called) == 9, "each event is shown once"
        await relay.cut()
        await tab.ask(FIGURE_1)
        await tab.shows("#problem", "the server does not answer")
        await tab.shows("#run-problem", "the server does not answer")
