"""Admission of a call before its message is read: its place among the open calls, and the bytes that it may take.

gRPC runs a handler of a method with one request only when the whole message was read. So every method is given to gRPC as one
with a stream of requests: its handler runs when the headers have come, and reads the one message when there is room for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any
from urllib.parse import unquote

from google.protobuf.descriptor import Descriptor

from ontology.errors import DeadlineError, InvalidArgumentError, TooLargeError
from services.server.admission.byte_budget import ByteBudget, HeldBytes
from services.server.admission.peer_calls import PeerCalls
from services.server.admission.wire_scan import MAX_FIELDS, check_fields
from services.server.settings import ServerSettings

__all__ = ["Admission", "address_network", "most_bytes", "peer_of"]

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
    :param most_fields: fields of one message; see :func:`services.server.admission.wire_scan.check_fields`.
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
