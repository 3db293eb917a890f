"""The settings of the server: one frozen value, read once from the environment at start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ontology.errors import InvalidArgumentError

__all__ = ["ENV_PREFIX", "ServerSettings"]

ENV_PREFIX = "EGOTOOLS_"
_MIB = 1024 * 1024
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_REFLECTION = ("loopback", "off", "on")
_WARM_QUERY = "list the open orders of a customer"


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How the server listens, how many requests it accepts, and how it stops.

    :param host: address to listen on; an address other than loopback should be behind a TLS proxy.
    :param port: 0 (any free port) to 65,535.
    :param workers: requests that run at the same time, each on its own thread, 1 to 256; default: one for each processor.
    :param queue: cost in units that may wait for a worker, 0 to 10,000; more is refused at once. A short request costs 1.
    :param grace_s: seconds that calls in flight have to finish when the server stops, 0 to 3,600.
    :param drain_s: seconds between reporting NOT_SERVING and refusing calls, 0 to 600. In this time clients that watch
        health switch to other replicas; use more for load balancers that poll rarely.
    :param max_message_bytes: maximum size of a request and of a response, 1 KiB to 1 GiB.
    :param default_deadline_s: seconds for a call without a deadline of its own, 0.001 to 3,600.
    :param max_batch: maximum number of requests in one batch, 1 to 64.
    :param max_connection_age_s: seconds after which a client must reconnect, so that new replicas get calls; 1 to 86,400.
    :param warm_query: warm-up query, run once before the service reports SERVING.
    :param ready_file: file that is written when the service reports SERVING: JSON with ``address``, ``host``, ``port``,
        ``pid``, ``snapshot_id``.
    :param log_level: ``DEBUG``, ``INFO``, ``WARNING`` or ``ERROR``.
    :param max_deadline_s: seconds that a call may take at most, whatever deadline it has, 0.001 to 3,600.
    :param max_call_cost: units that one call may cost (see :mod:`services.server.admission.cost`), 1 to 100,000.
    :param max_inflight_bytes: bytes of requests and answers that are held at once, 1 MiB to 64 GiB; one peer may hold a quarter.
    :param max_calls: calls, and streams of health and of reflection, that are open at once, 16 to 1,000,000 of each kind.
    :param max_peer_calls: those of one peer, 8 to 1,000,000.
    :param max_streams: calls that are open at once on one connection, 1 to 10,000; a client lets further ones wait.
    :param max_connections: connections that are open at once, 1 to 100,000.
    :param reflection: ``on``, ``off``, or ``loopback``: only where the server listens on loopback.
    :raises InvalidArgumentError: naming the field whose value is invalid.
    """

    host: str = "127.0.0.1"
    port: int = 50_051
    workers: int = field(default_factory=_processors)
    queue: int = 64
    grace_s: float = 25.0
    drain_s: float = 0.5
    max_message_bytes: int = 4 * _MIB
    default_deadline_s: float = 10.0
    max_batch: int = 64
    max_connection_age_s: float = 300.0
    warm_query: str = _WARM_QUERY
    ready_file: Path | None = None
    log_level: str = "INFO"

    max_deadline_s: float = 60.0
    max_call_cost: int = 256
    max_inflight_bytes: int = 64 * _MIB
    max_calls: int = 8_192
    max_peer_calls: int = 1_024
    max_streams: int = 128
    max_connections: int = 4_096
    reflection: str = "loopback"

    def __post_init__(self) -> None:
        if not self.host.strip():
            raise InvalidArgumentError(
                "the host is empty", subject="host", remedy="Use 127.0.0.1, or the address to listen on"
            )
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:  # NaN fails this comparison
                raise InvalidArgumentError(f"{name} must be from {low:,} to {high:,}, not {value}", subject=name)
        if self.log_level not in _LOG_LEVELS:
            raise InvalidArgumentError(
                f"there is no log level {self.log_level!r}",
                subject="log_level",
                remedy=f"Use one of {', '.join(_LOG_LEVELS)}",
            )
        if self.reflection not in _REFLECTION:
            raise InvalidArgumentError(
                f"there is no setting {self.reflection!r}",
                subject="reflection",
                remedy=f"Use one of {', '.join(_REFLECTION)}",
            )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> ServerSettings:
        """Read the settings from environment variables: ``EGOTOOLS_PORT``, ``EGOTOOLS_GRACE_S``, …, one for each field.

        :param environ: default: the environment of this process. An empty variable counts as unset.
        :param overrides: values that take precedence over the environment, for example from the command line; None
            counts as unset.
        :raises InvalidArgumentError: naming the variable or the field that is invalid.
        """
        environ = os.environ if environ is None else environ
        given = {name: value for name, value in overrides.items() if value is not None}
        settings = cls()
        for entry in fields(cls):
            variable = ENV_PREFIX + entry.name.upper()
            text = environ.get(variable, "").strip()
            if not text or entry.name in given:
                continue
            try:
                settings = replace(settings, **{entry.name: _parse(getattr(settings, entry.name), entry.name, text)})
            except InvalidArgumentError as error:
                raise InvalidArgumentError(error.problem, subject=variable, remedy=error.remedy) from None
        return replace(settings, **given)


_RANGES: dict[str, tuple[float, float]] = {
    "port": (0, 65_535),
    "workers": (1, 256),
    "queue": (0, 10_000),
    "grace_s": (0, 3_600),
    "drain_s": (0, 600),
    "max_message_bytes": (1024, 1024 * _MIB),
    "default_deadline_s": (0.001, 3_600),
    "max_batch": (1, 64),
    "max_connection_age_s": (1, 86_400),
    "max_deadline_s": (0.001, 3_600),
    "max_call_cost": (1, 100_000),
    "max_inflight_bytes": (_MIB, 64 * 1024 * _MIB),
    "max_calls": (16, 1_000_000),
    "max_peer_calls": (8, 1_000_000),
    "max_streams": (1, 10_000),
    "max_connections": (1, 100_000),
}


def _parse(default: Any, name: str, text: str) -> Any:
    if name == "ready_file":
        return Path(text)
    if name == "log_level":
        return text.upper()
    if isinstance(default, str):
        return text
    kind = int if isinstance(default, int) else float
    try:
        return kind(text)
    except ValueError:
        raise InvalidArgumentError(
            f"{text!r} is not a {'whole ' if kind is int else ''}number", subject=name, remedy="Write digits only"
        ) from None
