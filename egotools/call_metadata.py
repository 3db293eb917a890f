"""What a client says of itself with each call: its token and its tenant."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any, TypeAlias

from egotools.client_errors import InvalidRequestError

__all__ = ["CallMetadata", "Token"]

Token: TypeAlias = str | Callable[[], str] | None
"""A bearer token, or a function that returns the one to use now. It is called for each call, and must not wait."""
_METHODS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class CallMetadata:
    """Adds token and tenant to the calls of a channel, of grpc or of grpc.aio.

    :param target: of the channel.
    :param tenant: the catalogue; empty: that of the token, or the only one of the server.
    :param is_private: whether nobody can read the connection: it has TLS, or the caller says so.
    :raises InvalidRequestError: when a token would be sent in plain text to another machine.
    """

    def __init__(self, target: str, *, token: Token, tenant: str, is_private: bool) -> None:
        if token is not None and not is_private and not _is_local(target):
            raise InvalidRequestError(
                "a token must not be sent in plain text to another machine",
                code="INVALID_ARGUMENT",
                reason="INSECURE_TOKEN",
                subject="token",
                remedy="Use tls, or insecure_token=True where the network is private.",
            )
        self._token = token
        self._tenant = tenant

    def on(self, channel: Any) -> Any:
        """Return the channel with the metadata on each call."""
        return channel if self._token is None and not self._tenant else _Channel(channel, self._pairs)

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        token = self._token() if callable(self._token) else self._token
        pairs = (("egotools-tenant", self._tenant), ("authorization", f"Bearer {token}" if token else ""))
        for name, (_, value) in zip(("tenant", "token"), pairs, strict=True):
            if not value.isascii() or not value.isprintable():  # gRPC would fail without a word on it
                raise InvalidRequestError(
                    f"the {name} has characters that no {name} has",
                    code="INVALID_ARGUMENT",
                    reason="INVALID_ARGUMENT",
                    subject=name,
                    remedy="Give it as it was issued: printable ASCII, in one line.",
                )
        return tuple((key, value) for key, value in pairs if value)


class _Channel:
    """The methods of a channel that stubs use."""

    def __init__(self, channel: Any, pairs: Callable[[], tuple[tuple[str, str], ...]]) -> None:
        for kind in _METHODS:
            setattr(self, kind, _with_pairs(getattr(channel, kind), pairs))


def _with_pairs(make: Any, pairs: Callable[[], tuple[tuple[str, str], ...]]) -> Any:
    return lambda *arguments, **options: _Method(make(*arguments, **options), pairs)


class _Method:
    """One method of a stub."""

    def __init__(self, method: Any, pairs: Callable[[], tuple[tuple[str, str], ...]]) -> None:
        self._method = method
        self._pairs = pairs

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._method(*arguments, metadata=self._pairs(), **options)

    def future(self, *arguments: Any, **options: Any) -> Any:
        """The same, without waiting for the answer."""
        return self._method.future(*arguments, metadata=self._pairs(), **options)


def _is_local(target: str) -> bool:
    """Whether every address of a gRPC target is of this machine."""
    scheme, _, rest = target.rpartition("://") if "://" in target else target.partition(":")
    if scheme in ("unix", "unix-abstract"):
        return True
    addresses = rest if "://" in target or scheme in ("dns", "ipv4", "ipv6") else target
    return all(_is_local_host(_host(each)) for each in addresses.rpartition("/")[2].split(","))


def _host(address: str) -> str:
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address if address.count(":") > 1 else address.partition(":")[0]


def _is_local_host(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
