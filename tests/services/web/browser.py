"""A tab of a real browser, with what the browser said of the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.services.web.web_pages import web_page

playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync --no-first-run"
_AXE = Path(__file__).parent / "axe" / "axe.min.js"
_WAIT_MS = 20_000  # for one state of the page
playwright.expect.set_options(timeout=_WAIT_MS)
expect = playwright.expect


class Tab:
    """A page.

    :param said: errors of the console and of scripts.
    :param requested: every address that the browser asked for.
    :param dialogs: what a script opened (``alert``).
    """

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.said: list[str] = []
        self.requested: list[str] = []
        self.dialogs: list[str] = []
        page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("dialog", self._dismiss)

    async def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        await dialog.dismiss()

    async def ask(self, words: str) -> None:
        await self.page.fill("#request", words)
        await self.page.press("#request", "Enter")

    async def shows(self, selector: str, words: str) -> None:
        await expect(self.page.locator(selector)).to_contain_text(words)

    async def serious(self) -> list[str]:
        """What axe-core finds that is serious or critical."""
        await self.page.evaluate(_AXE.read_text(encoding="utf-8"))
        found = await self.page.evaluate("axe.run().then((result) => result.violations)")
        return [
            f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")
        ]


@asynccontextmanager
async def tab_at(browser: Any, address: str, *, errors: tuple[str, ...] = (), **context: Any) -> AsyncIterator[Tab]:
    """Open a page. Afterwards nothing may have been asked of another machine, and no script may have failed.

    :param errors: beginnings of what the console may say.
    :param context: options of the browser's context (``color_scheme``, ``viewport``).
    """
    page = await browser.new_page(**{"viewport": {"width": 1280, "height": 960}, **context})
    page.set_default_timeout(_WAIT_MS)
    tab = Tab(page, address)
    await page.goto(address)
    await page.wait_for_selector("body[data-ready]")
    yield tab
    await page.close()
    assert [words for words in tab.said if not words.startswith(errors or ("\0",))] == []
    assert [url for url in tab.requested if not url.startswith(address)] == []
    assert tab.dialogs == []


@asynccontextmanager
async def opened(browser: Any, store: Path, plan: Any = None, **context: Any) -> AsyncIterator[Tab]:
    """Serve a store and open its page."""
    async with web_page(store, plan) as address, tab_at(browser, address, **context) as tab:
        yield tab
