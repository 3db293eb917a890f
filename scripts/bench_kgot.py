"""Speed of the task graph, as ratios within one run: ``python -m scripts.bench_kgot``; part of ``make bench``.

Latency of models and tools is simulated: a scripted model answers after 500 ms. The exit code is 1 when a bound is missed. ``--write-docs``
puts the figures into ``benchmarks/notes/kgot.json`` and the table into ``benchmarks/notes/kgot.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from scripts.account.figures import keep_section
from scripts.account.ratio import Ratio
from scripts.kgot.graph_speed import graph_ratios, journal_ratio, sandbox_ratio
from scripts.kgot.kgot_page import FIGURES, write_page
from scripts.kgot.run_speed import run_ratios

__all__ = ["measured"]


def measured(folder: Path) -> list[Ratio]:
    """Measure every ratio.

    :param folder: for journals.
    """

    async def ratios() -> list[Ratio]:
        return [*await graph_ratios(folder), *await run_ratios(), await sandbox_ratio()]

    return [*asyncio.run(ratios()), journal_ratio(folder)]


def main() -> None:
    """Print the ratios and compare them with their bounds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--write-docs",
        action="store_true",
        help="put the figures into benchmarks/notes/kgot.json and benchmarks/notes/kgot.md",
    )
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder))
    for each in found:
        sign = "≥" if each.at_least else "≤"
        print(f"{'' if each.met else 'MISSED  '}{each.name}: {each.value:.2f} {sign} {each.most:g} {each.note}")
    if chosen.write_docs:
        keep_section("speed", [{**asdict(each), "met": each.met} for each in found], FIGURES)
        write_page()
    if not all(each.met for each in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
