"""The web tools of one run: search, and pages read part by part.

Only public addresses are read, each redirect is checked again, and only so many bytes and seconds of text are taken. Scripts of a page are
not run. A model that is shown a long page at once overlooks what stands in its middle (paper KGoT, B.4); so it reads one part after another.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from egotools import PermissionDeniedError, ToolRequestError
from egotools.calling.address_guard import IDENTITY, Network, is_encoded
from egotools.calling.http_invoker import GuardedTransport, send_http
from egotools.calling.invoker import compressed, too_slow, unreachable
from inference.openai_client import check_http_url
from ontology.errors import InvalidArgumentError, ToolCallError, UnsupportedError
from planners.kgot.tools.task_files import FileConverter

_REDIRECTS = 5
# About 1,500 tokens, so that eight answers fit the window of a small model beside the graph (16,384 tokens)
_PART_CHARS = 6_000
_KEPT_PAGES = 16
_QUERY_CHARS, _ADDRESS_CHARS, _RESULT_CHARS = 500, 2_000, 500
_MOST_RESULTS = 10
_HEADERS = {"User-Agent": "egotools (a tool of a language model)", **IDENTITY}
_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = ("application/json", "application/ld+json", "application/xml", "application/rss+xml", *_HTML)
# Beginnings of the names of the web's encodings; Python knows others, which are slow or none of texts
_ENCODINGS = tuple("utf ascii us-ascii iso-8859 latin windows cp1 gb big5 shift euc koi8 mac".split())
_LISTS = ("organic_results", "results")  # where the results of a search stand: as SerpAPI answers, and as SearXNG does
_FIELDS = {
    "title": ("title",),
    "url": ("link", "url"),
    "text": ("snippet", "content"),
    "date": ("date", "publishedDate"),
}


class WebTools:
    """Make one for each run: the pages that it reads are kept, the last 16 of them.

    Errors of calls: :class:`ToolRequestError` for what was asked, :class:`PermissionDeniedError` for an address that is not public,
    :class:`ToolCallError` and :class:`ClientError` for what a server did.

    :param search: address that answers a search with JSON, with ``{query}`` in it; may hold a key. Empty: no search.
    :param allowed_networks: that are not public and whose pages may be read all the same.
    :param timeout_s: seconds for a page as a whole, redirects included.
    :param page_bytes: what a page has beyond is cut off. The 90th percentile of HTML documents is below 200 kB.
    :raises InvalidArgumentError: when the address of the search is none, or has no ``{query}``.
    """

    def __init__(
        self,
        search: str = "",
        *,
        allowed_networks: Sequence[Network] = (),
        timeout_s: float = 20.0,
        page_bytes: int = 2 * 2**20,
    ) -> None:
        if search:
            check_http_url(search, subject="search endpoint")
            if "{query}" not in search:
                remedy = "Write it where the words go: https://search.example/?format=json&q={query}"
                raise InvalidArgumentError("the address has no {query}", subject="search endpoint", remedy=remedy)
        self._search, self._allowed_networks = search, allowed_networks
        self._timeout_s, self._page_bytes = timeout_s, page_bytes
        self._converter = FileConverter()
        self._pages: dict[str, dict[str, Any]] = {}

    async def check_search(self) -> None:
        """Raise :class:`UnsupportedError` when no search endpoint is configured; it is not asked, which may cost money."""
        if not self._search:
            problem = "no search endpoint is configured"
            raise UnsupportedError(problem, subject="search", remedy="Configure its address")

    async def search(self, query: str) -> dict[str, Any]:
        """Search the web."""
        await self.check_search()
        words = " ".join(query.split())[:_QUERY_CHARS]
        if not words:
            raise ToolRequestError("there is nothing to search for", subject="query", remedy="Give words.")
        # The operator configured the address: it is not checked. It may hold a key, so errors name its host only.
        request = httpx.Request("GET", self._search.replace("{query}", quote(words, safe="")), headers=_HEADERS)
        found = await send_http(request, timeout_s=self._timeout_s, max_bytes=self._page_bytes)
        try:
            answer = json.loads(found.body) if found.ok else None
        except (ValueError, RecursionError):
            answer = None
        members = answer if isinstance(answer, dict) else {}
        listed = next((members[name] for name in _LISTS if isinstance(members.get(name), list)), None)
        if listed is None:
            what = f"a JSON object that has {' or '.join(_LISTS)}"
            problem = f"the search endpoint answered {found.status}, without {what}"
            remedy = "Configure an endpoint that answers as SerpAPI or SearXNG do; it may have to allow the format JSON"
            raise ToolCallError(problem, subject=_host(self._search), remedy=remedy)
        results = []
        for given in (each for each in listed if isinstance(each, Mapping)):
            texts = {
                name: next((given[each] for each in members if isinstance(given.get(each), str)), "")
                for name, members in _FIELDS.items()
            }
            told = {name: " ".join(text.split())[:_RESULT_CHARS] for name, text in texts.items()} | {
                "url": texts["url"]
            }
            results.append({name: text for name, text in told.items() if text or name != "date"})
        return {"results": [each for each in results if each["url"]][:_MOST_RESULTS]}

    async def read_page(self, url: str, offset: int = 0) -> dict[str, Any]:
        """Read a part of a page, from a character of its text."""
        if url not in self._pages:
            self._pages[url] = await self._page(_checked(url))
            if len(self._pages) > _KEPT_PAGES:
                del self._pages[next(iter(self._pages))]
        page = self._pages[url]
        text = page["text"]
        if not 0 <= offset <= len(text):
            problem = f"the text of the page has {len(text)} characters"
            raise ToolRequestError(problem, subject="offset", remedy="Give the next_offset of an answer.")
        # A part ends after a paragraph, line, sentence or word in its second half where there is one.
        end, half = min(len(text), offset + _PART_CHARS), offset + _PART_CHARS // 2
        if end < len(text):
            ends = (text.rfind(mark, half, end) + len(mark) for mark in ("\n\n", "\n", ". ", " "))
            end = next((each for each in ends if each > half), end)
        more = {"next_offset": end} if end < len(text) else {}
        return {**page, "characters": len(text), "offset": offset, **more, "text": text[offset:end]}

    async def _page(self, url: str) -> dict[str, Any]:
        """Fetch a page; return its address, title and text."""
        response, content = await self._fetched(url)
        address, charset = str(response.url), response.charset_encoding or ""
        note = {}
        if len(content) > self._page_bytes:
            note = {"note": f"the page is longer than {self._page_bytes:,} bytes; the rest was cut off"}
            content = content[: self._page_bytes]
        if _media_type(response) in _HTML:
            title, text = await self._converter.convert(address, "html", content, charset, address)
        else:  # what an encoding does not allow becomes a replacement character
            encoding = charset if charset.lower().startswith(_ENCODINGS) else "utf-8"
            try:
                title, text = "", content.decode(encoding, "replace").lstrip("\ufeff")
            except LookupError:
                title, text = "", content.decode("utf-8", "replace").lstrip("\ufeff")
        return {"url": address, "title": title, "text": text, **note}

    async def _fetched(self, url: str) -> tuple[httpx.Response, bytes]:
        """Follow redirects one by one: each goes through the guard as a request of its own, without cookies."""
        host, timeout_s = _host(url), self._timeout_s
        transport = GuardedTransport(httpx.AsyncHTTPTransport(), self._allowed_networks)
        try:
            async with (
                asyncio.timeout(timeout_s),
                httpx.AsyncClient(transport=transport, timeout=timeout_s, headers=_HEADERS) as client,
            ):
                for _ in range(_REDIRECTS + 1):
                    client.cookies.clear()
                    async with client.stream("GET", url) as response:
                        if response.next_request is None:
                            return response, await self._taken(response)
                        url = _checked(str(response.next_request.url))
        except (TimeoutError, httpx.TimeoutException):
            raise too_slow(host, timeout_s) from None
        except PermissionDeniedError as error:
            raise PermissionDeniedError(
                "the address leads into a network that is not public; nothing was sent",
                code="PERMISSION_DENIED",
                reason="ADDRESS_NOT_ALLOWED",
                subject=error.subject,
                remedy="Read public pages only.",
            ) from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:  # whose texts may hold the address
            raise unreachable(host, type(error).__name__) from None
        problem = f"the page was redirected more than {_REDIRECTS} times"
        raise ToolCallError(problem, subject=_host(url), remedy="Use the address that it leads to")

    async def _taken(self, response: httpx.Response) -> bytes:
        """Return the content of a page, and a little more than its limit where it is longer."""
        host, kind = response.url.host, _media_type(response)
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
            if len(content) > self._page_bytes:
                break
        return bytes(content)


def _media_type(response: httpx.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _checked(url: str) -> str:
    """Return an address without its fragment; raises ToolRequestError when it is none of HTTP, names a user, or is very
    long."""
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


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""
