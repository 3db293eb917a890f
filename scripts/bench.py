"""Speed and size, as ratios within one run: ``make bench``, or ``python -m scripts.bench --sizes 1000,10000``.

For catalogues of growing size it builds a snapshot and measures, each time in processes of their own:

- in process: what a request costs stage by stage, how many of the exact nearest nodes the index finds, how long loading
  takes, how much memory the snapshot adds to the models;
- over gRPC, ``egotools serve`` asked by the shipped client: a closed loop and an open loop, what answers cost stage by
  stage, what is refused, what the server holds in memory.

It prints the tables, writes them with ``results.json`` and a plot into ``--out``, and checks the bars; the exit code is 1
when one is missed. The catalogue is ``../shared/bench/scale_44k`` where it lies beside the checkout, else every operation
of botocore and google-api-python-client (extras aws and google), else what ``--catalog`` names.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ontology.errors import EgotoolsError, NotFoundError
from scripts.bench_sets import ROOT
from scripts.speed.builds import built, catalog_tools, store_of
from scripts.speed.load_client import LoadPlan
from scripts.speed.probe import PRESETS, probed
from scripts.speed.serving import measure_serving
from scripts.speed.speed_page import block, write_block
from scripts.speed.speed_plot import write_plot
from scripts.speed.speed_queries import bench_queries
from scripts.speed.speed_tables import markdown, one_run
from scripts.speed.thresholds import bars
from services.server.settings import ServerSettings

SIZES = (1_000, 10_000, 44_435)
PAGE, PICTURE = ROOT / "docs" / "speed.md", ROOT / "docs" / "speed.png"
_FLOOR = 10  # tools: a server over so few holds code and models and next to nothing else


def main() -> int:
    """Run the benchmark; returns the exit code."""
    options = _options()
    kept: Path = options.out / "results.json"
    try:
        if options.no_measure:
            results = _kept(kept)
        else:
            results = measured(options)
            kept.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        shown = f"{one_run(results)}\n\n{markdown(results)}"
        print(shown)
        (options.out / "tables.md").write_text(shown + "\n", encoding="utf-8")
        write_plot(results, options.out / "speed.png")
        if options.write_docs:
            write_plot(results, PICTURE)
            write_block(PAGE, block(results, plot=PICTURE.name))
    except EgotoolsError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    missed = [verdict for verdict in bars(results) if not verdict.met]
    for verdict in missed:
        print(f"MISSED  {verdict.bar}: {verdict.of} {verdict.measured}")
    print("Every bar is met." if not missed else f"{len(missed)} missed.")
    return 1 if missed else 0


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Build, probe and serve a snapshot of each size."""
    plan = LoadPlan(
        callers=options.callers,
        loads=options.loads,
        seconds=options.seconds,
        warm_s=options.warm,
        seed=options.seed,
    )
    out, reuse = options.out, options.reuse
    tools = catalog_tools(options.catalog)
    floor = built(_FLOOR, tools, out, reuse=reuse)
    # Long enough that every path was walked, by as many callers: what it holds then is no snapshot's.
    some = replace(plan, callers=plan.callers[-1:], loads=())
    held = measure_serving(store_of(_FLOOR, out), PRESETS, some)["memory"]
    rows = []
    for size in options.sizes:
        row = built(size, tools, out, reuse=reuse)
        store = store_of(size, out)
        in_process = probed(store, rounds=options.rounds)
        rows.append({**row, **in_process, "serving": measure_serving(store, PRESETS, plan)})
        _say(f"{row['tools']:,} tools measured")
    settings = ServerSettings()
    return {
        "processors": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "places": settings.workers + settings.queue,
        "seconds": plan.seconds,
        "queries": {name: len(queries) for name, queries in bench_queries().items()},
        "floor": {"tools": floor["tools"], "memory": held},
        "rows": rows,
    }


def _options() -> argparse.Namespace:
    plan = LoadPlan()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=_counts, default=SIZES, help="numbers of tools, comma-separated")
    parser.add_argument("--catalog", nargs="*", help="addresses to read the tools from")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench")
    parser.add_argument(
        "--reuse", action="store_true", help="take earlier builds of the same tools, with their figures"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each request is asked in process, from 2")
    parser.add_argument("--callers", type=_counts, default=plan.callers, help="of each closed loop, comma-separated")
    parser.add_argument("--loads", type=_shares, default=plan.loads, help="of each open loop: shares of the peak")
    parser.add_argument("--seconds", type=float, default=plan.seconds, help="measured time of each load")
    parser.add_argument("--warm", type=float, default=plan.warm_s, help="seconds before it that do not count")
    parser.add_argument("--seed", type=int, default=plan.seed, help="of the open loops' arrivals")
    parser.add_argument("--write-docs", action="store_true", help=f"renew the figures of {PAGE.relative_to(ROOT)}")
    parser.add_argument("--no-measure", action="store_true", help="show the results that --out holds once more")
    return parser.parse_args()


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(sorted({int(count) for count in text.split(",")}))
    if counts[0] < 1:
        raise argparse.ArgumentTypeError("each is at least 1")
    return counts


def _shares(text: str) -> tuple[float, ...]:
    shares = tuple(sorted({float(share) for share in text.split(",")}))
    if not 0 < shares[0] <= shares[-1] < math.inf:
        raise argparse.ArgumentTypeError("each is above 0")
    return shares


def _kept(path: Path) -> dict[str, Any]:
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    if not isinstance(results, dict):  # a list is the form that an earlier version wrote
        raise NotFoundError("nothing was measured yet", subject=str(path), remedy="Run it without --no-measure")
    return results


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
