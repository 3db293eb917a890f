"""The words and the links of a mail's text parts, in time that grows with their length only."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import urlsplit

__all__ = ["folded", "host_of", "html_text", "html_urls", "normal_url", "plain_urls", "url_key"]

_TAG = re.compile(r"(<!--|-->|<[^<>]*>)")
_LINK = re.compile(r"<a(?:rea)?\s[^<>]*?href\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>]+))", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>\"'`\\^{}|]+", re.IGNORECASE)
_AFTER = ".,;:!?'*_"
_SILENT = ("style", "script", "head", "title")
_INLINE = frozenset("a abbr b big code em font i mark s small span strong sub sup tt u".split())
_MAX_URL_CHARS = 2_000


def folded(text: str) -> str:
    """Return a text as it is compared: without case, width of letters, and kinds and number of blanks."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def html_text(source: str) -> str:
    """Return what a reader of HTML sees of it, without styles, scripts and comments."""
    return html.unescape("".join(_shown(source)))


def _shown(source: str) -> Iterator[str]:
    silent, comment = "", False
    for index, piece in enumerate(_TAG.split(source)):
        if comment:
            comment = piece != "-->"
        elif index % 2 == 0 or piece == "-->":
            if not silent:
                yield piece
        elif piece == "<!--":
            comment = True
        else:
            name = re.split(r"[\s/>]", piece[1:14].removeprefix("/"), maxsplit=1)[0].casefold()
            if silent:
                silent = "" if piece.startswith("</") and name == silent else silent
            elif name in _SILENT and not piece.startswith("</"):
                silent = name
            if not silent and name not in _INLINE:
                yield " "


def html_urls(source: str) -> Iterator[str]:
    """Yield the web addresses that the links of HTML lead to, and those in its text."""
    for match in _LINK.finditer(source):
        target = html.unescape(match[1] or match[2] or match[3] or "").strip()
        if target[:4].casefold() == "http":
            yield from map(normal_url, _URL.findall(target)[:1])
    yield from plain_urls(html_text(source))


def plain_urls(text: str) -> Iterator[str]:
    """Yield the web addresses in a text, without the punctuation of the sentence around them."""
    for found in _URL.findall(text):
        url = found[:_MAX_URL_CHARS].rstrip(_AFTER)
        while url and url[-1] in ")]" and url.count(url[-1]) > url.count("(" if url[-1] == ")" else "["):
            url = url[:-1].rstrip(_AFTER)
        if len(url) > len("https://"):
            yield normal_url(url)


def normal_url(url: str) -> str:
    """Return a web address with scheme and host in lower case, and at most 2,000 characters."""
    scheme, _, rest = url[:_MAX_URL_CHARS].partition("://")
    host = re.match(r"[^/?#]*", rest)
    end = host.end() if host else 0
    return f"{scheme.lower()}://{rest[:end].lower()}{rest[end:]}"


def url_key(url: str) -> str:
    """Return a web address as it is compared: without scheme, ``www.`` and the slash at its end."""
    text = url.strip()
    rest = normal_url(text if "://" in text else f"http://{text}").partition("://")[2]
    return rest.removeprefix("www.").rstrip("/")


def host_of(url: str) -> str:
    """Return the host of a web address, empty where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
