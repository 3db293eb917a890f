"""Bytes of requests and answers that the server holds: bounded for each peer and together, before a request is read.

A request has no length that is known before it is read, so the most that a message may have is reserved for it first.
"""

from __future__ import annotations

import asyncio
from collections import deque

from ontology.errors import OverloadedError

__all__ = ["ByteBudget", "HeldBytes"]

_MOST_WAIT_S = 1.0


class HeldBytes:
    """The bytes that one call holds.

    :param peer: address of who calls.
    :param size: in bytes.
    """

    def __init__(self, budget: ByteBudget, peer: str, size: int) -> None:
        self._budget = budget
        self.peer = peer
        self.size = size

    def resize(self, size: int) -> None:
        """Hold ``size`` bytes instead. It may exceed the budget by what was made already."""
        change, self.size = size - self.size, size
        self._budget.change(self.peer, change)

    def release(self) -> None:
        """Hold nothing any more."""
        self.resize(0)


class ByteBudget:
    """Bytes held by the calls of one server. Use it in one event loop.

    One peer may hold a quarter. One that holds nothing yet is served even when others hold all, up to twice the total.

    :param total: most bytes for all peers.
    :param message: most bytes of one message.
    """

    def __init__(self, total: int, *, message: int) -> None:
        self._message = message
        self._total = max(total, 2 * message)
        self._share = max(total // 4, message)
        self._held: dict[str, int] = {}
        self._sum = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def held(self) -> int:
        """Bytes that all calls hold now."""
        return self._sum

    async def reserve(self, peer: str) -> HeldBytes:
        """Reserve the bytes of one message, and wait up to a second for them.

        :raises OverloadedError: when the peer, or all peers together, hold too much.
        """
        if not self._fits(peer) or peer in self._waiting:
            await self._wait(peer)
        else:
            self.change(peer, self._message)
        return HeldBytes(self, peer, self._message)

    def change(self, peer: str, size: int) -> None:
        """Count ``size`` more bytes of a peer, or fewer, and let those in who wait for them."""
        held = self._held.get(peer, 0) + size
        self._sum += size
        if held:
            self._held[peer] = held
        else:
            self._held.pop(peer, None)
        if size < 0:
            self._admit()

    def _fits(self, peer: str) -> bool:
        held = self._held.get(peer, 0)
        if not held:
            return self._sum + self._message <= 2 * self._total
        return held + self._message <= self._share and self._sum + self._message <= self._total

    def _admit(self) -> None:
        for peer in list(self._waiting):
            turns = self._waiting[peer]
            while turns and self._fits(peer):
                turn = turns.popleft()
                if not turn.done():
                    self.change(peer, self._message)
                    turn.set_result(None)
            if not turns:
                self._waiting.pop(peer, None)

    async def _wait(self, peer: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(peer, deque()).append(turn)
        try:
            async with asyncio.timeout(_MOST_WAIT_S):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # granted in the same moment
                self.change(peer, -self._message)
            else:
                turn.cancel()
            if isinstance(error, TimeoutError):
                raise OverloadedError(
                    "requests and unread answers of this peer, or of all, take all the memory they may",
                    subject="max_inflight_bytes",
                    remedy="Read the answers, send fewer calls at once, or use another replica",
                ) from None
            raise
