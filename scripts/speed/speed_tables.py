"""The figures as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scripts.speed.probe import PRESETS
from scripts.speed.result_rows import Row, alone, overhead, points
from scripts.speed.thresholds import Verdict, bars

__all__ = ["STAGES", "markdown", "one_run"]

_NUMBER = re.compile(r"-?[\d,.]+%?|–")
_SHARED = 0.1  # share of the processors that others took, from which on it is said
STAGES = ("encode", "entry", "ego", "rank", "explain")


def one_run(results: Mapping[str, Any]) -> str:
    """Where the figures come from, one paragraph."""
    asked = results["queries"]
    text = (
        f"All figures come from one run, on {results['processors']} processors that client and server share, with "
        f"{sum(asked.values())} different requests ({asked['enterprise']} of `examples/enterprise`"
        + (f", {sum(asked.values()) - asked['enterprise']} of {len(asked) - 1} open sets" if len(asked) > 1 else "")
        + f") and {results['seconds']:g} s a load."
    )
    reused = [f"{row['tools']:,}" for row in results["rows"] if row["reused"]]
    if reused:
        text += f" Taken from an earlier run: the snapshots of {', '.join(reused)} tools, and what building them took."
    others = max(_others(results))
    if others > _SHARED:
        text += f" The machine was shared: other programs took up to {others:.0%} of its processors meanwhile."
    return text


def _others(results: Mapping[str, Any]) -> list[float]:
    loads = [point for row in results["rows"] for of_preset in row["serving"]["points"].values() for point in of_preset]
    return [point["others"] for point in loads]


def markdown(results: Mapping[str, Any]) -> str:
    """Every table under its heading, and the bars."""
    rows = results["rows"]
    parts = [
        ("Building and loading", _building(rows)),
        ("One request in process: median ms, k = 10, with reasons", _in_process(rows)),
        ("One request over gRPC, one caller: median ms as the answers say", _one_caller(rows)),
        ("Closed loop: every caller waits for its answer", _closed(rows)),
        ("Open loop: Poisson arrivals, latency from the moment a request was due", _open(rows)),
        ("Memory of the server after the load, MB", _memory(rows, results["floor"])),
        ("Bars", _bars(results)),
    ]
    return "\n\n".join(f"### {title}\n\n{table}" for title, table in parts)


def _building(rows: Sequence[Row]) -> str:
    head = "tools | nodes | edges | build s | of it embedding | load s | MB in memory | MB on disk | index recall@10"
    return _table(
        f"snapshot | {head}",
        (
            [
                f"`{row['snapshot_id']}`",
                *(f"{row[name]:,}" for name in ("tools", "nodes", "edges")),
                *(f"{row['build_s']:.0f}", f"{row['seconds']['encode']:.0f}", f"{row['load_s']:.2f}"),
                *(_mb(row["resident_bytes"]), _mb(row["snapshot_bytes"]), f"{row['recall']:.4f}"),
            ]
            for row in rows
        ),
    )


def _in_process(rows: Sequence[Row]) -> str:
    def cells(preset: str, row: Row) -> list[str]:
        median = row["median_ms"][preset]
        stages = [_ms(median.get(stage, 0.0)) for stage in (*STAGES, "total")]
        return [preset, f"{row['tools']:,}", *stages, _ms(row["p95_ms"][preset]["total"])]

    head = f"preset | tools | {' | '.join(STAGES)} | total p50 | total p95"
    return _table(head, (cells(preset, row) for preset in PRESETS for row in rows))


def _one_caller(rows: Sequence[Row]) -> str:
    def cells(preset: str, row: Row) -> list[str]:
        point = alone(row, preset)
        stages = [_ms(point["stages_ms"].get(stage, 0.0)) for stage in (*STAGES, "queue", "rest")]
        round_trip = [_ms(point["p50_ms"]), _ms(point["p95_ms"]), f"{overhead(row, preset):.2f}"]
        return [preset, f"{row['tools']:,}", *stages, *round_trip, _ms(point["server_cpu_ms"])]

    head = f"preset | tools | {' | '.join(STAGES)} | queue | rest | round trip p50 | p95 | x retrieval | server CPU ms"
    return _table(head, (cells(preset, row) for preset in PRESETS for row in rows))


def _closed(rows: Sequence[Row]) -> str:
    head = "preset | tools | callers | answers/s | p50 ms | p95 ms | p99 ms | server CPU ms an answer | client CPU ms | others"
    return _table(
        head,
        (
            [
                *(preset, f"{row['tools']:,}", str(point["callers"]), f"{point['answered_per_s']:.1f}"),
                *(_ms(point[name]) for name in ("p50_ms", "p95_ms", "p99_ms", "server_cpu_ms", "client_cpu_ms")),
                f"{point['others']:.0%}",
            ]
            for preset in PRESETS
            for row in rows
            for point in points(row, preset, "closed")
        ),
    )


def _open(rows: Sequence[Row]) -> str:
    head = "preset | tools | load | due/s | answers/s | p50 ms | p95 ms | p99 ms | sent late, p95 ms | others | refused"
    return _table(
        head,
        (
            [
                *(preset, f"{row['tools']:,}", f"{point['load']:.0%}"),
                *(f"{point['offered_per_s']:.1f}", f"{point['answered_per_s']:.1f}"),
                *(_ms(point[name]) for name in ("p50_ms", "p95_ms", "p99_ms", "late_p95_ms")),
                f"{point['others']:.0%}",
                ", ".join(f"{count} {code}" for code, count in point["refused"].items()) or "0",
            ]
            for preset in PRESETS
            for row in rows
            for point in points(row, preset, "open")
        ),
    )


def _memory(rows: Sequence[Row], floor: Row) -> str:
    least = floor["memory"]
    base = least["rss"] - least["mapped_rss"]

    def cells(tools: int, held: Mapping[str, int]) -> list[str]:
        parts = (base, held["rss"] - held["mapped_rss"] - base, held["mapped_rss"])
        return [f"{tools:,}", *map(_mb, (held["rss"], *parts, held["pss"], held["private"], held["peak_rss"]))]

    served = [(row["tools"], row["serving"]["memory"]) for row in rows]
    return _table(
        "tools | RSS | code and models | snapshot, private | snapshot, mapped files | PSS | private | peak RSS",
        [cells(tools, held) for tools, held in [(floor["tools"], least), *served]],
    )


def _bars(results: Mapping[str, Any]) -> str:
    by_bar: dict[str, list[Verdict]] = {}
    for verdict in bars(results):
        by_bar.setdefault(verdict.bar, []).append(verdict)
    return _table(
        "bar | measured | met",
        (
            [
                bar,
                "; ".join(f"{verdict.of} {verdict.measured}" for verdict in verdicts),
                "yes" if all(verdict.met for verdict in verdicts) else "**no**",
            ]
            for bar, verdicts in by_bar.items()
        ),
    )


def _table(head: str, rows: Iterable[Sequence[str]]) -> str:
    """A table; columns of numbers stand right."""
    body = [list(row) for row in rows]
    if not body:
        return "Not measured."
    right = [_NUMBER.fullmatch(cell) for cell in body[0]]
    lines = [f"| {head} |", "|" + "|".join("---:" if one else "---" for one in right) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)])


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _mb(value: float) -> str:
    return f"{value / 1e6:.0f}"
