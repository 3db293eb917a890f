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

from scripts.bench_sets import ROOT
from scripts.graphseek.account_graph import ev_file, open_account_graph
from scripts.graphseek.graphseek_page import FIGURES, write_page
from scripts.graphseek.operator_speed import growth_ratios, operator_ratios, overhead_ratio
from scripts.graphseek.store_speed import census_ratio, loading_ratios, memory_ratio
from scripts.kgot.graph_speed import Ratio
from scripts.kgot.kgot_page import keep_section

__all__ = ["measured"]

_LARGE = 1.0
_SMALL = 0.1


async def measured(folder: Path, graphs: Path, *, rounds: int, tenfold: bool) -> list[Ratio]:
    """Measure every ratio.

    :param folder: for what is made anew.
    :param graphs: for the EV graphs, which are made once.
    :param tenfold: growth is measured up to ten times the paper's graph, else up to the paper's from a tenth of it.
    """
    path, questions = ev_file(graphs, _LARGE)
    ratios = [*loading_ratios(folder, _LARGE), memory_ratio(path), await census_ratio(folder)]
    async with AsyncExitStack() as stack:
        large = await stack.enter_async_context(open_account_graph("ev", path, questions))
        other, asked = ev_file(graphs, 10 * _LARGE if tenfold else _SMALL)
        beside = await stack.enter_async_context(open_account_graph("ev", other, asked))
        small, grown = (large, beside) if tenfold else (beside, large)
        note = "from 1 × to 10 ×" if tenfold else "from 0.1 × to 1 ×"
        ratios = [
            await overhead_ratio(large, rounds),
            *await operator_ratios(large, rounds),
            *await growth_ratios(small, grown, rounds, note),
            *ratios,
        ]
    return ratios


def main() -> None:
    """Print the ratios and compare them with their bounds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=7, help="of each measurement, of which the median counts")
    options.add_argument("--tenfold", action="store_true", help="measure growth on ten times the paper's graph too")
    options.add_argument("--out", type=Path, default=ROOT / "out" / "graphseek" / "graphs")
    options.add_argument("--write-docs", action="store_true", help="put the figures into the page")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measured(Path(folder), chosen.out, rounds=chosen.rounds, tenfold=chosen.tenfold))
    for each in found:
        print(f"{'' if each.met else 'MISSED  '}{each.name}: {each.value:.2f} ≤ {each.most:g} {each.note}")
    if chosen.write_docs:
        keep_section("speed", [{**asdict(each), "met": each.met} for each in found], FIGURES)
        write_page()
    if not all(each.met for each in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
