"""What holds for every request of the page: whom it is for, where it comes from, how long it is, and the headers of its answer."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.http.host_guard import is_own_host

__all__ = ["POLICY", "PageGuard"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The content security policy: nothing inline, nothing from elsewhere, and no text that becomes markup."""
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_MAX_BODY_BYTES = 64 * 1024


class PageGuard:
    """Middleware. A host name that is not the server's is refused, and what comes from another site.

    :param hosts: names by which the page may be called, beside those of loopback.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store" if scope["path"].startswith("/api/") else "no-cache")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not is_own_host(headers.get("host", ""), self._hosts):
            return PlainTextResponse("This server has another name.", status_code=421)
        if scope["path"].startswith("/api/"):
            origin = headers.get("origin", "")
            elsewhere = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
            if elsewhere or (origin and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()):
                return PlainTextResponse("This comes from another site.", status_code=403)
        if scope["method"] not in ("GET", "HEAD"):
            length = headers.get("content-length", "")
            if not length.isdecimal():
                return PlainTextResponse("The length of the request is missing.", status_code=411)
            if int(length) > _MAX_BODY_BYTES:
                return PlainTextResponse("The request is too long.", status_code=413)
        return None
