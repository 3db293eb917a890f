"""The channel options of both clients: load balancing over replicas, retries, limits, TLS."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import grpc

from egotools.client_errors import OverloadedError
from egotools.v1 import egotools_pb2 as pb

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "channel_options",
    "check_request_size",
    "credentials_of",
]

DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_KEEPALIVE_MS, _KEEPALIVE_TIMEOUT_MS = 1_000, 1_500


def _service_config(attempt_timeout_s: float | None) -> str:
    retries: dict[str, Any] = {
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "2s",
        "backoffMultiplier": 3,
        # RESOURCE_EXHAUSTED: a server that is overloaded says in `grpc-retry-pushback-ms` when to try again, and with -1 that
        # it does not help (too large). CANCELLED: the server's, of a flooded connection; what the caller cancels is not retried.
        "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "CANCELLED"],
    }
    if attempt_timeout_s is not None:
        retries["perAttemptRecvTimeout"] = f"{attempt_timeout_s:.9f}s"
    config = {
        "loadBalancingConfig": [{"round_robin": {}}],
        # Replicas that report NOT_SERVING (loading, or about to stop) get no calls.
        "healthCheckConfig": {"serviceName": _SERVICE},
        # Another attempt is always safe: calls only read, and a report that the server has already is not kept twice.
        "methodConfig": [{"name": [{"service": _SERVICE}], "retryPolicy": retries}],
        # Retries stop while most calls fail, so that an overloaded fleet does not get four times the load.
        "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.5},
    }
    return json.dumps(config, separators=(",", ":"))


def channel_options(
    max_message_bytes: int, options: Sequence[tuple[str, Any]], *, attempt_timeout_s: float | None = None
) -> list[tuple[str, Any]]:
    """Return the options of a channel: round-robin over all addresses, and up to four attempts for a call.

    :param attempt_timeout_s: seconds without an answer after which an attempt is given up for the next one; None: never.
    """
    return [
        ("grpc.service_config", _service_config(attempt_timeout_s)),
        ("grpc.enable_retries", 1),
        (
            "grpc.experimental.enable_hedging",
            int(attempt_timeout_s is not None),
        ),  # gRPC reads perAttemptRecvTimeout only then
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),  # the client checks the size, and says what to do
        ("grpc.initial_reconnect_backoff_ms", 100),  # a restarted replica gets calls again soon
        ("grpc.max_reconnect_backoff_ms", 5_000),
        # A replica that is stopped or cut off answers no ping: its calls go to another one after 2.5 s.
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
        (
            "grpc.http2.ping_timeout_ms",
            _KEEPALIVE_TIMEOUT_MS,
        ),  # of gRPC's other pings: none else is sent while one is open
        ("grpc.http2.max_pings_without_data", 0),  # no limit: while a call waits nothing else is sent
        *options,
    ]


def credentials_of(tls: grpc.ChannelCredentials | bool) -> grpc.ChannelCredentials | None:
    """Return the credentials of a channel: None for plain text, the system's root certificates for True."""
    if isinstance(tls, bool):
        return grpc.ssl_channel_credentials() if tls else None
    return tls


def check_request_size(message: Any, most: int) -> None:
    """Check the size of a request before it is sent.

    :param most: bytes.
    :raises OverloadedError: when it has more.
    """
    size = message.ByteSize()
    if size > most:
        raise OverloadedError(
            f"the request has {size:,} bytes; at most {most:,} are sent",
            code="RESOURCE_EXHAUSTED",
            reason="TOO_LARGE",
            subject="max_message_bytes",
            remedy="Split it into several calls, or raise the limit of client and server.",
        )
