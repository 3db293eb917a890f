"""Cost a request and a tool, and the simulation beside the measurement: ``python -m scripts.scale [--write-docs]``.

All that was measured is read from ``docs/speed.md`` (``make bench``); the tables go into ``docs/scale.md``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scripts.document_blocks import replace_block
from scripts.scale.queueing import ServiceTime, Simulated, quantile, simulate

__all__ = ["costs", "main", "predictions"]

_DOCS = Path(__file__).resolve().parents[2] / "docs"
_SEEDS = range(20)
_FITTED = ("default", 1_000)
_WORKERS = 2  # of the measured machine


def _table(heading: str) -> list[list[str]]:
    """The rows of the table under a heading of docs/speed.md."""
    text = (_DOCS / "speed.md").read_text(encoding="utf-8")
    part = text.partition(f"### {heading}")[2].partition("\n### ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    return rows[2:]


def _number(cell: str) -> float:
    return float(re.sub(r"[,%]", "", cell.split()[0]))


@dataclass(frozen=True, slots=True)
class _Point:
    """One load of the open loop, as measured."""

    preset: str
    tools: int
    load: str
    due_per_s: float
    answers_per_s: float
    p50_ms: float
    p95_ms: float


def _points() -> list[_Point]:
    rows = _table("Open loop")
    return [_Point(row[0], int(_number(row[1])), row[2], *map(_number, row[3:7])) for row in rows]


@dataclass(frozen=True, slots=True)
class _Alone:
    """What one caller of a closed loop met, and the peak of several."""

    service: ServiceTime
    answers_per_s: float
    peak_per_s: float


def _closed() -> dict[tuple[str, int], _Alone]:
    found: dict[tuple[str, int], list[list[str]]] = {}
    for row in _table("Closed loop"):
        found.setdefault((row[0], int(_number(row[1]))), []).append(row)
    return {
        key: _Alone(
            ServiceTime(median_ms=_number(rows[0][4]), p95_ms=_number(rows[0][5])),
            _number(rows[0][3]),
            max(_number(row[3]) for row in rows),
        )
        for key, rows in found.items()
    }


def _typical(service: ServiceTime, due_per_s: float, together: float) -> Simulated:
    runs = [simulate(service, rate_per_s=due_per_s, together=together, workers=_WORKERS, seed=seed) for seed in _SEEDS]
    return Simulated(
        answers_per_s=median(run.answers_per_s for run in runs),
        p50_ms=median(run.p50_ms for run in runs),
        p95_ms=median(run.p95_ms for run in runs),
        refused=int(median(run.refused for run in runs)),
    )


def predictions() -> str:
    """The table of the open loops: measured, simulated, and two naive predictions; then the errors of each."""
    closed = _closed()
    fitted = closed[_FITTED]
    together = fitted.peak_per_s / (_WORKERS * fitted.answers_per_s)
    lines = [
        f"Fitted on `{_FITTED[0]}` with {_FITTED[1]:,} tools: two busy workers each run at {together:.2f} of the speed of one.",
        "",
        "| preset | tools | load | answers/s: measured | simulated | min(offered, peak) | p50 ms: measured | simulated | constant | "
        "p95 ms: measured | simulated | constant |",
        f"|---|---{'|---:' * 10}|",
    ]
    errors: dict[str, list[float]] = {}
    for point in _points():
        alone = closed[point.preset, point.tools]
        made = _typical(alone.service, point.due_per_s, together)
        naive = min(point.due_per_s, alone.peak_per_s)
        own = (point.preset, point.tools) == _FITTED
        shown = f"{point.preset}{' (fitted on it)' if own else ''}"
        lines.append(
            f"| {shown} | {point.tools:,} | {point.load} | {point.answers_per_s:.0f} | {made.answers_per_s:.0f} | {naive:.0f} | "
            f"{point.p50_ms:.0f} | {made.p50_ms:.0f} | {alone.service.median_ms:.0f} | "
            f"{point.p95_ms:.0f} | {made.p95_ms:.0f} | {alone.service.p95_ms:.0f} |"
        )
        if own:
            continue
        for name, real, simulated, plain in (
            ("answers/s", point.answers_per_s, made.answers_per_s, naive),
            ("p50", point.p50_ms, made.p50_ms, alone.service.median_ms),
            ("p95", point.p95_ms, made.p95_ms, alone.service.p95_ms),
        ):
            errors.setdefault(f"{name}|simulated", []).append(abs(simulated - real) / real)
            errors.setdefault(f"{name}|naive", []).append(abs(plain - real) / real)
    lines += ["", "| error on the loads that nothing was fitted on | median | largest |", "|---|---:|---:|"]
    for name, found in errors.items():
        lines.append(f"| {name.replace('|', ', ')} | {quantile(found, 0.5):.0%} | {max(found):.0%} |")
    return "\n".join(lines)


def costs() -> str:
    """The table of costs: processor time a request; bytes and build time a tool, each as the growth between two catalogues."""
    requests = {
        (row[0], int(_number(row[1]))): _number(row[12])
        for row in _table("One request over gRPC")
        if row[0] == "default"
    }
    memory = {int(_number(row[0])): row for row in _table("Memory of the server")}
    page = (_DOCS / "speed.md").read_text(encoding="utf-8")
    builds = {
        int(_number(row[1])): row
        for row in (
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in page.splitlines()
            if line.startswith("| `")
        )
    }
    few, many = 1_000, 44_435
    grown = many - few

    def slope(rows: dict[int, list[str]], column: int, unit: float) -> float:
        return (_number(rows[many][column]) - _number(rows[few][column])) * unit / grown

    lines = [
        "| cost | |",
        "|---|---:|",
        *(f"| processor ms a request, {tools:,} tools | {ms:.1f} |" for (_, tools), ms in sorted(requests.items())),
        f"| bytes a tool of memory that no file backs | {slope(memory, 3, 1e6):,.0f} |",
        f"| bytes a tool of mapped files, shared by all servers of a machine | {slope(memory, 4, 1e6):,.0f} |",
        f"| bytes a tool on disk | {slope(builds, 8, 1e6):,.0f} |",
        f"| ms a tool of building | {slope(builds, 4, 1e3):.1f} |",
        f"| of it encoding | {slope(builds, 5, 1e3):.1f} |",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Print the tables, or write them into the page."""
    blocks = {"costs": costs(), "predictions": predictions()}
    if "--write-docs" in arguments:
        for name, block in blocks.items():
            replace_block(_DOCS / "scale.md", name, block)
    else:
        print("\n\n".join(blocks.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
