"""What is checked of a request before anything of it is parsed: by which name it calls, its place, and its bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ontology.errors import EgotoolsError
from services.http.host_guard import is_own_host
from services.rest.problem import problem_response
from services.server.admission.admission import address_network, most_bytes
from services.server.admission.byte_budget import ByteBudget
from services.server.admission.peer_calls import PeerCalls
from services.server.settings import ServerSettings

__all__ = ["RestAdmission"]

_BODY_S = 8.0  # less than the connection waits for a whole request: it would end without an answer


class RestAdmission:
    """Middleware. Each client address has its share of the open calls and of the bytes: to the service, all come from one address.

    :param limits: those of the gRPC service: the bytes of a message and of all, and the open calls. All go to it over one connection,
        from one address, so there are at most as many as it takes of these. One client address may have half of them.
    :param bodies: paths of the routes with a body, and whether it is that of a batch.
    :param names: host names by which the server may be called, beside those of loopback; None: any name.
    """

    def __init__(
        self, app: ASGIApp, limits: ServerSettings, bodies: Mapping[str, bool], names: Iterable[str] | None = None
    ) -> None:
        self._app = app
        self._most = {path: most_bytes(limits, batch=batch) for path, batch in bodies.items()}
        self._names = None if names is None else frozenset(name.lower() for name in names)
        together = min(limits.max_streams, limits.max_peer_calls, limits.max_calls)
        self._calls = PeerCalls(each=max(1, together // 2), together=together)
        self._bytes = ByteBudget(limits.max_inflight_bytes, message=limits.max_message_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or say why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-content-type-options"] = "nosniff"
            await send(message)

        try:
            self._check(scope)
            await self._admit(scope, receive, send_safely)
        except (EgotoolsError, HTTPException) as error:  # of the checks: the application answers its own
            await problem_response(error)(scope, receive, send_safely)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self._names is not None and not is_own_host(headers.get("host", ""), self._names):
            raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, "This server has another name.")
        most = self._most_bytes(scope)
        if most:
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is not sent as application/json.")
            length = headers.get("content-length", "")
            if length.isascii() and length.isdecimal() and int(length) > most:
                raise _too_large(most)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        peer = address_network((scope.get("client") or ("",))[0])
        self._calls.begin(peer)
        try:
            most = self._most_bytes(scope)
            if not most:
                await self._app(scope, receive, send)
                return
            held = await self._bytes.reserve(peer)
            try:
                body = await _read(receive, most)
                if body is not None:
                    held.resize(len(body))
                    await self._app(scope, _again(body, receive), send)
            finally:
                held.release()
        finally:
            self._calls.end(peer)

    def _most_bytes(self, scope: Scope) -> int:
        """Of the body that a route takes; 0 where none does."""
        return self._most.get(scope["path"], 0) if scope["method"] == "POST" else 0


def _too_large(most: int) -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body has more than the {most:,} bytes that are taken."
    )


async def _read(receive: Receive, most: int) -> bytes | None:
    """The whole body; None when its sender is gone."""
    body = bytearray()
    message: dict[str, Any] = {"more_body": True}
    try:
        async with asyncio.timeout(_BODY_S):
            while message.get("more_body"):
                message = dict(await receive())
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise HTTPException(
            HTTPStatus.REQUEST_TIMEOUT, f"The body did not come within {_BODY_S:g} seconds.", {"connection": "close"}
        ) from None
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, then what comes after it."""
    first: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again
