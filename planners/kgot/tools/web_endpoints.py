"""The endpoints of the web tools that an operator configures: one that searches, and a wiki."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from ontology.errors import InvalidArgumentError, ToolCallError
from ontology.urls import check_http_url
from planners.kgot.tools.html_text import html_text
from planners.kgot.tools.page_fetcher import PageFetcher

__all__ = ["SearchEndpoint", "WebEndpoints", "WikiArticle", "WikiEndpoint"]

_QUERY = "{query}"
_MOST_RESULTS = 10
"""Of a search: the first page of the usual engines."""
_MOST_CHARS = 500  # of a text of a result
_LISTS = ("organic_results", "results")
"""Where the results stand: as SerpAPI answers, and as SearXNG does."""
_ADDRESSES, _TEXTS, _DATES = ("link", "url"), ("snippet", "content"), ("date", "publishedDate")
_OTHER_TITLES = 5


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
        if self.search is not None:
            check_http_url(self.search, subject="search endpoint")
            if _QUERY not in self.search:
                raise InvalidArgumentError(
                    f"the address has no {_QUERY}",
                    subject="search endpoint",
                    remedy=f"Write it where the words go: https://search.example/?format=json&q={_QUERY}",
                )
        if self.wiki is not None:
            check_http_url(self.wiki, subject="wiki endpoint")


class SearchEndpoint:
    """A search engine that answers as SerpAPI or SearXNG do."""

    def __init__(self, fetcher: PageFetcher, url: str, headers: Mapping[str, str]) -> None:
        self._fetcher = fetcher
        self._url = url
        self._headers = dict(headers)

    async def search(self, query: str) -> list[dict[str, str]]:
        """Return results as ``title``, ``url``, ``text`` and, where it is known, ``date``.

        :raises ToolCallError: when the endpoint answers otherwise.
        :raises ClientError: when it does not answer.
        """
        url = self._url.replace(_QUERY, quote(query, safe=""))
        answer = await _json(self._fetcher, url, self._headers)
        listed = next((answer[name] for name in _LISTS if isinstance(answer.get(name), list)), None)
        if listed is None:
            raise ToolCallError(
                f"the search endpoint answers without {' or '.join(_LISTS)}",
                subject=_host(url),
                remedy="Configure an endpoint that answers as SerpAPI or SearXNG do",
            )
        found = [_result(each) for each in listed if isinstance(each, Mapping)]
        return [each for each in found if each["url"]][:_MOST_RESULTS]


@dataclass(frozen=True, slots=True, kw_only=True)
class WikiArticle:
    """An article.

    :param others: titles of other articles that were found.
    """

    title: str
    url: str
    text: str
    others: tuple[str, ...]


class WikiEndpoint:
    """A wiki that runs MediaWiki, asked through its API."""

    def __init__(self, fetcher: PageFetcher, url: str) -> None:
        self._fetcher = fetcher
        self._url = url.rstrip("/")

    async def article(self, words: str) -> WikiArticle:
        """Return the article that fits best.

        :raises ToolCallError: when none fits, or the endpoint answers otherwise.
        :raises ClientError: when it does not answer.
        """
        listed = await self._asked(
            f"action=query&list=search&srlimit={_OTHER_TITLES + 1}&srsearch={quote(words, safe='')}"
        )
        titles = [each["title"] for each in _members(listed, "query", "search") if isinstance(each.get("title"), str)]
        if not titles:
            raise ToolCallError("the wiki has no article about this", subject=words[:200], remedy="Use other words")
        page = await self._asked(f"action=parse&prop=text%7Cdisplaytitle&redirects=1&page={quote(titles[0], safe='')}")
        parsed = page.get("parse")
        markup = parsed.get("text") if isinstance(parsed, Mapping) else None
        if not isinstance(markup, str):
            raise self._otherwise()
        url = f"{self._url}/index.php?title={quote(titles[0].replace(' ', '_'), safe='')}"
        text = (await asyncio.to_thread(html_text, markup, url)).text
        return WikiArticle(title=titles[0], url=url, text=text, others=tuple(titles[1:]))

    async def _asked(self, query: str) -> Mapping[str, Any]:
        answer = await _json(self._fetcher, f"{self._url}/api.php?format=json&formatversion=2&{query}", {})
        if "error" in answer:
            raise self._otherwise()
        return answer

    def _otherwise(self) -> ToolCallError:
        return ToolCallError(
            "the wiki does not answer as MediaWiki does", subject=_host(self._url), remedy="Check its address"
        )


async def _json(fetcher: PageFetcher, url: str, headers: Mapping[str, str]) -> Mapping[str, Any]:
    fetched = await fetcher.endpoint(url, headers)
    try:
        if fetched.cut:
            raise ValueError
        answer = json.loads(fetched.content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, Mapping):
        raise ToolCallError(
            "the endpoint answers with what is no object of JSON, or with too many bytes",
            subject=_host(url),
            remedy="Check its address; a search engine may have to allow the format JSON",
        )
    return answer


def _members(answer: Mapping[str, Any], *path: str) -> list[Mapping[str, Any]]:
    value: Any = answer
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _result(given: Mapping[str, Any]) -> dict[str, str]:
    def first(names: tuple[str, ...]) -> str:
        text = next((given[name] for name in names if isinstance(given.get(name), str)), "")
        return " ".join(text.split())

    found = {"title": first(("title",))[:_MOST_CHARS], "url": first(_ADDRESSES), "text": first(_TEXTS)[:_MOST_CHARS]}
    date = first(_DATES)[:40]
    return {**found, "date": date} if date else found


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""
