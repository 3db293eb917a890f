"""Pages of the web by address: only public ones, each redirect checked again, bounded in bytes and seconds, text only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from egotools import PermissionDeniedError, ToolRequestError
from egotools.calling.address_guard import Network
from egotools.calling.content_encoding import IDENTITY, is_encoded
from egotools.calling.tool_answer import compressed, too_slow, unreachable
from ontology.errors import ToolCallError

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["FetchedPage", "PageFetcher", "WebLimits"]

_AGENT = {"User-Agent": "egotools (a tool of a language model)", **IDENTITY}
_TEXT_TYPES = frozenset(
    {"application/json", "application/ld+json", "application/xml", "application/xhtml+xml", "application/rss+xml"}
)
_ADDRESS_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WebLimits:
    """Of one request.

    :param page_bytes: what a page has beyond is cut off. The 90th percentile of HTML documents is below 200 kB; long lists and
        specifications have 1 to 2 MB.
    :param seconds: for a page as a whole, redirects included.
    :param redirects: that are followed.
    """

    page_bytes: int = 2 * 2**20
    seconds: float = 20.0
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """What came back.

    :param url: after redirects.
    :param media_type: of the header, without parameters.
    :param charset: of the header, or empty.
    :param cut: whether the page has more bytes than are taken.
    """

    url: str
    media_type: str
    charset: str
    content: bytes = field(repr=False)
    cut: bool = False


class PageFetcher:
    """Asks servers for pages, and configured endpoints for JSON.

    :param allowed_networks: that are not public and may be reached all the same, see :mod:`egotools.calling.address_guard`.
    """

    def __init__(self, *, limits: WebLimits | None = None, allowed_networks: Sequence[Network] = ()) -> None:
        self._limits = limits or WebLimits()
        self._allowed = tuple(allowed_networks)

    async def page(self, url: str) -> FetchedPage:
        """Fetch a page whose address a model or another page gave.

        :raises ToolRequestError: when it is no address of HTTP, or names a user.
        :raises PermissionDeniedError: when it leads into a network that is not public.
        :raises ToolCallError: when the server refuses, or answers with what is no text.
        :raises ClientError: when there is no answer: unreachable, too slow, compressed.
        """
        import httpx

        from egotools.calling.guarded_transport import GuardedTransport

        transport = GuardedTransport(httpx.AsyncHTTPTransport(verify=_certificates()), self._allowed)
        return await self._bounded(_checked(url), transport, self._limits.redirects, _AGENT)

    async def endpoint(self, url: str, headers: Mapping[str, str] | None = None) -> FetchedPage:
        """Ask an endpoint that the operator configured: its address is not checked, and no redirect is followed.

        The address may hold a key; errors name its host only. Errors as of :meth:`page`.
        """
        return await self._bounded(url, None, 0, {**_AGENT, **(headers or {})})

    async def _bounded(
        self, url: str, transport: httpx.AsyncBaseTransport | None, redirects: int, headers: Mapping[str, str]
    ) -> FetchedPage:
        import httpx

        host = urlsplit(url).hostname or ""
        timeout_s = self._limits.seconds
        client = httpx.AsyncClient(
            transport=transport, timeout=timeout_s, headers=headers, follow_redirects=False, verify=_certificates()
        )
        try:
            async with asyncio.timeout(timeout_s), client:
                return await self._followed(client, url, redirects)
        except (TimeoutError, httpx.TimeoutException):
            raise too_slow(host, timeout_s) from None
        except PermissionDeniedError as error:
            raise _not_public(error.subject) from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            # The texts of httpx may hold the address, and it a key: the kind of the error is said, no more.
            raise unreachable(host, type(error).__name__) from None

    async def _followed(self, client: httpx.AsyncClient, url: str, redirects: int) -> FetchedPage:
        """Follow redirects one by one: each goes through the guard as a request of its own, without cookies."""
        for left in range(redirects, -1, -1):
            client.cookies.clear()
            async with client.stream("GET", url) as response:
                following = response.next_request
                if following is None:
                    return await self._taken(response)
                if left:
                    url = _checked(str(following.url))
        raise ToolCallError(
            f"the page was redirected more than {redirects} times" if redirects else "the endpoint redirects",
            subject=urlsplit(url).hostname or "",
            remedy="Use the address that it leads to",
        )

    async def _taken(self, response: httpx.Response) -> FetchedPage:
        host = response.url.host
        if not response.is_success:
            problem = f"the server answered {response.status_code} {response.reason_phrase}".strip()
            raise ToolCallError(problem, subject=host, remedy="Try another address")
        if is_encoded(response.headers):  # a few kilobytes may unpack to gigabytes
            raise compressed(host)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not media_type.startswith("text/") and media_type not in _TEXT_TYPES:
            said = f"what has the type {media_type[:60]!r}" if media_type else "something without a type"
            raise ToolCallError(
                f"the server answered with {said}, not with text", subject=host, remedy="Try another address"
            )
        content, cut = bytearray(), False
        async for chunk in response.aiter_raw():
            content += chunk
            if cut := len(content) > self._limits.page_bytes:
                break
        return FetchedPage(
            url=str(response.url),
            media_type=media_type,
            charset=response.charset_encoding or "",
            content=bytes(content[: self._limits.page_bytes]),
            cut=cut,
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


def _not_public(host: str) -> PermissionDeniedError:
    return PermissionDeniedError(
        "the address leads into a network that is not public; nothing was sent",
        code="PERMISSION_DENIED",
        reason="ADDRESS_NOT_ALLOWED",
        subject=host,
        remedy="Visit public pages only.",
    )
