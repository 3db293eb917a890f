"""Hubs: nodes with edges to so many tools that a common hub does not relate two tools."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrieval.snapshot.reader import Snapshot

__all__ = ["HUB_SHARE", "hubs"]

HUB_SHARE = 0.1
"""A hub has edges to more than this share of the tools, and more than two edges to tools."""


def hubs(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Return the mask of the hubs, bool [nodes]; a tool is never a hub."""
    is_hub = snapshot.tool_degrees > max(2.0, HUB_SHARE * snapshot.tool_count)
    is_hub[: snapshot.tool_count] = False
    return is_hub
