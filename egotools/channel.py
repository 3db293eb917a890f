"""How a client's channel is set up: load balancing over replicas, retries, limits, TLS; the same for both clients."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import grpc

from egotools.v1 import egotools_pb2 as pb

__all__ = ["DEFAULT_MAX_MESSAGE_BYTES", "channel_options", "credentials_of"]

DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024
_SERVICE = pb.DESCRIPTOR.services_by_name["ToolRetrieval"].full_name
_SERVICE_CONFIG = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        # Replicas that report NOT_SERVING (loading, or about to stop) get no calls. Without it a call that reaches a server
        # in the moment it stops ends CANCELLED, which no retry may touch.
        "healthCheckConfig": {"serviceName": _SERVICE},
        "methodConfig": [
            {
                "name": [{"service": _SERVICE}],
                # Every call only reads, so another attempt is always safe; only UNAVAILABLE means "ask another replica".
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 3,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ],
        # Retries stop while most calls fail, so that an overloaded fleet does not get four times the load.
        "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.5},
    },
    separators=(",", ":"),
)


def channel_options(max_message_bytes: int, options: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The options of a channel: calls go round all addresses, and one that ends UNAVAILABLE is tried up to four times."""
    return [
        ("grpc.service_config", _SERVICE_CONFIG),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),  # the server reports what is too large for it
        ("grpc.initial_reconnect_backoff_ms", 100),  # a restarted replica gets calls again soon
        ("grpc.max_reconnect_backoff_ms", 5_000),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        *options,
    ]


def credentials_of(tls: grpc.ChannelCredentials | bool) -> grpc.ChannelCredentials | None:
    """The credentials of a channel: None for plain text, the system's root certificates for True."""
    if isinstance(tls, bool):
        return grpc.ssl_channel_credentials() if tls else None
    return tls
