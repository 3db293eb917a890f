"""The web tools of one run: search, visit, turn pages, find words, and articles of a wiki.

Only public addresses are visited, each redirect is checked again, and only so many bytes and seconds of text are taken. Pages that only
scripts write are not run: what their HTML says without them is all that is seen. A model that is shown a long page at once overlooks
what stands in its middle (paper KGoT, B.4); so it reads one view after another, or looks for words.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from egotools import PermissionDeniedError, ToolRequestError
from egotools.calling.address_guard import IDENTITY, Network, is_encoded
from egotools.calling.invoker import compressed, too_slow, unreachable
from ontology.errors import InvalidArgumentError, ToolCallError, UnsupportedError
from ontology.hosts import check_http_url
from planners.kgot.tools.task_files import FileConverter

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["WebEndpoints", "WebTools"]

_REDIRECTS = 5
VIEW_CHARS = 6_000
"""Of a view: about 1,500 tokens, so that eight answers fit the window of a small model beside the graph (16,384 tokens)."""
_MOST_PAGES = 16
"""That stay open: twice as many as a run of seven iterations usually visits."""
_QUERY_CHARS, _ADDRESS_CHARS, _RESULT_CHARS, _AROUND_CHARS = 500, 2_000, 500, 200
_MOST_RESULTS = 10
"""Of a search: the first page of the usual engines."""
_HEADERS = {"User-Agent": "egotools (a tool of a language model)", **IDENTITY}
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = ("application/json", "application/ld+json", "application/xml", "application/rss+xml", *_HTML)
_ENCODINGS = (
    "utf",
    "ascii",
    "us-ascii",
    "iso-8859",
    "latin",
    "windows",
    "cp1",
    "gb",
    "big5",
    "shift",
    "euc",
    "koi8",
    "mac",
)
"""Beginnings of the names of the web's encodings; Python knows others, which are slow or none of texts."""
_LISTS = ("organic_results", "results")
"""Where the results of a search stand: as SerpAPI answers, and as SearXNG does."""
_FIELDS = {
    "title": ("title",),
    "url": ("link", "url"),
    "text": ("snippet", "content"),
    "date": ("date", "publishedDate"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebEndpoints:
    """What the web tools are connected with.

    :param search: address that answers a search with JSON, with ``{query}`` in it; may hold a key. None: no search.
    :param search_headers: sent with it, for example a key.
    :param wiki: address of a wiki that runs MediaWiki, up to the folder of ``api.php``. None: no wiki.
    """

    search: str | None = field(default=None, repr=False)
    search_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    wiki: str | None = None

    def __post_init__(self) -> None:
        for what, address in (("search", self.search), ("wiki", self.wiki)):
            if address is not None:
                check_http_url(address, subject=f"{what} endpoint")
        if self.search is not None and "{query}" not in self.search:
            remedy = "Write it where the words go: https://search.example/?format=json&q={query}"
            raise InvalidArgumentError("the address has no {query}", subject="search endpoint", remedy=remedy)


@dataclass(frozen=True, slots=True)
class _Fetched:
    url: str
    media_type: str
    charset: str
    content: bytes
    is_cut: bool


@dataclass(slots=True, eq=False)
class _Page:
    """An open page, the index of the current view, and what was searched for: places as view and character in it."""

    url: str
    title: str
    views: tuple[str, ...]
    is_cut: bool = False
    at: int = 0
    words: str = ""
    places: tuple[tuple[int, int], ...] = ()
    nth: int = 0

    def shown(self) -> dict[str, Any]:
        """Return the current view as JSON values."""
        is_end = self.is_cut and self.at + 1 == len(self.views)
        note = {"note": "the page goes on, but was cut off here"} if is_end else {}
        body = {"url": self.url, "title": self.title, "page": self.at + 1, "pages": len(self.views)}
        return {**body, **note, "text": self.views[self.at]}


@dataclass(eq=False, repr=False)
class WebTools:
    """Make one for each run: the pages that it reads stay open from call to call, and the oldest of many is forgotten.

    Calls name a page, or mean the one that was opened last. Their errors: :class:`ToolRequestError` for what was asked,
    :class:`PermissionDeniedError` for an address that is not public, :class:`ToolCallError` and :class:`ClientError` for what a server
    did.

    :param endpoints: without a search or a wiki, these tools are not ready; pages can be visited all the same.
    :param allowed_networks: that are not public and whose pages may be visited all the same.
    :param timeout_s: seconds for a page as a whole, redirects included.
    :param page_bytes: what a page has beyond is cut off. The 90th percentile of HTML documents is below 200 kB; long lists and
        specifications have 1 to 2 MB.
    """

    endpoints: WebEndpoints = field(default_factory=WebEndpoints)
    _: KW_ONLY
    allowed_networks: Sequence[Network] = ()
    timeout_s: float = 20.0
    page_bytes: int = 2 * 2**20
    _converter: FileConverter = field(default_factory=FileConverter, init=False)
    _pages: dict[str, _Page] = field(default_factory=dict, init=False)

    async def check_search(self) -> None:
        """Raise :class:`UnsupportedError` when no search endpoint is configured; it is not asked, which may cost money."""
        _configured("search", self.endpoints.search)

    async def check_wiki(self) -> None:
        """Raise :class:`UnsupportedError` when no wiki is configured; else see :meth:`check_pages`."""
        _configured("wiki", self.endpoints.wiki)
        await self.check_pages()

    async def check_pages(self) -> None:
        """Raise why HTML cannot be made text here; see :meth:`FileConverter.check`."""
        await self._converter.check()

    async def search(self, query: str) -> dict[str, Any]:
        """Search the web."""
        address = _configured("search", self.endpoints.search)
        url = address.replace("{query}", quote(_words(query), safe=""))
        answer = await self._json(url, self.endpoints.search_headers)
        listed = next((answer[name] for name in _LISTS if isinstance(answer.get(name), list)), None)
        if listed is None:
            problem = f"the search endpoint answers without {' or '.join(_LISTS)}"
            remedy = "Configure an endpoint that answers as SerpAPI or SearXNG do"
            raise ToolCallError(problem, subject=_host(url), remedy=remedy)
        found = [_result(each) for each in listed if isinstance(each, Mapping)]
        return {"results": [each for each in found if each["url"]][:_MOST_RESULTS]}

    async def wikipedia(self, query: str) -> dict[str, Any]:
        """Open the article of the wiki that fits words best."""
        base = _configured("wiki", self.endpoints.wiki).rstrip("/")
        words = _words(query)
        api = f"{base}/api.php?format=json&formatversion=2&action="
        listed = await self._json(f"{api}query&list=search&srlimit=6&srsearch={quote(words, safe='')}")
        rows = _member(_member(listed, "query"), "search")
        found = [_member(row, "title") for row in rows] if isinstance(rows, list) else []
        titles = [title for title in found if isinstance(title, str)]
        if not titles and "error" not in listed:
            raise ToolCallError("the wiki has no article about this", subject=words[:200], remedy="Use other words")
        title = quote(titles[0], safe="") if titles else ""
        article = await self._json(f"{api}parse&prop=text%7Cdisplaytitle&redirects=1&page={title}") if titles else {}
        markup = _member(_member(article, "parse"), "text")
        if not isinstance(markup, str):
            problem = "the wiki does not answer as MediaWiki does"
            raise ToolCallError(problem, subject=_host(base), remedy="Check its address")
        url = f"{base}/index.php?title={quote(titles[0].replace(' ', '_'), safe='')}"
        _, text = await self._converter.convert(url, "page", markup.encode("utf-8", "replace"), "utf-8", url)
        return {**self._open(url, _Page(url, titles[0], tuple(_views(text)))), "other_articles": titles[1:]}

    async def visit(self, url: str) -> dict[str, Any]:
        """Open a page at its beginning."""
        import httpx

        from egotools.calling.http_invoker import GuardedTransport

        transport = GuardedTransport(httpx.AsyncHTTPTransport(verify=_certificates()), self.allowed_networks)
        found = await self._fetched(_checked(url), transport, _REDIRECTS, {})
        if found.media_type in _HTML:
            title, text = await self._converter.convert(found.url, "page", found.content, found.charset, found.url)
        else:
            title, text = "", _decoded(found)
        return self._open(url, _Page(found.url, title, tuple(_views(text)), found.is_cut))

    async def page_down(self, url: str = "") -> dict[str, Any]:
        """Go on in a page."""
        return await self._turned(url, 1)

    async def page_up(self, url: str = "") -> dict[str, Any]:
        """Go back in a page."""
        return await self._turned(url, -1)

    async def find(self, words: str, url: str = "") -> dict[str, Any]:
        """Go to the first place of words, in the whole page; upper and lower case are the same."""
        page = await self._page(url)
        wanted = " ".join(words[:_QUERY_CHARS].split()).casefold()
        if not wanted:
            raise ToolRequestError("there is nothing to find", subject="words", remedy="Give words of the page.")
        page.words, page.nth, page.places = wanted, -1, tuple(_places(page.views, wanted))
        return await self.find_next(url)

    async def find_next(self, url: str = "") -> dict[str, Any]:
        """Go to the next place of the words that were searched for; after the last one to the first."""
        page = await self._page(url)
        if not page.places:
            problem = f"there are no such words in the {len(page.views)} pages, or none were searched for"
            raise ToolRequestError(problem, subject="words", remedy="Look for other words.")
        page.nth = (page.nth + 1) % len(page.places)
        page.at, start = page.places[page.nth]
        around = page.views[page.at][max(0, start - _AROUND_CHARS) : start + len(page.words) + _AROUND_CHARS]
        return {"match": page.nth + 1, "matches": len(page.places), "around": around, **page.shown()}

    async def _turned(self, url: str, by: int) -> dict[str, Any]:
        page = await self._page(url)
        if not 0 <= page.at + by < len(page.views):
            problem = f"this is the {'last' if by > 0 else 'first'} of {len(page.views)}"
            raise ToolRequestError(problem, subject="page", remedy="Search for words, or visit another page.")
        page.at += by
        return page.shown()

    def _open(self, asked: str, page: _Page) -> dict[str, Any]:
        """Make a page the current one. It is found by its address, and by the one that was asked for and redirected."""
        self._pages.pop(asked, None)
        self._pages[asked] = page
        if len(self._pages) > _MOST_PAGES:
            del self._pages[next(iter(self._pages))]
        return page.shown()

    async def _page(self, url: str) -> _Page:
        """Return an open page. One that is named and not open is visited: it was open in a process that ended, or never."""
        if not url and not self._pages:
            raise ToolRequestError("no page is open", subject="url", remedy="Visit a page first.")
        newest = [(asked, page) for asked, page in reversed(self._pages.items())]
        found = next((page for asked, page in newest if not url or url in (asked, page.url)), None)
        if found is None:
            await self.visit(url)
        return found or self._pages[url]

    async def _json(self, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        """Ask an endpoint that the operator configured: its address is not checked, and no redirect is followed.

        The address may hold a key; errors name its host only.
        """
        fetched = await self._fetched(url, None, 0, headers or {})
        try:
            answer = None if fetched.is_cut else json.loads(fetched.content)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, Mapping):
            problem = "the endpoint answers with what is no object of JSON, or with too many bytes"
            remedy = "Check its address; a search engine may have to allow the format JSON"
            raise ToolCallError(problem, subject=_host(url), remedy=remedy)
        return answer

    async def _fetched(
        self, url: str, transport: httpx.AsyncBaseTransport | None, redirects: int, headers: Mapping[str, str]
    ) -> _Fetched:
        """Follow redirects one by one: each goes through the guard as a request of its own, without cookies."""
        import httpx

        host, timeout_s = _host(url), self.timeout_s
        client = httpx.AsyncClient(
            transport=transport, timeout=timeout_s, headers={**_HEADERS, **headers}, verify=_certificates()
        )
        try:
            async with asyncio.timeout(timeout_s), client:
                for left in range(redirects, -1, -1):
                    client.cookies.clear()
                    async with client.stream("GET", url) as response:
                        if response.next_request is None:
                            return await self._taken(response)
                        url = _checked(str(response.next_request.url)) if left else url
        except (TimeoutError, httpx.TimeoutException):
            raise too_slow(host, timeout_s) from None
        except PermissionDeniedError as error:
            raise PermissionDeniedError(
                "the address leads into a network that is not public; nothing was sent",
                code="PERMISSION_DENIED",
                reason="ADDRESS_NOT_ALLOWED",
                subject=error.subject,
                remedy="Visit public pages only.",
            ) from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            # The texts of httpx may hold the address, and it a key: the kind of the error is said, no more.
            raise unreachable(host, type(error).__name__) from None
        problem = f"the page was redirected more than {redirects} times" if redirects else "the endpoint redirects"
        raise ToolCallError(problem, subject=_host(url), remedy="Use the address that it leads to")

    async def _taken(self, response: httpx.Response) -> _Fetched:
        host, kind = response.url.host, response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if is_encoded(response.headers):  # a few kilobytes may unpack to gigabytes
            raise compressed(host)
        problem = ""
        if not response.is_success:
            problem = f"the server answered {response.status_code} {response.reason_phrase}".strip()
        elif not kind.startswith("text/") and kind not in _TEXTS:
            said = f"what has the type {kind[:60]!r}" if kind else "something without a type"
            problem = f"the server answered with {said}, not with text"
        if problem:
            raise ToolCallError(problem, subject=host, remedy="Try another address")
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > self.page_bytes:
                break
        charset = response.charset_encoding or ""
        return _Fetched(
            str(response.url), kind, charset, bytes(content[: self.page_bytes]), len(content) > self.page_bytes
        )


@cache
def _certificates() -> ssl.SSLContext:
    """The certificates that servers are checked against, read once: that takes 30 ms."""
    import httpx

    return httpx.create_ssl_context()


def _checked(url: str) -> str:
    """Return an address without its fragment.

    :raises ToolRequestError: when it is none of HTTP, names a user, or is very long.
    """
    remedy = "Give an address such as https://example.org/page."
    try:
        parts = urlsplit(url.strip())
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or len(url) > _ADDRESS_CHARS:
        raise ToolRequestError("this is no address of a web page", subject="url", remedy=remedy)
    if "@" in parts.netloc:
        raise ToolRequestError("the address names a user", subject="url", remedy=remedy)
    return parts._replace(fragment="").geturl()


def _configured(what: str, address: str | None) -> str:
    if address is None:
        raise UnsupportedError(f"no {what} endpoint is configured", subject=what, remedy="Configure its address")
    return address


def _words(query: str) -> str:
    words = " ".join(query.split())
    if not words:
        raise ToolRequestError("there is nothing to search for", subject="query", remedy="Give words.")
    return words[:_QUERY_CHARS]


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _result(given: Mapping[str, Any]) -> dict[str, str]:
    texts = {
        name: " ".join(next((given[each] for each in names if isinstance(given.get(each), str)), "").split())
        for name, names in _FIELDS.items()
    }
    return {
        name: text if name == "url" else text[:_RESULT_CHARS] for name, text in texts.items() if text or name != "date"
    }


def _decoded(fetched: _Fetched) -> str:
    """Return a text; what its encoding does not allow becomes a replacement character."""
    charset = fetched.charset if fetched.charset.lower().startswith(_ENCODINGS) else "utf-8"
    try:
        return fetched.content.decode(charset, "replace").lstrip("\ufeff")
    except LookupError:
        return fetched.content.decode("utf-8", "replace")


def _views(text: str) -> Iterator[str]:
    """Cut a text into views, at the end of a paragraph, line, sentence or word in their second half where there is one."""
    while len(text) > VIEW_CHARS:
        ends = (text.rfind(mark, VIEW_CHARS // 2, VIEW_CHARS) + len(mark) for mark in ("\n\n", "\n", ". ", " "))
        end = next((end for end in ends if end > VIEW_CHARS // 2), VIEW_CHARS)
        yield text[:end].rstrip()
        text = text[end:]
    yield text


def _places(views: tuple[str, ...], wanted: str) -> Iterator[tuple[int, int]]:
    for number, view in enumerate(views):
        # A line feed counts as a blank. Where folding changes the length, a place may be off by some characters.
        folded = view.replace("\n", " ").casefold()
        start = folded.find(wanted)
        while start >= 0:
            yield number, start
            start = folded.find(wanted, start + len(wanted))
