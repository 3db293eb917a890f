"""HTML as text that a model reads: headings, lists, rows of tables and links keep their marks, scripts and styles go.

One pass, linear in the length: a page of a stranger must not hold up the process, and the parser of the standard library takes quadratic
time for crafted pages. A tag ends at its first ``>``, also in a quoted attribute; markup is not checked.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urljoin

__all__ = ["HtmlText", "decoded_text", "html_text"]

_SNIFFED_BYTES = 1_024  # in which HTML 5 wants the encoding to be named
_TAG_CHARS = 2_000  # of a tag that are searched for its link
_TITLE_CHARS = 300
_MOST_LINKS = 2_000
"""Of a page that keep their address: resolving one takes 30 µs, and a page of 2 MiB made of nothing else has 200,000."""
_ENCODINGS = re.compile(
    r"utf-8(-sig)?|utf-16(-[lb]e)?|ascii|iso8859-\d+|cp\d+|gb2312|gbk|gb18030|big5|shift_jis|euc_(jp|kr)|koi8-[ru]|mac-roman"
)
"""Names by which Python knows the encodings of the web; it knows others that are none (``zip``, ``punycode``)."""
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_-]{1,40})""", re.IGNORECASE)
_TAG = re.compile(r"<(?:!--|[!?/]|[A-Za-z])")
"""Where a tag or a comment begins; any other ``<`` is a sign of the text."""
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9]{0,19}")
_HREF = re.compile(r"""\shref\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "textarea", "select"})
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer form header hr main nav ol p pre section table ul".split()
)
_BEFORE = {f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)} | {
    "li": "\n- ",
    "tr": "\n",
    "td": " | ",
    "th": " | ",
}
_BLANKS = re.compile(r"[ \t\r\f\v\u00a0]+")
_LINES = re.compile(r" ?\n[ \n]*\n ?| ?\n ?")


class HtmlText(NamedTuple):
    """A page as text.

    :param title: on one line, or empty.
    """

    title: str
    text: str


class _Token(NamedTuple):
    """A run of text, or a tag: its name is empty for text, and begins with ``/`` for an end."""

    name: str
    content: str


def decoded_text(content: bytes, charset: str = "", *, is_html: bool = False) -> str:
    """Decode a page; what its encoding does not allow becomes a replacement character.

    :param charset: of the header Content-Type, or empty.
    :param is_html: whether the page itself may name its encoding.
    """
    named = _META.search(content[:_SNIFFED_BYTES]) if is_html and not charset else None
    wanted = charset or (named[1].decode("ascii") if named else "utf-8")
    try:
        encoding = codecs.lookup(wanted).name
    except (LookupError, ValueError):
        encoding = "utf-8"
    if not _ENCODINGS.fullmatch(encoding):
        encoding = "utf-8"
    return content.decode(encoding, "replace").lstrip("\ufeff")


def html_text(page: str, base: str = "") -> HtmlText:
    """Return a page as text.

    :param base: its address; links are made absolute by it. Links to anything but HTTP are left out.
    """
    parts: list[str] = []
    title: list[str] = []
    link: tuple[str, int] | None = None
    links, in_title = 0, False
    for name, content in _tokens(page):
        if name in ("title", "/title"):
            in_title = name == "title"
        elif not name:
            (title if in_title else parts).append(_BLANKS.sub(" ", html.unescape(content).replace("\n", " ")))
        elif name in ("a", "/a"):
            if link is not None:
                _close(link, parts)
            address = _address(content, base) if name == "a" and links < _MOST_LINKS else ""
            links += bool(address)
            link = (address, len(parts)) if address else None
        else:
            parts.append(_mark(name))
    if link is not None:
        _close(link, parts)
    return HtmlText(" ".join("".join(title).split())[:_TITLE_CHARS], _tidy("".join(parts)))


def _tokens(page: str) -> Iterator[_Token]:
    """Yield text and tags in their order, without comments and without what is not for readers."""
    at, lowered = 0, None
    while (begin := _TAG.search(page, at)) is not None:
        start = begin.start()
        if start > at:
            yield _Token("", page[at:start])
        if page.startswith("<!--", start):
            end = page.find("-->", start + 4)
            at = len(page) if end < 0 else end + 3
            continue
        end = page.find(">", start)
        if end < 0:
            return
        at = end + 1
        named = _NAME.match(page, start + 1)
        name = named[0].lower() if named else ""
        if name in _SKIPPED:
            lowered = lowered if lowered is not None else _lowered(page)
            closing = lowered.find(f"</{name}", at)
            at = len(page) if closing < 0 else closing
        elif name:
            yield _Token(name, page[start : min(end, start + _TAG_CHARS)])
    if at < len(page):
        yield _Token("", page[at:])


def _lowered(page: str) -> str:
    """The page in lower case with every character at its place: some grow by ``lower``."""
    lowered = page.lower()
    return lowered if len(lowered) == len(page) else "".join(each.lower() if each.isascii() else each for each in page)


def _mark(name: str) -> str:
    kind = name.removeprefix("/")
    if name in _BEFORE:
        return _BEFORE[name]
    if kind in _BLOCKS or (name.startswith("/") and kind in _BEFORE and kind not in ("td", "th", "li", "tr")):
        return "\n\n" if kind in ("p", "table") or kind in _BEFORE else "\n"
    return ""


def _address(tag: str, base: str) -> str:
    found = _HREF.search(tag)
    if found is None:
        return ""
    try:
        address = urljoin(base, html.unescape(next(filter(None, found.groups()), "")).strip())
    except ValueError:
        return ""
    return address if address.startswith(("http://", "https://")) and " " not in address else ""


def _close(link: tuple[str, int], parts: list[str]) -> None:
    """Turn what was written since the link began into a link of Markdown, where that is on one line."""
    address, start = link
    words = "".join(parts[start:])
    if words.strip() and "\n" not in words:
        parts[start:] = [f"[{words.strip()}]({address})"]


def _tidy(text: str) -> str:
    def break_of(found: re.Match[str]) -> str:
        return "\n\n" if found[0].count("\n") > 1 else "\n"

    return _LINES.sub(break_of, _BLANKS.sub(" ", text)).strip()
