"""Admission: what a call may take before its message is read: bytes, and a place among the open calls.

gRPC runs a handler of a method with one request only when the whole message was read. So every method is given to gRPC as one
with a stream of requests: its handler runs when the headers have come, and reads the one message when there is room for it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from typing import Any

from ontology.errors import DeadlineError, InvalidArgumentError, OverloadedError, TooLargeError
from services.server.settings import ServerSettings

_BYTES_WAIT_S = 1.0
MOST_SINGLE_BYTES = 1024 * 1024  # of the message of a method that takes one request, where the settings allow more
BATCH_METHODS = frozenset({"RetrieveBatch"})


class PeerCalls:
    """Counts open calls, ``each`` of one peer at most. A peer that has none may begin one up to twice ``together``."""

    def __init__(self, *, each: int, together: int) -> None:
        self._each, self._together, self.open = each, together, 0
        self._of: Counter[str] = Counter()

    def begin(self, peer: str) -> None:
        """Count one more call of a peer."""
        own = self._of[peer]
        if own >= self._each or self.open >= self._together * (1 if own else 2):
            problem = f"this peer has {own:,} open calls, and all peers have {self.open:,}"
            raise OverloadedError(problem, remedy="End some of them, or use another replica")
        self._of[peer] += 1
        self.open += 1

    def end(self, peer: str) -> None:
        """Count one call less."""
        self.open -= 1
        self._of[peer] -= 1
        if not self._of[peer]:
            del self._of[peer]


class ByteBudget:
    """Bytes held by the calls of one server. Use it in one event loop. One peer may hold a quarter. One that holds
    nothing yet is served even when others hold all, up to twice the total."""

    def __init__(self, total: int, *, message: int) -> None:
        self._message, self._total, self._share = message, max(total, 2 * message), max(total // 4, message)
        self._of: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)
        self.held = 0

    async def reserve(self, peer: str) -> HeldBytes:
        """Reserve the bytes of one message, and wait up to a second for them."""
        if self._fits(peer) and peer not in self._waiting:
            self.change(peer, self._message)
            return HeldBytes(self, peer, self._message)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[peer].append(turn)
        try:
            async with asyncio.timeout(_BYTES_WAIT_S):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # granted in the same moment
                self.change(peer, -self._message)
            if not isinstance(error, TimeoutError):
                raise
            problem = "requests and unread answers of this peer, or of all, take all the memory they may"
            remedy = "Read the answers, send fewer calls at once, or use another replica"
            raise OverloadedError(problem, subject="max_inflight_bytes", remedy=remedy) from None
        return HeldBytes(self, peer, self._message)

    def change(self, peer: str, size: int) -> None:
        """Count ``size`` more bytes of a peer, or fewer, and let those in who wait for them."""
        self.held += size
        self._of[peer] += size
        if not self._of[peer]:
            del self._of[peer]
        for other in list(self._waiting) if size < 0 else ():
            turns = self._waiting[other]
            while turns and (turns[0].done() or self._fits(other)):
                turn = turns.popleft()
                if not turn.done():
                    turn.set_result(None)
                    self.change(other, self._message)
            if not turns:
                del self._waiting[other]

    def _fits(self, peer: str) -> bool:
        own = self._of.get(peer, 0)
        if not own:
            return self.held + self._message <= 2 * self._total
        return own + self._message <= self._share and self.held + self._message <= self._total


@dataclass(slots=True)
class HeldBytes:
    """The bytes that one call holds."""

    budget: ByteBudget
    peer: str
    size: int

    def resize(self, size: int) -> None:
        """Hold ``size`` bytes instead; 0: none any more. It may exceed the budget by what was made already."""
        change, self.size = size - self.size, size
        self.budget.change(self.peer, change)


class Admission:
    """The room for the calls of one port, for one event loop; ``wait_s`` seconds for a message, by default those of the server's deadline."""

    def __init__(
        self, settings: ServerSettings, *, most_single: int = MOST_SINGLE_BYTES, wait_s: float | None = None
    ) -> None:
        self.read_limit = settings.max_message_bytes * 5 // 4  # of gRPC: above the limit, to say here what is wrong
        self.bytes = ByteBudget(settings.max_inflight_bytes, message=self.read_limit)
        self.calls = PeerCalls(each=settings.max_peer_calls, together=settings.max_calls)
        self._wait_s = settings.default_deadline_s if wait_s is None else wait_s
        self._most, self._most_single = settings.max_message_bytes, min(most_single, settings.max_message_bytes)

    def begin(self, peer: str, context: Any) -> None:
        """Count a call until its answer is sent."""
        self.calls.begin(peer)
        context.add_done_callback(lambda _: self.calls.end(peer))

    async def read(self, method: str, peer: str, context: Any) -> tuple[bytes, HeldBytes]:
        """Read the message of a call when there is room for it; return it with the bytes that are held until the answer is sent."""
        most = self._most if method in BATCH_METHODS else self._most_single
        held = await self.bytes.reserve(peer)
        context.add_done_callback(lambda _: held.resize(0))
        try:
            async with asyncio.timeout(self._wait_s):
                raw = await context.read()
        except TimeoutError:
            raise DeadlineError("the message of the call did not come", subject="request") from None
        if not isinstance(raw, bytes):
            raise InvalidArgumentError("the call has no message", subject="request", remedy="Send one message")
        held.resize(size := len(raw))
        if size > most:
            del raw  # the error would keep it alive
            held.resize(0)
            problem = f"the request has {size:,} bytes; at most {most:,} are taken"
            remedy = "Send the request itself, not the conversation; split a batch into several calls"
            raise TooLargeError(problem, subject="request", remedy=remedy)
        return raw, held
