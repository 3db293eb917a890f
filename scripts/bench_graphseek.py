"""Speed of GraphSeek, as ratios within one run: ``python -m scripts.bench_graphseek``; part of ``make bench``.

The EV graph and the tool graph are generated and loaded first, into ``--out``. The exit code is 1 when a bound is missed. ``--write-docs``
puts the figures into ``docs/graphseek.json`` and the table into ``docs/graphseek.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path

from scripts.account.figures import keep_section
from scripts.account.ratio import Ratio
from scripts.bench_sets import ROOT
from scripts.graphseek.account_graph import ev_file, ev_graph, open_account_graph
from scripts.graphseek.graphseek_page import FIGURES, write_page
from scripts.graphseek.operator_speed import growth_ratios, operator_ratios, overhead_ratio
from scripts.graphseek.store_speed import census_ratio, loading_ratios, memory_ratio

__all__ = ["measured"]

_SIZE = 1.0
"""Of the EV graph: that of the paper's."""


async def measured(folder: Path, graphs: Path, *, rounds: int, scales: tuple[float, float]) -> list[Ratio]:
    """Measure every ratio.

    :param folder: for what is made anew.
    :param graphs: for the EV graphs, which are made once.
    :param scales: of the two graphs between which growth is measured.
    """
    path, questions = ev_file(graphs, _SIZE)
    stores = [*loading_ratios(folder, _SIZE), memory_ratio(path), await census_ratio(folder)]
    async with open_account_graph("ev", path, questions) as graph:
        operators = [await overhead_ratio(graph, rounds), *await operator_ratios(graph, rounds)]
    async with AsyncExitStack() as stack:
        small, large = [
            await stack.enter_async_context(open_account_graph("ev", ev_graph(graphs, each))) for each in scales
        ]
        growth = await growth_ratios(small, large, rounds, f"from {scales[0]:g} × to {scales[1]:g} ×")
    return [*operators, *growth, *stores]


def main() -> None:
    """Print the ratios and compare them with their bounds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7, help="of each measurement, of which the median counts")
    options.add_argument("--scales", default="1,10", help="sizes of the EV graph between which growth is measured")
    options.add_argument("--out", type=Path, default=ROOT / "out" / "graphseek" / "graphs")
    options.add_argument("--write-docs", action="store_true", help="put the figures into the page")
    chosen = options.parse_args()
    small, large = map(float, chosen.scales.split(","))
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder), chosen.out, rounds=chosen.rounds, scales=(small, large)))
    for each in found:
        print(f"{'' if each.met else 'MISSED  '}{each.name}: {each.value:.2f} ≤ {each.most:g} {each.note}")
    if chosen.write_docs:
        keep_section("speed", [{**asdict(each), "met": each.met} for each in found], FIGURES)
        write_page()
    if not all(each.met for each in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
