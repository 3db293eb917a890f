"""Leave one catalogue out: what ranking weights are worth on a set that they were not chosen on.

``python -m research.leave_one_catalogue_out`` writes docs/unseen.md. For each set of the macro average a search finds weights
on the other eight and is measured on the ninth, beside the flat hybrid, the shipped weights, and a search over all nine. The
share of the gain over the hybrid that the search without the set keeps is what weights chosen elsewhere give a new user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ontology.files import write_file
from ontology.progress import no_progress
from research.open_sets import require_open_sets
from scripts.bench_sets import MACRO_SETS, ROOT, BenchSet, bench_sets, sampled
from scripts.document_blocks import slashed
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.tuning import Cases

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
class SetResult:
    """CompleteRecall (%) at 3, 5 and 10 of one set."""

    hybrid: tuple[float, ...]
    shipped: tuple[float, ...]
    without: tuple[float, ...]
    including: tuple[float, ...]
    weights: Mapping[str, float]


def main(
    stores: Annotated[Path, typer.Option(help="the snapshots that make bench-quality built")] = OUT,
    limit: Annotated[int, typer.Option(help="requests of each set at most")] = 300,
    out: Path = ROOT / "docs" / "unseen.md",
) -> None:
    """Measure and write the page."""
    require_open_sets()
    write_file(out, page(measured_sets(stores, limit), limit))


def measured_sets(stores: Path, limit: int) -> dict[str, SetResult]:
    """Every set under weights that were chosen without it."""
    from eval.tuning import ORIGIN, Point, search, soft_complete, weights_at
    from retrieval.ranking.weights import SHIPPED

    cases, hybrid = {}, {}
    for bench_set in bench_sets(MACRO_SETS):
        cases[bench_set.name], hybrid[bench_set.name] = collected(stores / bench_set.name / "store", bench_set, limit)
        print(f"{bench_set.name}: {len(cases[bench_set.name])} requests", flush=True)
    known: dict[tuple[str, Point], float] = {}

    def worth(name: str, point: Point) -> float:
        if (name, point) not in known:
            known[name, point] = float(soft_complete(cases[name].completed_at(weights_at(point)), CUTOFFS).mean())
        return known[name, point]

    def best_for(names: Sequence[str]) -> Point:
        value: Callable[[Point], float] = lambda point: float(np.mean([worth(name, point) for name in names]))  # noqa: E731
        return search(value, ORIGIN)

    including = weights_at(best_for(MACRO_SETS))
    results: dict[str, SetResult] = {}
    for name in MACRO_SETS:
        without = weights_at(best_for([other for other in MACRO_SETS if other != name]))
        results[name] = SetResult(
            hybrid=complete_recall(hybrid[name]),
            shipped=complete_recall(cases[name].completed_at(SHIPPED)),
            without=complete_recall(cases[name].completed_at(without)),
            including=complete_recall(cases[name].completed_at(including)),
            weights=dict(without),
        )
        print(f"{name} {results[name]}", flush=True)
    return results


def collected(store: Path, bench_set: BenchSet, limit: int) -> tuple[Cases, NDArray[np.int64]]:
    """The cases of a set, and the ranks at which the flat hybrid completes them."""
    from eval.queries import read_queries
    from eval.tuning import NEVER, collect
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.query.request import Request
    from retrieval.snapshot_engine import open_engine

    engine = open_engine(store)
    chosen = {row["id"] for row in sampled(bench_set, limit)}
    asked = [query for query in read_queries([bench_set.queries]).queries if query.id in chosen]
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


def page(results: Mapping[str, SetResult], limit: int) -> str:
    """The page: the figures of the sets, their mean, the share of the gain that is kept, and the weights that were found."""
    systems = {
        "rrf": "hybrid",
        "shipped": "shipped",
        "chosen without the set": "without",
        "chosen with it": "including",
    }
    means = {part: np.mean([getattr(one, part) for one in results.values()], axis=0) for part in systems.values()}
    rows = [f"| set | {' | '.join(systems)} |", f"|---|{'---:|' * len(systems)}"]
    rows += [
        f"| {name} | {' | '.join(slashed(getattr(one, part)) for part in systems.values())} |"
        for name, one in results.items()
    ]
    rows += [f"| **mean** | {' | '.join(slashed(means[part]) for part in systems.values())} |"]
    lost = max(results, key=lambda name: sum(results[name].including) - sum(results[name].without))
    others = {name: one for name, one in results.items() if name != lost}
    kept = []
    for at, cutoff in enumerate(CUTOFFS):
        of_all, of_others = _gains(results, at), _gains(others, at)
        shares = f"{of_all[0] / of_all[1]:.0%} | {of_others[0] / of_others[1]:.0%}"
        kept.append(f"| @{cutoff} | +{of_all[0]:.1f} | +{of_all[1]:.1f} | {shares} |")
    found = [
        f"| {name} | " + " | ".join(f"{value:g}" for value in one.weights.values()) + " |"
        for name, one in results.items()
    ]
    names = next(iter(results.values())).weights
    return PAGE.format(
        limit=limit,
        lost=lost,
        table="\n".join(rows),
        kept="\n".join([f"| | without the set | with it | kept | kept without {lost} |", f"|---|{'---:|' * 4}", *kept]),
        weights="\n".join([f"| left out | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}", *found]),
    )


def _gains(results: Mapping[str, SetResult], at: int) -> tuple[float, float]:
    """The mean gain over the hybrid at one cutoff: of weights chosen without the set, and of weights chosen with it."""
    hybrid, without, including = (
        float(np.mean([getattr(one, part)[at] for one in results.values()]))
        for part in ("hybrid", "without", "including")
    )
    return without - hybrid, including - hybrid


if __name__ == "__main__":
    pin_threads()  # before anything numeric is imported
    run_command(main)
