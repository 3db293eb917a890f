"""A token whose policy hides tools: the page shows them nowhere, and a run cannot use them; nobody else's run can be read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from services.server.access.static_tokens import create_token, revoke_token
from services.server.settings import ServerSettings
from tests.harness.issuers import write_policy
from tests.harness.waiting import LIMIT_S
from tests.services.web.browser import tab_at
from tests.services.web.mail_pages import FIGURE_1, TOOLS, Mailbox, mail_page

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
HIDDEN = ("list_links_in_emails", "list_emails_mentioning_webpages")
_REFUSED = ("Failed to load resource",)  # what a browser says of 403 and 404


async def _text(page: Any, response: Any) -> str:
    """What an answer said; asked for again where the browser does not keep it any more."""
    from playwright.async_api import Error

    try:
        return str(await response.text())
    except Error:
        if response.request.method != "GET":
            return ""
        return str(await page.evaluate("async (url) => (await fetch(url)).text()", response.url))


async def test_a_hidden_tool_is_nowhere_on_the_page(browser: Any, mailbox: Mailbox, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    policy = write_policy(
        tmp_path / "policy.yaml",
        {"match": {"token": "all"}, "roles": ["read"], "tenants": ["*"]},
        {
            "match": {"token": "some"},
            "roles": ["read"],
            "tenants": ["*"],
            "filters": {"id": [f"!{TOOLS}/{name}" for name in HIDDEN]},
        },
    )
    secrets = {name: create_token(tokens, name) for name in ("all", "some")}
    settings = ServerSettings(port=0, workers=2, drain_s=0.0, access_policy=policy, tokens_file=tokens)
    async with (
        mail_page(mailbox, settings=settings) as served,
        tab_at(browser, served.address, errors=_REFUSED) as tab,
        tab_at(browser, served.address, errors=_REFUSED) as other,
    ):
        for each, token in ((other, "all"), (tab, "some")):
            await each.page.fill("#token", secrets[token])
            await each.page.click("#sign-in button")
            await each.page.wait_for_selector("#request:visible")
        await other.ask(FIGURE_1)
        await other.shows("#run-status", "40 found.")
        theirs = next(url for url in other.requested if url.endswith("/events"))
        assert HIDDEN[0] in await other.page.inner_text("#log"), "whoever may see it sees it"

        await tab.ask(FIGURE_1)
        await tab.shows("#run-problem", "mentions_url")
        await tab.page.wait_for_selector("#tools-graph [data-drawn]")
        await tab.page.click("text=Catalogue")
        await tab.shows("#search-status", "40 of 40 tools.")
        await tab.page.fill("#search", "the links in the emails: web pages that they mention")
        await tab.page.press("#search", "Enter")
        await tab.shows("#search-status", "best first")
        await tab.page.click("#search-results >> text=find_emails")
        await tab.page.wait_for_selector("#entity-graph [data-drawn]")
        await tab.page.evaluate("location.hash = 'ask'")
        for name in HIDDEN:
            found = await tab.page.evaluate(
                """async (name) => [
                  (await fetch(`/api/tool?id=${name}`)).status, (await fetch(`/api/neighbors?node=tool:${name}`)).status
                ]""",
                f"{TOOLS}/{name}",
            )
            assert found == [404, 404]
        status = "async (url) => (await fetch(url)).status"
        run = theirs.removesuffix("/events")
        for url in (theirs, f"{run}/entities?var=e"):
            assert await tab.page.evaluate(status, url) == 404
        texts = [
            await _text(tab.page, each) for each in list(tab.answered) if "/api/" in each.url and each.status == 200
        ]
        assert any("EdgeTraversed" in text for text in texts) and any("total_degree" in text for text in texts)
        shown = [await tab.page.content(), *texts]
        assert [text for text in shown if any(name in text for name in HIDDEN)] == []


async def test_who_is_no_longer_signed_in_is_asked_to_sign_in(browser: Any, mailbox: Mailbox, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    policy = write_policy(tmp_path / "policy.yaml", {"match": {"token": "all"}, "roles": ["read"], "tenants": ["*"]})
    secret = create_token(tokens, "all")
    settings = ServerSettings(port=0, workers=2, drain_s=0.0, access_policy=policy, tokens_file=tokens)
    async with (
        mail_page(mailbox, settings=settings) as served,
        tab_at(browser, served.address, errors=_REFUSED) as tab,
    ):
        assert await tab.serious() == []
        await tab.page.fill("#token", secret)
        await tab.page.click("#sign-in button")
        await tab.page.wait_for_selector("#request:visible")
        revoke_token(tokens, "all")  # the server looks at the file once a second
        async with asyncio.timeout(LIMIT_S):
            while not await tab.page.evaluate(
                "fetch('/api/session').then((found) => found.json()).then((body) => body.problem)"
            ):
                pass
        await tab.ask(FIGURE_1)
        await tab.page.wait_for_selector("#token:visible")
        assert not await tab.page.is_visible("#ask")
