"""The guard against forged requests: an address that stands in a document leads to a public network, or to one that was allowed.

Whoever writes a document must not choose a machine inside of the network of whoever calls its tools. The name is resolved once, every
number of it is checked, and the connection goes to a number that was checked: a name server cannot answer otherwise a second time.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from egotools.client_errors import PermissionDeniedError, ToolRequestError

Network: TypeAlias = IPv4Network | IPv6Network
_Address: TypeAlias = IPv4Address | IPv6Address

_NOT_PUBLIC_V4 = (
    IPv4Network("192.0.0.0/24"),  # of protocols; is_global takes two of its addresses for public
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    # The wire server of Azure: each machine there has its own; the metadata of others is link-local.
    IPv4Network("168.63.129.16/32"),
)
_PUBLIC_V6 = IPv6Network("2000::/3")  # all that was ever given out for unicast
_NOT_PUBLIC_V6 = (
    IPv6Network("2001::/32"),  # Teredo, which holds an IPv4 address of its own
    IPv6Network("3fff::/20"),  # of documentation; unknown to ipaddress of Python 3.11
)
_NAT64 = IPv6Network("64:ff9b::/96")
_LOWEST_32 = 0xFFFFFFFF
_ISATAP = (0x00005EFE, 0x02005EFE)  # before the IPv4 address, in a network of any prefix


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return networks from ``127.0.0.0/8`` and ``10.1.2.3``.

    :raises ToolRequestError: for a text that is neither.
    """
    found = []
    for text in texts:
        try:
            found.append(ip_network(text))
        except ValueError:
            remedy = "Write ADDRESS/BITS, for example 127.0.0.0/8."
            raise ToolRequestError(f"{text!r} is no network", "allowed networks", remedy) from None
    return tuple(found)


def is_public(address: str) -> bool:
    """Whether a number is of the public Internet; one that holds an IPv4 address (mapped, NAT64, 6to4, ISATAP) is as public as that."""
    for each in _with_held(ip_address(address)):
        if isinstance(each, IPv4Address):
            public = each.is_global and not each.is_multicast and not any(each in net for net in _NOT_PUBLIC_V4)
        elif each.ipv4_mapped is not None or each in _NAT64:
            public = True  # what it holds decides
        else:
            given_out = each.is_global and not any(each in net for net in _NOT_PUBLIC_V6)
            public = each in _PUBLIC_V6 and (each.sixtofour is not None or given_out)
        if not public:
            return False
    return True


def _with_held(address: _Address) -> tuple[_Address, ...]:
    """The address, and the IPv4 address that it holds."""
    if isinstance(address, IPv4Address):
        return (address,)
    held = address.ipv4_mapped or address.sixtofour
    if held is None and (address in _NAT64 or (int(address) >> 32) & _LOWEST_32 in _ISATAP):
        held = IPv4Address(int(address) & _LOWEST_32)
    return (address,) if held is None else (address, held)


def _is_allowed(address: str, networks: Sequence[Network]) -> bool:
    own = _with_held(ip_address(address))
    return is_public(address) or any(each in network for each in own for network in networks)


def is_refused_literal(host: str, networks: Sequence[Network]) -> bool:
    """Whether a host is surely refused, before any name is resolved: ``localhost``, or a number that is neither public nor allowed."""
    name = host.casefold().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return not _is_allowed("127.0.0.1", networks)
    try:
        return not _is_allowed(host, networks)
    except ValueError:
        return False


async def checked_numbers(host: str, port: int, networks: Sequence[Network]) -> list[str]:
    """Resolve a host and return its numbers in the order in which they are to be tried.

    :raises PermissionDeniedError: when one of them is neither public nor allowed.
    :raises OSError: when the name has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    numbers = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if refused := next((number for number in numbers if not _is_allowed(number, networks)), None):
        raise PermissionDeniedError(
            f"the document of the tool leads to {refused}, which is no public address; nothing was sent",
            host,
            "If you trust it, give the base URL yourself (server, --base-url), or allow its network (--allow-network).",
            reason="ADDRESS_NOT_ALLOWED",
        )
    return numbers


IDENTITY = {"Accept-Encoding": "identity"}
"""The header of a request whose answer shall not be compressed."""


def is_encoded(headers: Mapping[str, str]) -> bool:
    """Whether an answer with these headers is compressed (``Content-Encoding`` other than ``identity``)."""
    encodings = headers.get("content-encoding", "").lower().split(",")
    return any(encoding.strip() not in ("", "identity") for encoding in encodings)
