"""A long text in pages: cut between lines, and the head of a table stands on each of its pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["PAGE_CHARS", "text_pages"]

PAGE_CHARS = 12_000
"""Of a page: about 3,000 tokens, so that four answers fit the window of a small model (16,384 tokens)."""
_RULE = re.compile(r"\s*\|[\s:|-]*-[\s:|-]*")
_HEADING = re.compile(r"#{1,6} ")
_MOST_HEAD = PAGE_CHARS // 4


def text_pages(text: str, kind: str) -> list[str]:
    """Return the pages, one at least. A line longer than a page is cut.

    :param kind: of ``csv`` and ``tsv`` the first line is the head of all.
    """
    return list(_pages(text, kind)) or [""]


def _pages(text: str, kind: str) -> Iterator[str]:
    lines = [part for line in text.splitlines() for part in _parts(line)]
    head = _Head(lines[:1] if kind in ("csv", "tsv") else None)
    page: list[str] = []
    size, own = 0, 0  # characters of the page; of its lines the first that are no repeated head
    for number, line in enumerate(lines):
        if page and size + len(line) + 1 > PAGE_CHARS and len(page) > own:
            yield "\n".join(page)
            page = list(head.lines)
            size, own = sum(len(each) + 1 for each in page), len(page)
        page.append(line)
        size += len(line) + 1
        head.see(lines, number)
    if page:
        yield "\n".join(page)


def _parts(line: str) -> list[str]:
    longest = PAGE_CHARS // 2
    return [line[start : start + longest] for start in range(0, max(1, len(line)), longest)]


class _Head:
    """The lines that are repeated where a table goes on: its heading, its names of columns and the rule below them.

    :param fixed: of a file that is one table; None where tables are found by their rules.
    """

    def __init__(self, fixed: list[str] | None) -> None:
        self._fixed = fixed is not None
        self._heading = ""
        self.lines: list[str] = self._bounded(fixed or [])

    def see(self, lines: list[str], number: int) -> None:
        """Take note of a line that was written."""
        if self._fixed:
            return
        line = lines[number]
        if _HEADING.match(line):
            self._heading = line
        if "|" not in line:
            self.lines = []
        elif _RULE.fullmatch(line) and number:
            heading = [self._heading] if self._heading else []
            self.lines = self._bounded([*heading, lines[number - 1], line])

    def _bounded(self, lines: list[str]) -> list[str]:
        return lines if sum(map(len, lines)) <= _MOST_HEAD else []
