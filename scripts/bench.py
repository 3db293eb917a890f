"""Speed and size, as ratios within one run: ``make bench``, or ``python -m scripts.bench --sizes 1000,10000``.

For catalogues of growing size it builds a snapshot and measures, each time in processes of their own:

- in process: what a request costs stage by stage, how many of the exact nearest nodes the index finds, how long loading
  takes, how much memory the snapshot adds to the models;
- over gRPC, ``egotools serve`` asked by the shipped client: a closed loop and an open loop, what answers cost stage by
  stage, what is refused, what the server holds in memory.

It prints the tables, writes them with ``results.json`` and a plot into ``--out``, and compares with the thresholds; the
exit code is 1 when one is missed. The catalogue is ``../shared/bench/scale_44k`` where it lies beside the checkout, else
every operation of botocore and google-api-python-client (extras aws and google), else what ``--catalog`` names.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from scripts.bench_sets import ROOT
from scripts.document_blocks import replace_block
from scripts.provenance import current
from scripts.run_command import run_command
from scripts.speed.builds import ENCODER, built, catalog_tools, store_of
from scripts.speed.load_client import LoadPlan
from scripts.speed.probe import PRESETS, probed
from scripts.speed.serving import measure_serving
from scripts.speed.speed_plot import write_plot
from scripts.speed.speed_queries import bench_queries
from scripts.speed.speed_results import MeasuredSize, SpeedResults, read_results, write_results
from scripts.speed.speed_tables import markdown, one_run
from scripts.speed.thresholds import verdicts
from services.server.settings import ServerSettings

SIZES = "1000,10000,44435"
PAGE, PICTURE = ROOT / "docs" / "speed.md", ROOT / "docs" / "speed.png"
_FLOOR = 10  # tools: a server over so few holds code and models and next to nothing else
_DEFAULT = LoadPlan()

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, kw_only=True)
class SpeedPlan:
    """What is measured.

    :param sizes: numbers of tools, ascending.
    :param catalog: addresses of the tools; empty for the default.
    :param reuse: take earlier builds of the same tools, with their figures.
    :param rounds: how often each request is asked in process, from 2.
    """

    sizes: tuple[int, ...]
    catalog: tuple[str, ...]
    out: Path
    reuse: bool
    rounds: int
    load: LoadPlan


def main(
    sizes: Annotated[str, typer.Option(help="numbers of tools, comma-separated")] = SIZES,
    catalog: Annotated[list[str] | None, typer.Option(help="address to read the tools from; may be repeated")] = None,
    out: Path = ROOT / "out" / "bench",
    reuse: Annotated[bool, typer.Option("--reuse", help="take earlier builds of the same tools")] = False,
    rounds: Annotated[int, typer.Option(min=2, help="how often each request is asked in process")] = 5,
    callers: Annotated[str, typer.Option(help="of each closed loop, comma-separated")] = "1,2,4,8",
    loads: Annotated[str, typer.Option(help="of each open loop: shares of the peak")] = "0.25,0.5,0.75,1,1.5",
    seconds: Annotated[float, typer.Option(help="measured time of each load")] = _DEFAULT.seconds,
    warm: Annotated[float, typer.Option(help="seconds before it that do not count")] = _DEFAULT.warm_s,
    seed: Annotated[int, typer.Option(help="of the open loops' arrivals")] = _DEFAULT.seed,
    write_docs: Annotated[bool, typer.Option("--write-docs", help="put the figures into docs/speed.md")] = False,
    no_measure: Annotated[bool, typer.Option("--no-measure", help="show the results in --out again")] = False,
) -> None:
    """Run the benchmark."""
    plan = SpeedPlan(
        sizes=_numbers("--sizes", sizes, int),
        catalog=tuple(catalog or ()),
        out=out,
        reuse=reuse,
        rounds=rounds,
        load=LoadPlan(
            callers=_numbers("--callers", callers, int),
            loads=_numbers("--loads", loads, float),
            seconds=seconds,
            warm_s=warm,
            seed=seed,
        ),
    )
    kept = out / "results.json"
    results = read_results(kept) if no_measure else measured(plan)
    write_results(kept, results)
    tables = f"{one_run(results)}\n\n{markdown(results)}"
    print(tables)
    (out / "tables.md").write_text(tables + "\n", encoding="utf-8")
    write_plot(results, out / "speed.png")
    if write_docs:
        write_plot(results, PICTURE)
        replace_block(PAGE, "measured", page_block(results))
    missed = [verdict for verdict in verdicts(results) if not verdict.met]
    for verdict in missed:
        print(f"MISSED  {verdict.threshold}: {verdict.of} {verdict.measured}")
    print("Every threshold is met." if not missed else f"{len(missed)} missed.")
    if missed:
        raise typer.Exit(1)


def measured(plan: SpeedPlan) -> SpeedResults:
    """Build, probe and serve a snapshot of each size."""
    tools = catalog_tools(plan.catalog)
    floor = built(_FLOOR, tools, plan.out, reuse=plan.reuse)
    # Long enough that every path was walked, by as many callers: what it holds then is of no snapshot.
    some = replace(plan.load, callers=plan.load.callers[-1:], loads=())
    floor_serving = measure_serving(store_of(_FLOOR, plan.out), PRESETS, some)
    sizes = []
    for size in plan.sizes:
        build = built(size, tools, plan.out, reuse=plan.reuse)
        store = store_of(size, plan.out)
        in_process = probed(store, rounds=plan.rounds)
        serving = measure_serving(store, PRESETS, plan.load)
        sizes.append(MeasuredSize(build=build, in_process=in_process, serving=serving))
        typer.echo(f"{build.tools:,} tools measured", err=True)
    settings = ServerSettings()
    return SpeedResults(
        processors=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        places=settings.workers + settings.queue,
        seconds=plan.load.seconds,
        queries={name: len(queries) for name, queries in bench_queries().items()},
        floor_tools=floor.tools,
        floor=floor_serving.memory,
        sizes=tuple(sizes),
        measured=str(current(ENCODER)),
    )


def page_block(results: SpeedResults) -> str:
    """The measured part of ``docs/speed.md``."""
    picture = f"![What a request, a build and a server cost against the number of tools]({PICTURE.name})"
    return f"{one_run(results)}\n\n{picture}\n\n{markdown(results)}"


def _numbers(option: str, text: str, kind: Callable[[str], _Number]) -> tuple[_Number, ...]:
    try:
        found = tuple(sorted({kind(part) for part in text.split(",")}))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    if not 0 < found[0] <= found[-1] < math.inf:  # NaN is in no range
        raise typer.BadParameter("each is above 0", param_hint=option)
    return found


if __name__ == "__main__":
    run_command(main)
