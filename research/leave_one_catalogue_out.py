"""Unseen sets: what the ranking weights are worth on a set that they were not chosen on; ``python -m research.leave_one_catalogue_out``.

For each set of the macro average a search finds weights on the other eight and is judged on the ninth. It stands beside the
flat hybrid, beside the shipped weights, and beside a search that saw all nine; the share of the gain over the hybrid that the
blind search keeps is what a new customer can expect of weights that were chosen elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ontology.files import write_file
from ontology.progress import no_progress
from scripts.bench_sets import BENCH, MACRO_SETS, ROOT, bench_sets, sampled
from scripts.published_results import slashed
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.tuning.cases import Cases

OUT = ROOT / "out" / "bench-quality"
CUTOFFS = (3, 5, 10)
PAGE = """# Leave-one-catalogue-out: the weights on a set that they were not chosen on

The weights of `default` were chosen on nine open sets, so their gain on these sets says little about your catalogue. Here a search
chooses weights on eight of the sets and is measured on the ninth. The search starts from the shipped weights, which were chosen on
all nine; so the share of the gain that remains is an upper bound.

Written by `python -m research.leave_one_catalogue_out`, after `make bench-quality` has built the snapshots. CompleteRecall @3 / @5 / @10 in
percent, at most {limit} requests of each set, chosen by the hash of their ids.

{table}

The gain over the flat hybrid (`rrf`), with weights chosen without the set and with it, and the share that remains:

{kept}

Most is lost on {lost}. A search finds a weight only if one of its sets has requests that the weight serves. Where only the left-out set has
them, the weight is lost. That is why the shipped weights are coarse and were not searched on fine grids.

Nothing else of `default` is learned: the encoder is the published MiniLM, and no reranker is used. The rules, constants and word
lists were also written with these sets in view. This table does not measure that; only sets that nobody has looked at can.

## The weights that were found

