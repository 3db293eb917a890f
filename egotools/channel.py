"""The channels of the clients: load balancing over replicas, retries, limits, TLS, and the token and tenant of each call."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import grpc

from egotools.client_errors import InvalidRequestError, OverloadedError
from egotools.v1 import egotools_pb2 as pb

DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024
Token: TypeAlias = str | Callable[[], str] | None
"""A bearer token, or a function that returns the one to use now. It is called for each call, and must not wait."""
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_CONFIG = {
    "loadBalancingConfig": [{"round_robin": {}}],
    # Replicas that report NOT_SERVING (loading, or about to stop) get no calls.
    "healthCheckConfig": {"serviceName": _SERVICE},
    # Another attempt is always safe: calls only read, and a report that the server has already is not kept twice.
    "methodConfig": [
        {
            "name": [{"service": _SERVICE}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "2s",
                "backoffMultiplier": 3,
                # RESOURCE_EXHAUSTED: a server that is overloaded says in `grpc-retry-pushback-ms` when to try again, and with -1 that
                # it does not help (too large). CANCELLED: the server's, of a flooded connection.
                "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "CANCELLED"],
            },
        }
    ],
    # Retries stop while most calls fail, so that an overloaded fleet does not get four times the load.
    "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.5},
}
_OPTIONS = (
    ("grpc.service_config", json.dumps(_CONFIG, separators=(",", ":"))),
    ("grpc.enable_retries", 1),
    ("grpc.max_send_message_length", -1),  # the client checks the size, and says what to do
    ("grpc.initial_reconnect_backoff_ms", 100),  # a restarted replica gets calls again soon
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # A replica that is stopped or cut off answers no ping: its calls go to another one after 2.5 s.
    ("grpc.keepalive_time_ms", 1_000),
    ("grpc.keepalive_timeout_ms", 1_500),
    ("grpc.http2.ping_timeout_ms", 1_500),  # of gRPC's other pings: none else is sent while one is open
    ("grpc.http2.max_pings_without_data", 0),  # no limit: while a call waits nothing else is sent
)


def channel_options(max_message_bytes: int, options: Sequence[tuple[str, Any]] = ()) -> list[tuple[str, Any]]:
    """Return the options of a channel: round-robin over all addresses, and up to four attempts for a call."""
    return [("grpc.max_receive_message_length", max_message_bytes), *_OPTIONS, *options]


def open_channel(
    module: Any, target: str, tls: grpc.ChannelCredentials | bool, options: Sequence[tuple[str, Any]]
) -> Any:
    """Return a channel of ``grpc`` or ``grpc.aio``: in plain text where ``tls`` is False, with the system's root certificates where it is True."""
    if tls is False:
        return module.insecure_channel(target, options=options)
    return module.secure_channel(target, grpc.ssl_channel_credentials() if tls is True else tls, options=options)


def check_request_size(message: Any, most: int) -> None:
    """Check the bytes of a request before it is sent; OverloadedError when it has more."""
    size = message.ByteSize()
    if size > most:
        problem = f"the request has {size:,} bytes; at most {most:,} are sent"
        remedy = "Split it into several calls, or raise the limit of client and server."
        raise OverloadedError(problem, "max_message_bytes", remedy, reason="TOO_LARGE")


class CallMetadata:
    """Token and tenant of the calls of a channel; :meth:`pairs` is the metadata of one call.

    :param tenant: the catalogue; empty: that of the token, or the only one of the server.
    :param is_private: whether nobody can read the connection: it has TLS, or the caller says so.
    :raises InvalidRequestError: when a token would be sent in plain text to another machine.
    """

    def __init__(self, target: str, *, token: Token, tenant: str, is_private: bool) -> None:
        if token is not None and not is_private and not _is_local(target):
            problem = "a token must not be sent in plain text to another machine"
            remedy = "Use tls, or insecure_token=True where the network is private."
            raise InvalidRequestError(problem, "token", remedy, reason="INSECURE_TOKEN")
        self._token = token
        self._tenant = tenant

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata of one call.

        :raises InvalidRequestError: for characters that no token or tenant has.
        """
        token = self._token() if callable(self._token) else self._token
        given = (
            ("tenant", "egotools-tenant", self._tenant),
            ("token", "authorization", f"Bearer {token}" * bool(token)),
        )
        for name, _, value in given:
            if not value.isascii() or not value.isprintable():  # gRPC would fail without a word on it
                problem = f"the {name} has characters that no {name} has"
                remedy = "Give it as it was issued: printable ASCII, in one line."
                raise InvalidRequestError(problem, name, remedy, reason="INVALID_ARGUMENT")
        return tuple((key, value) for _, key, value in given if value)


def _is_local(target: str) -> bool:
    """Whether every address of a gRPC target is of this machine."""
    scheme, _, rest = target.rpartition("://") if "://" in target else target.partition(":")
    if scheme in ("unix", "unix-abstract"):
        return True
    addresses = rest if "://" in target or scheme in ("dns", "ipv4", "ipv6") else target
    for address in addresses.rpartition("/")[2].split(","):
        host = address.partition(":")[0] if address.count(":") <= 1 else address
        if address.startswith("["):
            host = address[1:].partition("]")[0]
        try:
            if host.lower() != "localhost" and not ipaddress.ip_address(host).is_loopback:
                return False
        except ValueError:
            return False
    return True
