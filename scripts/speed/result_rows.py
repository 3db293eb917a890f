"""Reading what was measured of one size: a row of ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Row", "alone", "overhead", "peak", "points"]

Row = Mapping[str, Any]


def points(row: Row, preset: str, loop: str) -> list[Mapping[str, Any]]:
    """The loads of one preset, in their order; see :class:`scripts.speed.load.Point`.

    :param loop: ``closed`` or ``open``.
    """
    return [point for point in row["serving"]["points"][preset] if point["loop"] == loop]


def alone(row: Row, preset: str) -> Mapping[str, Any]:
    """The closed loop with the fewest callers: one."""
    return min(points(row, preset, "closed"), key=lambda point: int(point["callers"]))


def peak(row: Row, preset: str) -> float:
    """Answers a second of the best closed loop."""
    return max(float(point["answered_per_s"]) for point in points(row, preset, "closed"))


def overhead(row: Row, preset: str) -> float:
    """How many times the retriever's own time a round trip takes, with one caller; both medians of the same calls."""
    point = alone(row, preset)
    return float(point["p50_ms"] / point["stages_ms"]["total"])
