"""The cluster of Ray that a command works on."""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec
from typing import Any

from ontology.errors import InvalidArgumentError, MissingExtraError, NotReadyError

__all__ = ["RECONNECT", "connected", "on_ray"]

RECONNECT = "RAY_gcs_rpc_server_reconnect_timeout_s"
"""The variable that says how long a node and a command live without the head. Ray's default, about a minute, ends all of them."""

_RECONNECT_S = "86400"
_PLACES = ("local", "ray")


def on_ray(place: str) -> bool:
    """Whether ``--on`` names a cluster of Ray.

    :raises InvalidArgumentError: for another name.
    """
    if place not in _PLACES:
        raise InvalidArgumentError(f"there is no place {place!r}", subject="--on", remedy=f"Use {' or '.join(_PLACES)}")
    return place == "ray"


def connected() -> Any:
    """Connect to the running cluster: that of ``RAY_ADDRESS``, or the one of this machine. Return the module ``ray``.

    :raises MissingExtraError: when the extra ``ray`` is not installed.
    :raises NotReadyError: when no cluster answers.
    """
    if find_spec("ray") is None:
        raise MissingExtraError("--on ray", extra="ray")
    os.environ.setdefault(RECONNECT, _RECONNECT_S)  # read at the import: this command outlives a dead head too
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    try:
        ray.init(
            address="auto",
            namespace="egotools",
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
        )
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise NotReadyError(
            f"no cluster of Ray answers: {' '.join(str(error).split())[:200]}",
            subject=os.environ.get("RAY_ADDRESS", "--on ray"),
            remedy=f"Start one: {RECONNECT}={_RECONNECT_S} .venv/bin/ray start --head --disable-usage-stats",
        ) from error
    return ray
