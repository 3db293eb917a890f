"""Does another lever than the weights pay: ``python -m research.tune_levers [--sets NAME,…] [--out FOLDER]``.

Each lever is learned from the generated requests of a catalogue alone, and judged on its hand-made ones; with ``--held-out`` on the generated
requests of other paths. Levers were chosen on the development sets. The sets that judge (:data:`research.tune_pays.JUDGED`) were then
ranked with the chosen one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from eval.queries import read_queries
from eval.tuning.labels import folds
from research.tune_levers.kept_requests import Catalogue, Kept, read_catalogue
from research.tune_levers.levers import Lever, companions, mapped, prior
from research.tune_pays import CUTOFFS, build_store, generated_requests
from research.unseen.differences import Difference, complete, difference
from retrieval.ranking.ranking import Ranking
from scripts.bench_sets import ROOT, bench_sets
from scripts.run_command import run_command
from services.threads import pin_threads

__all__ = ["DEVELOPMENT", "TRIED", "completed_at", "held_out_ranks"]

DEVELOPMENT = ("apibank", "gtc", "tau2_service", "toollens", "toolsandbox", "ultratool")
"""Sets on which levers were chosen. Of tooltalk, taskbench, metatool and toollinkos hardly any requests are generated."""
_NEVER = np.iinfo(np.int64).max
_FOLDS = 5
TRIED: dict[str, Lever] = {
    **{
        f"prior{' of steps' * steps}, ridge {ridge:g}, weight {weight:g}": prior(
            ridge=ridge, weight=weight, steps=steps
        )
        for steps in (False, True)
        for ridge in (4.0, 16.0)
        for weight in (0.25, 0.5)
    },
    **{
        f"companions{' of steps' * steps}, pseudo-count {pseudo:g}, added {weight:g}": companions(
            pseudo=pseudo, steps=steps, weight=weight
        )
        for steps in (False, True)
        for pseudo in (1.0, 4.0)
        for weight in (0.3, 1.0)
    },
    **{
        f"companions{' of steps' * steps}, pseudo-count {pseudo:g}, placed {cost:g} below": companions(
            pseudo=pseudo, steps=steps, cost=cost
        )
        for steps in (False, True)
        for pseudo in (1.0, 4.0)
        for cost in (0.3, 1.0)
    },
    **{f"map, ridge {ridge:g}": mapped(ridge=ridge) for ridge in (3.0, 10.0, 30.0, 100.0, 1000.0)},
    **{f"map against 5 others, ridge {ridge:g}": mapped(ridge=ridge, contrast=5) for ridge in (10.0, 100.0, 1000.0)},
    **{f"map of tools, ridge {ridge:g}": mapped(ridge=ridge, tools=True) for ridge in (1.0, 3.0, 10.0, 30.0, 100.0)},
}
"""Name → lever. Factors of two and more lie between the constants: the sets cannot tell finer."""


def main(
    sets: Annotated[str, typer.Option(help="only these, with commas")] = ",".join(DEVELOPMENT),
    levers: Annotated[
        list[str] | None, typer.Option("--lever", help="only those whose name begins so; repeatable")
    ] = None,
    per_class: Annotated[int, typer.Option(help="generated requests of each class")] = 50,
    most: Annotated[
        int, typer.Option(help="hand-made requests of a set, chosen by the hash of their ids; 0: all")
    ] = 150,
    held_out: Annotated[
        bool, typer.Option(help="judge on generated requests of other paths than those learned from")
    ] = False,
    out: Annotated[Path, typer.Option(help="snapshots, requests and candidates")] = ROOT / "out" / "tune-pays",
) -> None:
    """Learn each lever, and print what it changes."""
    pin_threads()
    print(
        "CompleteRecall @3 / @5 / @10; differences in points with paired 95 % bootstrap intervals over requests.",
        flush=True,
    )
    tried = {name: lever for name, lever in TRIED.items() if name.startswith(tuple(levers or [""]))}
    gains: dict[str, list[list[float]]] = {}
    for name in sets.split(","):
        (bench_set,) = bench_sets([name])
        build_store(bench_set, out / name)
        generated_requests(out / name, per_class)
        catalogue = read_catalogue(out / name, read_queries([bench_set.queries], split=bench_set.split).queries, most)
        judged = catalogue.generated if held_out else catalogue.hand
        before = [completed_at(one.completed, one) for one in judged]
        shares = " / ".join(f"{complete(before, cutoff):.1f}" for cutoff in CUTOFFS)
        print(f"{name}: {len(catalogue.generated)} generated, {len(judged)} judged: {shares}", flush=True)
        for told, lever in tried.items():
            after = (
                held_out_ranks(catalogue, lever) if held_out else _ranks(catalogue, lever, catalogue.generated, judged)
            )
            ranks = {"before": before, "after": after}
            found = [difference(ranks, "after", "before", cutoff, stratum=name) for cutoff in CUTOFFS]
            gains.setdefault(told, []).append([each.value for each in found])
            print(f"  {told}: {' / '.join(map(_told, found))}", flush=True)
    for told, rows in gains.items():
        print(
            f"mean of {len(rows)}, {told}: {' / '.join(f'{value:+.1f}' for value in np.mean(rows, axis=0))}", flush=True
        )


def _told(found: Difference) -> str:
    return f"{found.value:+.1f}{'*' * found.sure} [{found.low:+.1f}, {found.high:+.1f}]"


def completed_at(ranking: Ranking, one: Kept) -> int:
    """The rank, from 1, at which a ranking has a tool for each slot of the gold set."""
    if one.gold is None:
        return _NEVER
    order = ranking.tools[ranking.best(len(ranking.tools))]
    rank = {tool: place for place, tool in enumerate(order.tolist(), start=1)}
    return max(min(rank.get(tool, _NEVER) for tool in slot) for slot in one.gold.tolist())


def _ranks(catalogue: Catalogue, lever: Lever, learned_from: Sequence[Kept], judged: Sequence[Kept]) -> list[int]:
    rank = lever(catalogue, learned_from)
    return [completed_at(rank(one), one) for one in judged]


def held_out_ranks(catalogue: Catalogue, lever: Lever) -> list[int]:
    """The ranks at which generated requests are complete, each with what was learned without its group."""
    rows = catalogue.generated
    found_Q = np.zeros(len(rows), dtype=np.int64)
    for tested in folds([one.group for one in rows], _FOLDS, 0):
        others = np.setdiff1d(np.arange(len(rows)), tested)
        found_Q[tested] = _ranks(catalogue, lever, [rows[at] for at in others], [rows[at] for at in tested])
    ranks: list[int] = found_Q.tolist()
    return ranks


if __name__ == "__main__":
    run_command(main)
