"""The channel options of both clients: load balancing over replicas, retries, limits, TLS."""

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
        # Replicas that report NOT_SERVING (loading, or about to stop) get no calls. Without it, a call that reaches a server
        # while it stops ends with CANCELLED, which must not be retried.
        "healthCheckConfig": {"serviceName": _SERVICE},
        "methodConfig": [
            {
                "name": [{"service": _SERVICE}],
                # Every call only reads, so another attempt is always safe; only UNAVAILABLE means "use another replica".
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
    """Return the options of a channel: round-robin over all addresses, and up to four attempts for a call with UNAVAILABLE."""
    return [
        ("grpc.service_config", _SERVICE_CONFIG),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", -1),  # the server checks the size
        ("grpc.initial_reconnect_backoff_ms", 100),  # a restarted replica gets calls again soon
        ("grpc.max_reconnect_backoff_ms", 5_000),
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        *options,
    ]


def credentials_of(tls: grpc.ChannelCredentials | bool) -> grpc.ChannelCredentials | None:
    """Return the credentials of a channel: None for plain text, the system's root certificates for True."""
    if isinstance(tls, bool):
        return grpc.ssl_channel_credentials() if tls else None
    return tls
