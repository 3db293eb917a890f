"""The picture: what a request, a build and a server cost against the number of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ontology.errors import MissingExtraError
from scripts.speed.probe import PRESETS
from scripts.speed.result_rows import alone, points
from scripts.speed.speed_tables import STAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "write_plot"]

Results = Mapping[str, Any]
_SHOWN = "default"  # the preset of the panels on load
# Colours that people who see few of them tell apart, from dark to light.
_COLOURS = ("#332288", "#117733", "#44aa99", "#88ccee", "#ddcc77", "#cc6677")


def write_plot(results: Results, path: Path) -> Path:
    """Write the picture as PNG; the same results give the same picture.

    :raises MissingExtraError: without matplotlib.
    """
    draw(results).savefig(path, dpi=100, metadata={"Software": None})
    return path


def draw(results: Results) -> Figure:
    """The picture: each stage of a request for both presets, building and memory against tools; the default under load.

    :raises MissingExtraError: without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("plots", extra="eval") from error
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    panels: list[Callable[[Axes, Results], None]] = [
        *(_stages(preset) for preset in PRESETS),
        _latency_under_load,
        _building,
        _memory,
        _throughput,
    ]
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(2, 3, place)
        panel(axes, results)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _stages(preset: str) -> Callable[[Axes, Results], None]:
    def panel(axes: Axes, results: Results) -> None:
        alones = [alone(row, preset)["stages_ms"] for row in results["rows"]]
        series = {stage: [ms.get(stage, 0.0) for ms in alones] for stage in STAGES}
        series["rest of the round trip"] = [ms["queue"] + ms["rest"] for ms in alones]
        _stacked(axes, _sizes(results), series)
        axes.set(title=f"One request over gRPC, preset {preset}", ylabel="median ms, by stage")

    return panel


def _building(axes: Axes, results: Results) -> None:
    rows = results["rows"]
    embedding = [row["seconds"]["encode"] for row in rows]
    other = [max(0.0, row["build_s"] - spent) for row, spent in zip(rows, embedding, strict=True)]
    _stacked(axes, _sizes(results), {"embedding": embedding, "everything else": other})
    axes.set(title="Building a snapshot", ylabel="seconds")


def _memory(axes: Axes, results: Results) -> None:
    floor = results["floor"]["memory"]
    base = (floor["rss"] - floor["mapped_rss"]) / 1e6
    held = [row["serving"]["memory"] for row in results["rows"]]
    own = [max(0.0, (one["rss"] - one["mapped_rss"]) / 1e6 - base) for one in held]
    files = [one["mapped_rss"] / 1e6 for one in held]
    series = {"code and models": [base] * len(held), "snapshot, private": own, "snapshot, mapped files": files}
    _stacked(axes, _sizes(results), series)
    axes.set(title="Memory of the server (RSS)", ylabel="MB")


def _latency_under_load(axes: Axes, results: Results) -> None:
    for row, colour in zip(results["rows"], _COLOURS, strict=False):
        for name, style in (("p50_ms", "--"), ("p95_ms", "-")):
            said = [(point["load"] * 100, point[name]) for point in points(row, _SHOWN, "open") if point[name]]
            loads, values = [load for load, _ in said], [value for _, value in said]
            label = f"{row['tools']:,} tools, {name.removesuffix('_ms')}"
            axes.plot(loads, values, style, marker="o", markersize=3, color=colour, label=label)
    axes.set(
        title=f"Open loop, preset {_SHOWN}",
        xlabel="arrivals, % of the closed loop's peak",
        ylabel="ms from the moment due",
        yscale="log",
    )
    axes.legend(frameon=False, fontsize="small")


def _throughput(axes: Axes, results: Results) -> None:
    for row, colour in zip(results["rows"], _COLOURS, strict=False):
        closed = points(row, _SHOWN, "closed")
        callers, answers = [point["callers"] for point in closed], [point["answered_per_s"] for point in closed]
        axes.plot(callers, answers, marker="o", markersize=3, color=colour, label=f"{row['tools']:,} tools")
    axes.set(title=f"Closed loop, preset {_SHOWN}", xlabel="callers", ylabel="answers a second")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize="small")


def _stacked(axes: Axes, names: list[str], series: Mapping[str, list[float]]) -> None:
    below = [0.0] * len(names)
    for (label, values), colour in zip(series.items(), _COLOURS, strict=False):
        axes.bar(names, values, 0.6, bottom=below, label=label, color=colour)
        below = [under + value for under, value in zip(below, values, strict=True)]
    axes.set_xlabel("tools")
    axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper left")
    axes.set_ylim(top=max(below) * 1.4)  # room for the legend


def _sizes(results: Results) -> list[str]:
    return [f"{row['tools']:,}" for row in results["rows"]]