{weights}
"""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """CompleteRecall (%) at 3, 5 and 10 of one set."""

    hybrid: tuple[float, ...]
    shipped: tuple[float, ...]
    blind: tuple[float, ...]
    seeing: tuple[float, ...]
    weights: Mapping[str, float]


def main() -> int:
    """Measure, print the table, keep it as JSON; returns the exit code."""
    pin_threads()  # before anything numeric is imported
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stores", type=Path, default=OUT, help="where make bench-quality left the snapshots")
    parser.add_argument("--limit", type=int, default=300, help="requests of each set at most")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "unseen.md")
    options = parser.parse_args()
    if not BENCH.is_dir():
        print("The open sets are not beside the checkout: nothing is measured.")
        return 1
    judged = judge(options.stores, options.limit)
    write_file(options.out, page(judged, options.limit))
    return 0


def judge(stores: Path, limit: int) -> dict[str, Judged]:
    """Every set by weights that were chosen without it."""
    from eval.tuning.cases import soft_complete
    from eval.tuning.weight_search import ORIGIN, Point, search, weights_at
    from retrieval.snapshot.weights import SHIPPED

    cases, hybrid = {}, {}
    for bench_set in bench_sets(MACRO_SETS):
        cases[bench_set.name], hybrid[bench_set.name] = collected(
            stores / bench_set.name / "store", bench_set.queries, limit
        )
        print(f"{bench_set.name}: {len(cases[bench_set.name])} requests", flush=True)
    known: dict[tuple[str, Point], float] = {}

    def worth(name: str, point: Point) -> float:
        if (name, point) not in known:
            known[name, point] = float(soft_complete(cases[name].completed_at(weights_at(point)), CUTOFFS).mean())
        return known[name, point]

    def best_for(names: Sequence[str]) -> Point:
        value: Callable[[Point], float] = lambda point: float(np.mean([worth(name, point) for name in names]))  # noqa: E731
        return search(value, ORIGIN)

    seeing = weights_at(best_for(MACRO_SETS))
    judged = {}
    for name in MACRO_SETS:
        blind = weights_at(best_for([other for other in MACRO_SETS if other != name]))
        judged[name] = Judged(
            hybrid=complete_recall(hybrid[name]),
            shipped=complete_recall(cases[name].completed_at(SHIPPED)),
            blind=complete_recall(cases[name].completed_at(blind)),
            seeing=complete_recall(cases[name].completed_at(seeing)),
            weights=asdict(blind),
        )
        print(f"{name} {judged[name]}", flush=True)
    return judged


def collected(store: Path, queries: Path, limit: int) -> tuple[Cases, NDArray[np.int64]]:
    """The cases of a set, and the ranks at which the flat hybrid completes them."""
    from eval.queries import read_queries
    from eval.tuning.cases import NEVER, collect
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.retriever import Request
    from retrieval.snapshot_engine import open_engine

    engine = open_engine(store)
    chosen = {row["id"] for row in sampled(queries, limit)}
    asked = [query for query in read_queries([queries]).queries if query.id in chosen]
    cases = collect(GraphRetriever(engine.snapshot, engine.encoder), engine.snapshot, asked, no_progress)
    flat = engine.retriever("rrf")
    ranks = np.full(len(asked), NEVER, dtype=np.int64)
    for row, query in enumerate(asked):
        answer = [tool.id for tool in flat.retrieve(Request(query=query.text, explain=False)).tools]
        if set(query.tools) <= set(answer):
            ranks[row] = max(answer.index(tool) for tool in query.tools) + 1
    return cases, ranks


def complete_recall(ranks_Q: NDArray[np.int64]) -> tuple[float, ...]:
    """In percent, at each cutoff."""
    return tuple(round(100 * float((ranks_Q <= cutoff).mean()), 1) for cutoff in CUTOFFS)


def page(judged: Mapping[str, Judged], limit: int) -> str:
    """The page: what the sets say, their mean, the share of the gain that is kept, and the weights that were found."""
    systems = {"rrf": "hybrid", "shipped": "shipped", "chosen without the set": "blind", "chosen with it": "seeing"}
    means = {part: np.mean([getattr(one, part) for one in judged.values()], axis=0) for part in systems.values()}
    rows = [f"| set | {' | '.join(systems)} |", f"|---|{'---:|' * len(systems)}"]
    rows += [
        f"| {name} | {' | '.join(slashed(getattr(one, part)) for part in systems.values())} |"
        for name, one in judged.items()
    ]
    rows += [f"| **mean** | {' | '.join(slashed(means[part]) for part in systems.values())} |"]
    lost = max(judged, key=lambda name: sum(judged[name].seeing) - sum(judged[name].blind))
    others = {name: one for name, one in judged.items() if name != lost}
    kept = []
    for at, cutoff in enumerate(CUTOFFS):
        of_all, of_others = _gains(judged, at), _gains(others, at)
        shares = f"{of_all[0] / of_all[1]:.0%} | {of_others[0] / of_others[1]:.0%}"
        kept.append(f"| @{cutoff} | +{of_all[0]:.1f} | +{of_all[1]:.1f} | {shares} |")
    found = [
        f"| {name} | " + " | ".join(f"{value:g}" for value in one.weights.values()) + " |"
        for name, one in judged.items()
    ]
    names = next(iter(judged.values())).weights
    return PAGE.format(
        limit=limit,
        lost=lost,
        table="\n".join(rows),
        kept="\n".join([f"| | without the set | with it | kept | kept without {lost} |", f"|---|{'---:|' * 4}", *kept]),
        weights="\n".join([f"| left out | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}", *found]),
    )


def _gains(judged: Mapping[str, Judged], at: int) -> tuple[float, float]:
    """The mean gain over the hybrid at one cutoff, of who chose without the set and of who chose with it."""
    hybrid, blind, seeing = (
        float(np.mean([getattr(one, part)[at] for one in judged.values()])) for part in ("hybrid", "blind", "seeing")
    )
    return blind - hybrid, seeing - hybrid


if __name__ == "__main__":
    sys.exit(main())
