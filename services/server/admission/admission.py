"""Admission of a call before its message is read: its place among the open calls, and the bytes that it may take.

gRPC runs a handler of a method with one request only when the whole message was read. So every method is given to gRPC as one
with a stream of requests: its handler runs when the headers have come, and reads the one message when there is room for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from google.protobuf.descriptor import Descriptor

from ontology.errors import DeadlineError, InvalidArgumentError, OverloadedError, TooLargeError
from services.server.settings import ServerSettings

__all__ = ["Admission", "ByteBudget", "HeldBytes", "PeerCalls", "address_network", "most_bytes", "peer_of"]

MAX_FIELDS = 20_000
"""Most fields of one request, those of its parts included. A request with every limit of the contract reached has 10,000."""

_VARINT, _FIXED_64, _TEXT, _FIXED_32 = 0, 1, 2, 5


def check_fields(raw: bytes, kind: Descriptor, most: Mapping[str, int], most_fields: int = MAX_FIELDS) -> None:
    """Check the number of fields of a message. Bytes that are not a message are left to the decoder.

    :param raw: the message as it came.
    :param kind: its type.
    :param most: name of a repeated field of the message → most values.
    :param most_fields: of the whole message.
    :raises InvalidArgumentError: naming the field that has too many values; no more of the message is read then.
    """
    limits = {kind.fields_by_name[name].number: limit for name, limit in most.items()}
    seen: Counter[int] = Counter()
    parts: list[tuple[int, int, Descriptor | None, int]] = [(0, len(raw), kind, 0)]
    count = 0
    while parts:
        at, end, part, outer = parts.pop()
        while at < end:
            tag, at = _number(raw, at)
            number, form = tag >> 3, tag & 7
            size = 0
            if form == _VARINT:
                _, at = _number(raw, at)
            elif form == _TEXT:
                size, at = _number(raw, at)
            elif form in (_FIXED_64, _FIXED_32):
                size = 8 if form == _FIXED_64 else 4
            count += 1
            if part is kind and not outer:
                seen[number] += 1
                if seen[number] > limits.get(number, most_fields):
                    raise _too_many(kind, number, limits[number] if number in limits else most_fields)
            if count > most_fields:
                raise _too_many(kind, outer or number, most_fields)
            field = part.fields_by_number.get(number) if part is not None and form == _TEXT else None
            if size and field is not None and field.message_type is not None:
                parts.append((at, min(at + size, end), field.message_type, outer or number))
            at += size


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Read a variable-length number; (0, end) where there is none."""
    value = shift = 0
    while at < len(raw) and shift < 70:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, len(raw)


def _too_many(kind: Descriptor, number: int, most: int) -> InvalidArgumentError:
    field = kind.fields_by_number.get(number)
    name = field.name if field is not None else "request"
    return InvalidArgumentError(
        f"there are more than {most:,} values", subject=name, remedy="Send fewer in one call, or split it into several"
    )


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


class PeerCalls:
    """Counts open calls. Use it in one event loop.

    A peer that has none yet may begin one even when the others have all, up to twice the total.

    :param each: most calls of one peer.
    :param together: most calls of all peers.
    """

    def __init__(self, *, each: int, together: int) -> None:
        self._each = each
        self._together = together
        self._open: Counter[str] = Counter()
        self._sum = 0

    @property
    def open(self) -> int:
        """Number of open calls."""
        return self._sum

    def begin(self, peer: str) -> None:
        """Count one more call of a peer.

        :raises OverloadedError: when it, or all together, have as many as they may.
        """
        own = self._open[peer]
        if own >= self._each or self._sum >= self._together * (1 if own else 2):
            raise OverloadedError(
                f"this peer has {own:,} open calls, and all peers have {self._sum:,}",
                remedy="End some of them, or use another replica",
            )
        self._open[peer] += 1
        self._sum += 1

    def end(self, peer: str) -> None:
        """Count one call less."""
        self._sum -= 1
        self._open[peer] -= 1
        if not self._open[peer]:
            del self._open[peer]


_BATCH_METHODS = frozenset({"RetrieveBatch", "RetrieveEach"})
_MOST_SINGLE_BYTES = 1024 * 1024
_IPV6_NETWORK_BITS = 64


