"""The pages that one run reads: each in viewpoints of bounded length, with a place in it that moves.

A model that is shown a long page at once overlooks what stands in its middle (paper KGoT, B.4); so it reads one viewpoint after
another, or looks for words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from egotools import ToolRequestError

__all__ = ["BrowsingSession", "OpenPage"]

VIEW_CHARS = 6_000
"""Of a viewpoint: about 1,500 tokens, so that eight answers fit the window of a small model beside the graph (16,384 tokens)."""
_LEAST_VIEW = VIEW_CHARS // 2
_MOST_PAGES = 16
"""That stay open: twice as many as a run of seven iterations usually visits."""
_AROUND = 200  # characters on either side of what was found


@dataclass(slots=True, eq=False)
class OpenPage:
    """A page and the place in it.

    :param views: the whole text in its order.
    :param at: index of the current view.
    :param found: places of the last search, as view and character in it, the current one first.
    """

    url: str
    title: str
    views: tuple[str, ...]
    at: int = 0
    cut: bool = False
    wanted: str = ""
    found: tuple[tuple[int, int], ...] = ()
    nth: int = 0

    def shown(self) -> dict[str, Any]:
        """Return the current view as JSON values."""
        answer = {"url": self.url, "title": self.title, "page": self.at + 1, "pages": len(self.views)}
        if self.cut and self.at + 1 == len(self.views):
            answer["note"] = "the page goes on, but was cut off here"
        return {**answer, "text": self.views[self.at]}


class BrowsingSession:
    """The open pages, the oldest of which is forgotten. Calls name a page, or mean the one that was opened last."""

    def __init__(self) -> None:
        self._pages: dict[str, OpenPage] = {}

    def open(self, url: str, title: str, text: str, *, asked: str = "", cut: bool = False) -> OpenPage:
        """Open a page at its beginning; it is the current one from now on.

        :param url: where it is.
        :param asked: the address that was asked for, where it was redirected; the page is found by both.
        """
        self._pages.pop(asked or url, None)
        self._pages[asked or url] = page = OpenPage(url=url, title=title, views=tuple(_views(text)), cut=cut)
        if len(self._pages) > _MOST_PAGES:
            del self._pages[next(iter(self._pages))]
        return page

    def has(self, url: str) -> bool:
        """Whether a page is open."""
        return url in self._pages or any(page.url == url for page in self._pages.values())

    def page(self, url: str = "") -> OpenPage:
        """Return an open page.

        :raises ToolRequestError: when it is not open.
        """
        newest = [(asked, page) for asked, page in reversed(self._pages.items())]
        found = next((page for asked, page in newest if not url or url in (asked, page.url)), None)
        if found is None:
            problem = "this page is not open" if url else "no page is open"
            raise ToolRequestError(problem, subject="url", remedy="Visit the page first.")
        return found

    def turn(self, url: str, by: int) -> OpenPage:
        """Go one view on (1) or back (-1).

        :raises ToolRequestError: when there is no further one.
        """
        page = self.page(url)
        if not 0 <= page.at + by < len(page.views):
            end = "last" if by > 0 else "first"
            raise ToolRequestError(
                f"this is the {end} of {len(page.views)}",
                subject="page",
                remedy="Search for words, or visit another page.",
            )
        page.at += by
        return page

    def find(self, url: str, words: str) -> dict[str, Any]:
        """Go to the first place of words, in the whole page; upper and lower case are the same.

        :raises ToolRequestError: when they stand nowhere.
        """
        page = self.page(url)
        wanted = " ".join(words.split()).casefold()
        if not wanted:
            raise ToolRequestError("there is nothing to find", subject="words", remedy="Give words of the page.")
        page.wanted, page.nth = wanted, 0
        page.found = tuple(_places(page.views, wanted))
        return _place(page)

    def find_next(self, url: str) -> dict[str, Any]:
        """Go to the next place of the words that were searched for; after the last one to the first.

        :raises ToolRequestError: when nothing was searched for, or it stands nowhere.
        """
        page = self.page(url)
        if not page.wanted:
            raise ToolRequestError("nothing was searched for in this page", subject="find", remedy="Search first.")
        page.nth += 1
        return _place(page)


def _place(page: OpenPage) -> dict[str, Any]:
    """Show the place of the current match."""
    if not page.found:
        raise ToolRequestError(
            f"these words do not stand in the page ({len(page.views)} pages)",
            subject="words",
            remedy="Try other words.",
        )
    nth = page.nth % len(page.found)
    page.at, start = page.found[nth]
    view = page.views[page.at]
    around = view[max(0, start - _AROUND) : start + len(page.wanted) + _AROUND]
    return {"match": nth + 1, "matches": len(page.found), "around": around, **page.shown()}


def _places(views: tuple[str, ...], wanted: str) -> Iterator[tuple[int, int]]:
    for number, view in enumerate(views):
        # A line feed counts as a blank. Where folding changes the length, a place may be off by some characters.
        folded = view.replace("\n", " ").casefold()
        start = folded.find(wanted)
        while start >= 0:
            yield number, start
            start = folded.find(wanted, start + len(wanted))


def _views(text: str) -> Iterator[str]:
    """Cut a text into views, at the end of a paragraph, line, sentence or word in their second half where there is one."""
    while len(text) > VIEW_CHARS:
        for mark in ("\n\n", "\n", ". ", " "):
            end = text.rfind(mark, _LEAST_VIEW, VIEW_CHARS)
            if end >= 0:
                end += len(mark)
                break
        else:
            end = VIEW_CHARS
        yield text[:end].rstrip()
        text = text[end:]
    yield text
