"""The figures as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from scripts.speed.probe import PRESETS
from scripts.speed.speed_results import MeasuredSize, Memory, Point, SpeedResults
from scripts.speed.thresholds import Verdict, verdicts

__all__ = ["STAGES", "markdown", "one_run"]

_NUMBER = re.compile(r"-?[\d,.]+%?|–")
_SHARED = 0.1  # share of the processors that other programs took, from which on the text names it
STAGES = ("encode", "entry", "ego", "rank", "explain")


def one_run(results: SpeedResults) -> str:
    """Where the figures come from, one paragraph."""
    asked = results.queries
    open_sets = sum(asked.values()) - asked["enterprise"]
    text = (
        f"All figures come from one run, on {results.processors} processors that client and server share, with "
        f"{sum(asked.values())} different requests ({asked['enterprise']} of `examples/enterprise`"
        + (f", {open_sets} of {len(asked) - 1} open sets" if open_sets else "")
        + f") and {results.seconds:g} s a load."
        + (f" Measured with {results.measured}." if results.measured else "")
    )
    reused = [f"{size.tools:,}" for size in results.sizes if size.build.reused]
    if reused:
        text += f" Taken from an earlier run: the snapshots of {', '.join(reused)} tools, and what building them took."
    others = max(point.others for size in results.sizes for of in size.serving.points.values() for point in of)
    if others > _SHARED:
        text += f" The machine was shared: other programs took up to {others:.0%} of its processors meanwhile."
    return text


def markdown(results: SpeedResults) -> str:
    """Every table under its heading, and the thresholds."""
    sizes = results.sizes
    parts = [
        ("Building and loading", _building(sizes)),
        ("One request in process: median ms, k = 10, with reasons", _in_process(sizes)),
        ("One request over gRPC, one caller: median ms as the answers report them", _one_caller(sizes)),
        ("Closed loop: every caller waits for its answer", _closed(sizes)),
        ("Open loop: Poisson arrivals, latency from the moment a request was due", _open(sizes)),
        ("Memory of the server after the load, MB", _memory(results)),
        ("Thresholds", _thresholds(results)),
    ]
    return "\n\n".join(f"### {title}\n\n{table}" for title, table in parts)


def _building(sizes: Sequence[MeasuredSize]) -> str:
    def cells(size: MeasuredSize) -> list[str]:
        build, figures = size.build, size.in_process
        counts = [f"{count:,}" for count in (build.tools, build.nodes, build.edges)]
        spent = [f"{build.build_s:.0f}", f"{build.seconds['encode']:.0f}", f"{figures.load_s:.2f}"]
        held = [_mb(figures.resident_bytes), _mb(figures.snapshot_bytes), f"{figures.recall:.4f}"]
        return [f"`{build.snapshot_id}`", *counts, *spent, *held]

    head = "tools | nodes | edges | build s | of it embedding | load s | MB in memory | MB on disk | index recall@10"
    return _table(f"snapshot | {head}", map(cells, sizes))


def _in_process(sizes: Sequence[MeasuredSize]) -> str:
    def cells(preset: str, size: MeasuredSize) -> list[str]:
        median = size.in_process.median_ms[preset]
        stages = [_ms(median.get(stage, 0.0)) for stage in (*STAGES, "total")]
        return [preset, f"{size.tools:,}", *stages, _ms(size.in_process.p95_ms[preset]["total"])]

    head = f"preset | tools | {' | '.join(STAGES)} | total p50 | total p95"
    return _table(head, (cells(preset, size) for preset in PRESETS for size in sizes))


def _one_caller(sizes: Sequence[MeasuredSize]) -> str:
    def cells(preset: str, size: MeasuredSize) -> list[str]:
        point = size.serving.one_caller(preset)
        stages = [_ms(point.stages_ms.get(stage, 0.0)) for stage in (*STAGES, "queue", "rest")]
        round_trip = [_ms(point.p50_ms), _ms(point.p95_ms), f"{size.serving.overhead(preset):.2f}"]
        return [preset, f"{size.tools:,}", *stages, *round_trip, _ms(point.server_cpu_ms)]

    head = f"preset | tools | {' | '.join(STAGES)} | queue | rest | round trip p50 | p95 | x retrieval | server CPU ms"
    return _table(head, (cells(preset, size) for preset in PRESETS for size in sizes))


def _loads(sizes: Sequence[MeasuredSize], loop: str) -> Iterator[tuple[list[str], Point]]:
    """The first cells of each load, and the load."""
    for preset in PRESETS:
        for size in sizes:
            for point in size.serving.loop(preset, loop):
                yield [preset, f"{size.tools:,}"], point


def _closed(sizes: Sequence[MeasuredSize]) -> str:
    def cells(point: Point) -> list[str]:
        spent = (point.p50_ms, point.p95_ms, point.p99_ms, point.server_cpu_ms, point.client_cpu_ms)
        return [str(point.callers), f"{point.answered_per_s:.1f}", *map(_ms, spent), f"{point.others:.0%}"]

    head = "callers | answers/s | p50 ms | p95 ms | p99 ms | server CPU ms an answer | client CPU ms | others"
    return _table(f"preset | tools | {head}", ([*names, *cells(point)] for names, point in _loads(sizes, "closed")))


def _open(sizes: Sequence[MeasuredSize]) -> str:
    def cells(point: Point) -> list[str]:
        rates = [f"{point.load:.0%}", f"{point.offered_per_s:.1f}", f"{point.answered_per_s:.1f}"]
        spent = map(_ms, (point.p50_ms, point.p95_ms, point.p99_ms, point.late_p95_ms))
        refused = ", ".join(f"{count} {code}" for code, count in point.refused.items()) or "0"
        return [*rates, *spent, f"{point.others:.0%}", refused]

    head = "load | due/s | answers/s | p50 ms | p95 ms | p99 ms | sent late, p95 ms | others | refused"
    return _table(f"preset | tools | {head}", ([*names, *cells(point)] for names, point in _loads(sizes, "open")))


def _memory(results: SpeedResults) -> str:
    base = results.floor.rss - results.floor.mapped_rss

    def cells(tools: int, held: Memory) -> list[str]:
        parts = (base, held.rss - held.mapped_rss - base, held.mapped_rss)
        return [f"{tools:,}", *map(_mb, (held.rss, *parts, held.pss, held.private, held.peak_rss))]

    served = [(size.tools, size.serving.memory) for size in results.sizes]
    return _table(
        "tools | RSS | code and models | snapshot, private | snapshot, mapped files | PSS | private | peak RSS",
        (cells(tools, held) for tools, held in [(results.floor_tools, results.floor), *served]),
    )


def _thresholds(results: SpeedResults) -> str:
    by_threshold: dict[str, list[Verdict]] = {}
    for verdict in verdicts(results):
        by_threshold.setdefault(verdict.threshold, []).append(verdict)
    rows = (
        [threshold, "; ".join(f"{one.of} {one.measured}" for one in found), "yes" if _all_met(found) else "**no**"]
        for threshold, found in by_threshold.items()
    )
    return _table("threshold | measured | met", rows)


def _all_met(found: Sequence[Verdict]) -> bool:
    return all(verdict.met for verdict in found)


def _table(head: str, rows: Iterable[Sequence[str]]) -> str:
    """A table; columns of numbers are right-aligned."""
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
