"""Fit the model of ``retrieval/ranking/need_fusion.py``: how likely each place of a need's ranking is needed.

    python -m benchmarks.training.fit_needs --stores out/bench-needs

``--stores`` has ``NAME/store`` for each set with recorded needs, as ``make bench-needs`` leaves it. Each catalogue counts alike. It prints the
weights, and what each set has under a fit on all others beside what it has with the shipped weights; nothing is written. The ranking of the
whole request, which takes part in an answer, is left out: the figures are of the needs' rankings alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.command import run_command
from benchmarks.sets import REAL, SHIPPED_DEV, BenchSet, bench_sets, real_sets
from benchmarks.training.fit_confidence import fit_logistic
from eval.metrics import complete_at
from eval.queries import LabelledQuery, of_split, read_queries, sample_queries, with_needs
from inference.encoder import Floats1d
from retrieval.candidates.candidate_generation import generate_candidates
from retrieval.engine import open_engine
from retrieval.query.context import QueryContext
from retrieval.query.request import Request
from retrieval.ranking.fusion import feature_matrix
from retrieval.ranking.need_fusion import NEED_WEIGHTS, fuse_needs, need_evidence
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import SHIPPED
from retrieval.retriever import DEFAULT

_CUTOFFS = (3, 5, 10)
# No whole request, which could name a system, is read.
_FITTED = [name for name in NEED_WEIGHTS if name not in ("", "named")]
_PLACES = 60  # of a ranking; those after them are hardly ever needed


class Asked(NamedTuple):
    """A request with the ranking of each of its needs.

    :param slots: the numbers of the tools of each slot.
    :param systems: as of :func:`retrieval.ranking.need_fusion.need_evidence`.
    """

    slots: list[set[int]]
    rankings: list[Ranking]
    systems: NDArray[np.int64] | None


def main(
    stores: Annotated[Path, typer.Option(help="Folder with NAME/store for each set.")],
    limit: Annotated[int, typer.Option(help="Requests of a set.")] = 120,
) -> None:
    """Rank, fit, print."""
    wanted = [*bench_sets([SHIPPED_DEV]), *(one for one in real_sets() if one.name == REAL), *bench_sets()]
    sets = {one.name: one for one in wanted if one.needs is not None and (stores / one.name / "store").is_dir()}
    asked = {name: list(ask(one, stores / name / "store", limit)) for name, one in sets.items()}
    print({name: round(weight, 2) for name, weight in fit(asked).items()})
    for name, own in asked.items():
        others = fit({each: rows for each, rows in asked.items() if each != name})
        cells = zip(_CUTOFFS, complete(own, NEED_WEIGHTS), complete(own, others), strict=True)
        print(f"{name:16} {len(own):4}  " + "  ".join(f"@{k} {a:5.1f} shipped {b:5.1f} unseen" for k, a, b in cells))


def ask(bench_set: BenchSet, store: Path, limit: int) -> list[Asked]:
    """The requests of a set that have needs, each need ranked by itself as ``default`` does."""
    engine = open_engine(store)
    systems = engine.snapshot.tool_systems if engine.snapshot.system_count > 1 else None
    queries = with_needs(read_queries([bench_set.queries]), [path for path in (bench_set.needs,) if path])
    chosen = sample_queries(of_split(queries, bench_set.split) if bench_set.split else queries, limit).queries

    def one(query: LabelledQuery) -> Asked:
        needs = query.needs or ()
        request = Request(query="", needs=needs)
        parts = QueryContext.begin(request, engine.snapshot, engine.encoder, DEFAULT).parts()
        ranked = {}
        for need, part in zip(dict.fromkeys(needs), parts, strict=True):
            generate_candidates(part)
            matrix = feature_matrix(part, SHIPPED)
            ranked[need] = Ranking(tools=matrix.tools, scores=matrix.scores(SHIPPED), features={})
        numbers = ([engine.snapshot.find_node(f"tool:{tool}") for tool in slot] for slot in query.slots)
        slots = [{number for number in slot if number is not None} for slot in numbers]
        return Asked(slots, [ranked[need] for need in needs], systems)

    return [one(query) for query in chosen if query.needs]


def fit(asked: Mapping[str, Sequence[Asked]]) -> dict[str, float]:
    """The weights of the logistic model; of the tools of a slot only the first of a ranking is needed."""
    rows, labels, weights = [], [], []
    for requests in asked.values():
        needs = sum(len(one.rankings) for one in requests)
        for one in requests:
            for ranking, evidence in zip(one.rankings, need_evidence(one.rankings, one.systems), strict=True):
                best = ranking.best(_PLACES)
                rows.append(np.stack([evidence[name][best] for name in _FITTED], axis=1))
                firsts = [rank for rank in _first_ranks(ranking.tools[best].tolist(), one.slots) if rank]
                labels.append(np.isin(np.arange(1, len(best) + 1), firsts).astype(np.float64))
                weights.append(np.full(len(best), 1.0 / needs))
    found = fit_logistic(np.concatenate(rows).astype(np.float64), np.concatenate(labels), np.concatenate(weights))
    return dict(zip([*_FITTED, ""], map(float, found), strict=True))


def _first_ranks(tools: Sequence[int], slots: Sequence[set[int]]) -> list[int | None]:
    """The rank of the first tool of each slot, from 1; None where there is none."""
    return [next((rank for rank, tool in enumerate(tools, 1) if tool in slot), None) for slot in slots]


def complete(asked: Sequence[Asked], weights: Mapping[str, float]) -> list[float]:
    """CompleteRecall at 3, 5 and 10 tools, in percent."""
    nothing = Ranking(tools=np.empty(0, dtype=np.int64), scores=np.empty(0, dtype=np.float32), features={})
    hits = []
    for one in asked:
        fused = fuse_needs(one.rankings, nothing, systems=one.systems, weights=weights).ranking
        order = fused.tools[fused.best(max(_CUTOFFS))].tolist()
        depth = complete_at(_first_ranks(order, one.slots))
        hits.append([depth is not None and depth <= k for k in _CUTOFFS])
    means: Floats1d = 100 * np.asarray(hits, dtype=np.float32).mean(axis=0)
    return [float(mean) for mean in means]


if __name__ == "__main__":
    run_command(main)