def most_bytes(settings: ServerSettings, *, batch: bool, most_single: int = _MOST_SINGLE_BYTES) -> int:
    """How many bytes the message of a call may have.

    :param batch: whether its method takes several requests.
    :param most_single: bytes of the message of a method that takes one request, where the settings allow more.
    """
    return settings.max_message_bytes if batch else min(most_single, settings.max_message_bytes)


class Admission:
    """The room for the calls of one server. Use it in one event loop.

    :param settings: the limits.
    :param most_single: bytes of the message of a method that takes one request, where it is less than the settings allow.
    :param most_fields: fields of one message; see :func:`services.server.admission.admission.check_fields`.
    """

    def __init__(
        self, settings: ServerSettings, *, most_single: int = _MOST_SINGLE_BYTES, most_fields: int = MAX_FIELDS
    ) -> None:
        self.bytes = ByteBudget(settings.max_inflight_bytes, message=read_limit(settings.max_message_bytes))
        self.calls = PeerCalls(each=settings.max_peer_calls, together=settings.max_calls)
        self._settings = settings
        self._most_single = most_single
        self._most_fields = most_fields

    def begin(self, peer: str, context: Any) -> None:
        """Count a call until its answer is sent.

        :raises OverloadedError: when its peer, or all together, have as many as they may.
        """
        self.calls.begin(peer)
        context.add_done_callback(lambda _: self.calls.end(peer))

    async def receive(self, method: str, kind: Descriptor, peer: str, context: Any) -> tuple[bytes, HeldBytes]:
        """Read the message of a call when there is room for it, and check its size and the number of its fields.

        :returns: the message as it came, and the bytes held for the call until its answer is sent.
        :raises OverloadedError: when there is no room.
        :raises DeadlineError: when the message does not come.
        :raises TooLargeError: when it has more bytes than the method takes.
        :raises InvalidArgumentError: naming the field with too many values; or when there is no message.
        """
        batch = method in _BATCH_METHODS
        most = most_bytes(self._settings, batch=batch, most_single=self._most_single)
        raw, held = await self.read(peer, context, most)
        check_fields(raw, kind, {"requests": self._settings.max_batch} if batch else {}, self._most_fields)
        return raw, held

    async def read(self, peer: str, context: Any, most: int) -> tuple[bytes, HeldBytes]:
        """As :meth:`receive`, of a message of any kind with at most ``most`` bytes."""
        held = await self.bytes.reserve(peer)
        context.add_done_callback(lambda _: held.release())
        raw = await self._read(context)
        size = len(raw)
        if size > most:
            del raw  # the error would keep it alive
            held.release()
            raise TooLargeError(
                f"the request has {size:,} bytes; at most {most:,} are taken",
                subject="request",
                remedy="Send the request itself, not the conversation; split a batch into several calls",
            )
        held.resize(len(raw))
        return raw, held

    async def _read(self, context: Any) -> bytes:
        try:
            async with asyncio.timeout(self._settings.default_deadline_s):
                raw = await context.read()
        except TimeoutError:
            raise DeadlineError("the message of the call did not come", subject="request") from None
        if not isinstance(raw, bytes):
            raise InvalidArgumentError("the call has no message", subject="request", remedy="Send one message")
        return raw


def read_limit(max_message_bytes: int) -> int:
    """Return the size up to which gRPC reads a message: above the limit, so that the server can say what is wrong."""
    return max_message_bytes + max_message_bytes // 4


def peer_of(context: Any) -> str:
    """Return the address of the other end without its port; see :func:`address_network`."""
    peer: str = context.peer()
    address, port = peer.rpartition(":")[::2]
    if not address.startswith("ipv6:"):
        return address or port
    return address_network(unquote(address.removeprefix("ipv6:")).strip("[]")) or address


def address_network(host: str) -> str:
    """Return an address as the name of a peer; of IPv6 the network, because one host has many addresses there. Empty for a text that is
    no address."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if isinstance(found, ipaddress.IPv4Address):
        return f"ipv4:{found}"
    return f"ipv6:{ipaddress.ip_network((int(found), _IPV6_NETWORK_BITS), strict=False)}"
