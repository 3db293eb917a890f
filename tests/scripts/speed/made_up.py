"""Results of a made-up run with round figures, for the tables, the plot and the thresholds."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from scripts.speed.speed_results import SpeedResults


def stages(scale: float) -> dict[str, float]:
    return {
        "encode": 4.0,
        "entry": 0.5 * scale,
        "ego": 0.25 * scale,
        "rank": 1.0,
        "explain": 0.5 * scale,
        "total": 8.0,
    }


def closed(callers: int, answers: float, ms: float, scale: float) -> dict[str, Any]:
    return {
        "loop": "closed",
        "callers": callers,
        "load": 0.0,
        "offered_per_s": answers,
        "answered_per_s": answers,
        "p50_ms": ms,
        "p95_ms": 2 * ms,
        "p99_ms": 3 * ms,
        "late_p95_ms": 0.0,
        "refused": {},
        "stages_ms": {**stages(scale), "queue": 0.25, "rest": 1.75},
        "server_cpu_ms": 8.0 * scale,
        "client_cpu_ms": 0.5,
        "others": 0.02,
    }


def opened(load: float, answers: float, ms: float, refused: int = 0) -> dict[str, Any]:
    return {
        **closed(0, answers, ms, 1.0),
        "loop": "open",
        "load": load,
        "offered_per_s": 200 * load,
        "late_p95_ms": 1.5,
        "refused": {"RESOURCE_EXHAUSTED": refused} if refused else {},
    }


def points(scale: float) -> list[dict[str, Any]]:
    return [
        closed(1, 100.0, 10.0, scale),
        closed(4, 200.0, 20.0, scale),
        opened(0.5, 99.5, 12.0),
        opened(1.5, 190.0, 170.0, 500),
    ]


def size(tools: int, *, scale: float) -> dict[str, Any]:
    return {
        "build": {
            "tools": tools,
            "tools_sha256": "ab",
            "snapshot_id": f"{tools:016x}",
            "nodes": 3 * tools,
            "edges": 9 * tools,
            "build_s": 30.0,
            "seconds": {"extract": 5.0, "write": 1.0, "encode": 10.0},
        },
        "in_process": {
            "load_s": 0.5,
            "resident_bytes": 5_000 * tools,
            "snapshot_bytes": 7_000 * tools,
            "recall": 0.99,
            "median_ms": {"paper": stages(scale), "default": stages(scale)},
            "p95_ms": {"paper": stages(scale), "default": stages(scale)},
            "needs_cpu": {"4": 2.0, "8": 2.25},
            "needs_ms": {"4": 15.0, "8": 30.0},
            "words_ms": {"4": 8.0, "8": 16.0},
        },
        "serving": {
            "snapshot_id": f"{tools:016x}",
            "ready_s": 1.0,
            "memory": memory(200_000_000 + 6_000 * tools, mapped=5_000 * tools),
            "points": {"paper": points(scale), "default": points(scale)},
        },
    }


def memory(rss: int, *, mapped: int) -> dict[str, int]:
    return {
        "rss": rss,
        "pss": rss - 20_000_000,
        "mapped_rss": mapped,
        "mapped_pss": mapped,
        "private": 160_000_000,
        "peak_rss": rss + 1_000_000,
    }


def figures() -> dict[str, Any]:
    """As ``results.json`` has them."""
    return {
        "processors": 2,
        "python": "3.11.7",
        "places": 66,
        "seconds": 5.0,
        "queries": {"enterprise": 36, "one": 6, "two": 6},
        "floor_tools": 10,
        "floor": memory(200_000_000, mapped=0),
        "sizes": [size(1_000, scale=1.0), size(44_000, scale=1.5)],
    }


def results_of(made: dict[str, Any]) -> SpeedResults:
    return TypeAdapter(SpeedResults).validate_python(made)


def made_up() -> SpeedResults:
    return results_of(figures())
