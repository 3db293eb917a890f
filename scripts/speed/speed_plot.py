"""The picture: what a request, a build and a server cost against the number of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ontology.errors import MissingExtraError
from scripts.speed.probe import PRESETS
from scripts.speed.speed_results import MeasuredSize, SpeedResults
from scripts.speed.speed_tables import STAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "write_plot"]

_SHOWN = "default"  # the preset of the panels on load
# Colours that are told apart by people who see few of them, from dark to light.
_COLOURS = ("#332288", "#117733", "#44aa99", "#88ccee", "#ddcc77", "#cc6677")


def write_plot(results: SpeedResults, path: Path) -> Path:
    """Write the picture as PNG; the same results give the same picture.

    :raises MissingExtraError: without matplotlib.
    """
    draw(results).savefig(path, dpi=100, metadata={"Software": None})
    return path


def draw(results: SpeedResults) -> Figure:
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
    panels: list[Callable[[Axes, SpeedResults], None]] = [
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
        axes.legend(frameon=False, fontsize="small", ncols=2 if axes.patches else 1)
    return figure


def _stages(preset: str) -> Callable[[Axes, SpeedResults], None]:
    def panel(axes: Axes, results: SpeedResults) -> None:
        spent = [size.serving.one_caller(preset).stages_ms for size in results.sizes]
        series = {stage: [ms.get(stage, 0.0) for ms in spent] for stage in STAGES}
        series["rest of the round trip"] = [ms["queue"] + ms["rest"] for ms in spent]
        _stacked(axes, results.sizes, series)
        axes.set(title=f"One request over gRPC, preset {preset}", ylabel="median ms, by stage")

    return panel


def _building(axes: Axes, results: SpeedResults) -> None:
    builds = [size.build for size in results.sizes]
    embedding = [build.seconds["encode"] for build in builds]
    other = [max(0.0, build.build_s - spent) for build, spent in zip(builds, embedding, strict=True)]
    _stacked(axes, results.sizes, {"embedding": embedding, "everything else": other})
    axes.set(title="Building a snapshot", ylabel="seconds")


def _memory(axes: Axes, results: SpeedResults) -> None:
    base = (results.floor.rss - results.floor.mapped_rss) / 1e6
    held = [size.serving.memory for size in results.sizes]
    own = [max(0.0, (one.rss - one.mapped_rss) / 1e6 - base) for one in held]
    files = [one.mapped_rss / 1e6 for one in held]
    series = {"code and models": [base] * len(held), "snapshot, private": own, "snapshot, mapped files": files}
    _stacked(axes, results.sizes, series)
    axes.set(title="Memory of the server (RSS)", ylabel="MB")


def _latency_under_load(axes: Axes, results: SpeedResults) -> None:
    for size, colour in zip(results.sizes, _COLOURS, strict=False):
        points = [point for point in size.serving.loop(_SHOWN, "open") if point.p50_ms and point.p95_ms]
        loads = [point.load * 100 for point in points]
        for name, style, values in (
            ("p50", "--", [point.p50_ms or 0.0 for point in points]),
            ("p95", "-", [point.p95_ms or 0.0 for point in points]),
        ):
            axes.plot(loads, values, style, marker="o", ms=3, color=colour, label=f"{size.tools:,} tools, {name}")
    axes.set(
        title=f"Open loop, preset {_SHOWN}",
        xlabel="arrivals, % of the closed loop's peak",
        ylabel="ms from the moment due",
        yscale="log",
    )


def _throughput(axes: Axes, results: SpeedResults) -> None:
    for size, colour in zip(results.sizes, _COLOURS, strict=False):
        closed = size.serving.loop(_SHOWN, "closed")
        callers, answers = [point.callers for point in closed], [point.answered_per_s for point in closed]
        axes.plot(callers, answers, marker="o", ms=3, color=colour, label=f"{size.tools:,} tools")
    axes.set(title=f"Closed loop, preset {_SHOWN}", xlabel="callers", ylabel="answers a second")
    axes.set_ylim(bottom=0)


def _stacked(axes: Axes, sizes: Sequence[MeasuredSize], series: Mapping[str, list[float]]) -> None:
    names = [f"{size.tools:,}" for size in sizes]
    below = [0.0] * len(names)
    for (label, values), colour in zip(series.items(), _COLOURS, strict=False):
        axes.bar(names, values, 0.6, bottom=below, label=label, color=colour)
        below = [under + value for under, value in zip(below, values, strict=True)]
    axes.set_xlabel("tools")
    axes.set_ylim(top=max(below) * 1.4)  # room for the legend
