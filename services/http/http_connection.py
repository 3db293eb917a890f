"""One connection of an HTTP server: it has a place among a bounded number, and its requests come in whole within seconds."""

from __future__ import annotations

import asyncio
from collections import Counter
from ssl import SSLContext
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HttpConnection", "Places"]

_REQUEST_S = 10.0
"""For the TLS handshake and the first request together, and for each further request from its first byte on."""
_INCOMING = (h11.IDLE, h11.SEND_BODY)


class Places:
    """The open connections of a server.

    A further one takes the place of another: of those that have sent no whole request, else of all, the oldest of the address that has
    most. So who holds connections loses them, and others are answered.

    :param most: how many there are.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[HttpConnection, str] = {}  # in the order of their coming, with the address of the other end

    def take(self, connection: HttpConnection, address: str) -> None:
        """Give a connection a place."""
        if len(self._held) >= self._most:
            waiting = {each: of for each, of in self._held.items() if each.waits}
            ending = waiting or self._held
            most = Counter(ending.values()).most_common(1)[0][0]
            oldest = next(each for each, of in ending.items() if of == most)
            self.free(oldest)
            oldest.abort()
        self._held[connection] = address

    def free(self, connection: HttpConnection) -> None:
        """Take back the place of a connection, if it has one."""
        self._held.pop(connection, None)

    def __contains__(self, connection: HttpConnection) -> bool:
        return connection in self._held

    def end(self) -> None:
        """End all connections."""
        for each in list(self._held):
            each.abort()


class HttpConnection(H11Protocol):
    """uvicorn's connection, bounded.

    :param tls: it does the handshake itself: done by the listening socket, who begins none would have no place and no deadline of ours.
    :param options: those that uvicorn gives.
    """

    def __init__(self, places: Places, tls: SSLContext | None, **options: Any) -> None:
        super().__init__(**options)
        self._places = places
        self._tls = tls
        self._ready = False
        self._early = b""
        self._securing: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether no whole request is here."""
        return not self._ready or self.conn.their_state in _INCOMING

    def abort(self) -> None:
        """End it at once."""
        self._below.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, and begin the handshake where there is one."""
        self._below = transport
        self._places.take(self, str((transport.get_extra_info("peername") or ("",))[0]))
        self._watch()
        if self._tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self._securing = self.loop.create_task(self._secure(self._tls))

    def data_received(self, data: bytes) -> None:
        """Read, and see whether a request has come in whole."""
        if not self._ready:
            self._early += data
            return
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on with what was sent meanwhile; between requests uvicorn's own deadline holds."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        self._leave()
        if self._ready:
            super().connection_lost(exc)

    async def _secure(self, tls: SSLContext) -> None:
        try:
            secured = await self.loop.start_tls(self._below, self, tls, server_side=True)
        except OSError:  # no TLS at the other end, or it is gone
            secured = None
        if secured is None or self not in self._places:
            self._leave()
            self.abort()
        else:
            self._begin(secured)

    def _begin(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._ready = True
        if self._early:
            self.data_received(self._early)

    def _watch(self) -> None:
        if not self.waits:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(_REQUEST_S, self.abort)

    def _leave(self) -> None:
        self._forget_deadline()
        self._places.free(self)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
