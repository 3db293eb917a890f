"""The web tools of one run: search, visit, turn pages, find words, and articles of a wiki.

Pages that only scripts write are not run: what their HTML says without them is all that is seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from egotools import ToolRequestError
from egotools.calling.address_guard import Network
from ontology.errors import UnsupportedError
from planners.kgot.tools.browsing_session import BrowsingSession
from planners.kgot.tools.html_text import HtmlText, decoded_text, html_text
from planners.kgot.tools.page_fetcher import FetchedPage, PageFetcher, WebLimits
from planners.kgot.tools.tool_set import ToolSet
from planners.kgot.tools.web_endpoints import SearchEndpoint, WebEndpoints, WikiEndpoint

__all__ = ["WebTools", "register_web_tools"]

_QUERY_CHARS = 500
_HTML = ("text/html", "application/xhtml+xml")


class WebTools:
    """Make one for each run: the pages that it reads stay open from call to call.

    :param endpoints: without a search or a wiki, these tools are not ready; pages can be visited all the same.
    :param allowed_networks: that are not public and whose pages may be visited all the same.
    """

    def __init__(
        self,
        endpoints: WebEndpoints | None = None,
        *,
        limits: WebLimits | None = None,
        allowed_networks: Sequence[Network] = (),
    ) -> None:
        given = endpoints or WebEndpoints()
        self._fetcher = fetcher = PageFetcher(limits=limits, allowed_networks=allowed_networks)
        self._search = SearchEndpoint(fetcher, given.search, given.search_headers) if given.search else None
        self._wiki = WikiEndpoint(fetcher, given.wiki) if given.wiki else None
        self._session = BrowsingSession()

    async def check_search(self) -> None:
        """Find out whether a search endpoint is configured; it is not asked, which may cost money.

        :raises UnsupportedError: when none is.
        """
        if self._search is None:
            raise _not_configured("search")

    async def check_wiki(self) -> None:
        """Find out whether a wiki is configured.

        :raises UnsupportedError: when none is.
        """
        if self._wiki is None:
            raise _not_configured("wiki")

    async def search(self, query: str) -> dict[str, Any]:
        """Search the web.

        :raises UnsupportedError: when no search endpoint is configured.
        :raises ToolRequestError: when there are no words.
        :raises ToolCallError: when the endpoint answers otherwise than such endpoints do.
        """
        if self._search is None:
            raise _not_configured("search")
        return {"results": await self._search.search(_words(query))}

    async def wikipedia(self, query: str) -> dict[str, Any]:
        """Open the article of the wiki that fits words best. Errors as of :meth:`search`."""
        if self._wiki is None:
            raise _not_configured("wiki")
        article = await self._wiki.article(_words(query))
        page = self._session.open(article.url, article.title, article.text)
        return {**page.shown(), "other_articles": list(article.others)}

    async def visit(self, url: str) -> dict[str, Any]:
        """Open a page. Errors as of :meth:`PageFetcher.page`."""
        fetched = await self._fetcher.page(url)
        title, text = await asyncio.to_thread(_text_of, fetched)
        page = self._session.open(fetched.url, title, text, asked=url, cut=fetched.cut)
        return page.shown()

    async def page_down(self, url: str = "") -> dict[str, Any]:
        """Go on in a page. Errors as of :meth:`BrowsingSession.turn` and, where it is not open yet, of :meth:`visit`."""
        await self._open(url)
        return self._session.turn(url, 1).shown()

    async def page_up(self, url: str = "") -> dict[str, Any]:
        """Go back in a page. Errors as of :meth:`page_down`."""
        await self._open(url)
        return self._session.turn(url, -1).shown()

    async def find(self, words: str, url: str = "") -> dict[str, Any]:
        """Go to words in a page. Errors as of :meth:`BrowsingSession.find` and, where it is not open yet, of :meth:`visit`."""
        await self._open(url)
        return self._session.find(url, words[:_QUERY_CHARS])

    async def find_next(self, url: str = "") -> dict[str, Any]:
        """Go to the next place of the words. Errors as of :meth:`BrowsingSession.find_next`."""
        return self._session.find_next(url)

    async def _open(self, url: str) -> None:
        """Visit a page that a model names and that is not open: it was not visited, or in a process that ended."""
        if url and not self._session.has(url):
            await self.visit(url)


_PAGE = {
    "url": {"type": "string", "description": "Address of the page."},
    "title": {"type": "string", "description": "Title of the page."},
    "page": {"type": "integer", "description": "Number of the part that is shown."},
    "pages": {"type": "integer", "description": "Number of all parts."},
    "text": {"type": "string", "description": "Text of this part."},
}
_QUERY_INPUT = {"query": {"type": "string", "description": "Words, as for a search engine."}}
_OPEN_INPUT = {"url": {"type": "string", "description": "Address of the page; leave it out for the last visited one."}}


def register_web_tools(tools: ToolSet, web: WebTools) -> tuple[str, ...]:
    """Register the seven tools and return their ids."""

    def register(function: Callable[..., Awaitable[Any]], description: str, **parts: Any) -> str:
        outputs = {"outputs": _PAGE, **parts}
        return tools.register(function, name=function.__name__, description=description, **outputs)

    return (
        register(
            web.search,
            "Search the web by a search engine. Returns titles, addresses and short texts of pages; visit one to read it.",
            inputs=_QUERY_INPUT,
            required=("query",),
            outputs={"results": {"type": "array", "description": "What was found: title, url, text, date."}},
            check=web.check_search,
        ),
        register(
            web.wikipedia,
            "Open the Wikipedia article that fits words best and return the first part of its text; page_down goes on.",
            inputs=_QUERY_INPUT,
            required=("query",),
            check=web.check_wiki,
        ),
        register(
            web.visit,
            "Open a web page by its address and return the first part of its text, with links; page_down goes on, find looks for words.",
            inputs={"url": {"type": "string", "description": "Address, for example https://example.org/page."}},
            required=("url",),
        ),
        register(web.page_down, "Read the next part of a web page.", inputs=_OPEN_INPUT),
        register(web.page_up, "Read the part before in a web page.", inputs=_OPEN_INPUT),
        register(
            web.find,
            "Look for words in a whole web page, and show the part where they stand first.",
            inputs={"words": {"type": "string", "description": "Words as they stand in the page."}, **_OPEN_INPUT},
            required=("words",),
        ),
        register(
            web.find_next, "Show the next place of the words that find looked for in a web page.", inputs=_OPEN_INPUT
        ),
    )


def _text_of(fetched: FetchedPage) -> HtmlText:
    is_html = fetched.media_type in _HTML
    text = decoded_text(fetched.content, fetched.charset, is_html=is_html)
    return html_text(text, fetched.url) if is_html else HtmlText("", text)


def _words(query: str) -> str:
    words = " ".join(query.split())
    if not words:
        raise ToolRequestError("there is nothing to search for", subject="query", remedy="Give words.")
    return words[:_QUERY_CHARS]


def _not_configured(what: str) -> UnsupportedError:
    return UnsupportedError(f"no {what} endpoint is configured", subject=what, remedy="Configure its address")
