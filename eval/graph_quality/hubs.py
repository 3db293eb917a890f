"""Hubs: nodes that touch so many tools that they relate no two of them in particular."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrieval.snapshot.reader import Snapshot

__all__ = ["HUB_SHARE", "hubs"]

HUB_SHARE = 0.1
"""A hub touches more than this share of the tools, and more than two."""


def hubs(snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which nodes are hubs, bool [nodes]; a tool is never one."""
    touched = snapshot.tool_degrees > max(2.0, HUB_SHARE * snapshot.tool_count)
    touched[: snapshot.tool_count] = False
    return touched
