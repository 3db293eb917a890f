"""What usage lines are worth to the ranking: ``python -m research.usage_lines``.

Each set is cut as for the quality gate. Every usage line by rules gets a vector of the embedded encoder; a tool's score is the
largest cosine between the request and its lines. Beside it, the lines of a tool are a BM25 field of their own. Both are compared
with nothing added: the vectors alone, fused with each preset by reciprocal ranks, and each as one more feature of ``default``.
The one constant of each (60; .5, the weight of ``cosine_name`` and ``bm25_params``) was fixed before the first run. The intervals are
paired bootstraps over the requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from research.open_sets import require_open_sets
from scripts.bench_sets import ROOT, BenchSet, bench_sets, catalog_address, reduced
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from retrieval.query.context import QueryContext
    from retrieval.query.query import Query
    from retrieval.ranking.ranking import Ranking

OUT = ROOT / "out" / "usage-lines"
SETS = "apibank,bfcl,gtc,metatool,restbench,taskbench,tau2_service,toolsandbox,ultratool,enterprise"
CUTOFFS = (3, 5, 10)
SYSTEMS = (
    "vectors alone",
    "rrf",
    "rrf + vectors",
    "default",
    "default + vectors",
    "default, cosine feature",
    "default, BM25 feature",
)
COMPARED = (
    ("rrf + vectors", "rrf"),
    ("default + vectors", "default"),
    ("default, cosine feature", "default"),
    ("default, BM25 feature", "default"),
)
_REQUESTS, _TOOLS = 150, 1_000
_DEPTH = 100
_RRF_K = 60
_FEATURE_WEIGHT = 0.5
_RESAMPLES = 10_000


def main(
    sets: Annotated[str, typer.Option(help="comma-separated")] = SETS,
    out: Annotated[Path, typer.Option(help="folder of the snapshots")] = OUT,
) -> None:
    """Measure and print the tables."""
    require_open_sets()
    chosen = bench_sets([name for name in sets.split(",") if name])
    completed = {one.name: measured(one, out / one.name) for one in chosen}
    print(f"| set | {' | '.join(SYSTEMS)} |\n|---|{'---:|' * len(SYSTEMS)}")
    for name, ranks in completed.items():
        print(_row(name, ranks), flush=True)
    print(_mean_row(completed))
    for system, base in COMPARED:
        print(f"{system} - {base}: {_differences(completed, system, base)}")


def measured(bench_set: BenchSet, folder: Path) -> dict[str, NDArray[np.int64]]:
    """System → the rank at which each request is complete, int64 [requests]; a large number where it never is."""
    from eval.queries import read_queries
    from inference import DEFAULT_ENCODER, load_encoder
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.query.request import Request
    from retrieval.snapshot_engine import SnapshotEngine, open_engine
    from services.jobs.build import build_snapshot

    small = reduced(bench_set, folder, queries=_REQUESTS, tools=_TOOLS)
    encoder = load_encoder(DEFAULT_ENCODER, workers=2)
    build_snapshot([str(catalog_address(small, folder))], folder / "store", encoder=encoder, workers=2)
    engine: SnapshotEngine = open_engine(folder / "store", encoder=encoder)
    snapshot = engine.snapshot
    index = UsageIndex([snapshot.tool(number) for number in range(snapshot.tool_count)], encoder)
    print(f"{bench_set.name}: {snapshot.tool_count} tools, {len(index.owners)} lines", flush=True)
    retrievers = {
        "rrf": engine.retriever("rrf"),
        "default": engine.retriever("default"),
        "default, cosine feature": GraphRetriever(snapshot, encoder, UsageRanker(index.cosines)),
        "default, BM25 feature": GraphRetriever(snapshot, encoder, UsageRanker(index.lexical)),
    }
    queries = read_queries([small.queries]).queries
    ranks: dict[str, list[int]] = {system: [] for system in SYSTEMS}
    for query in queries:
        request = Request(query=query.text, k=_DEPTH, explain=False)
        answers = {name: [tool.id for tool in one.retrieve(request).tools] for name, one in retrievers.items()}
        answers["vectors alone"] = index.ranking(encoder.encode([query.text])[0])
        for name in ("rrf", "default"):
            answers[f"{name} + vectors"] = fused(answers[name], answers["vectors alone"])
        for system, answer in answers.items():
            ranks[system].append(completing_rank(answer, query.tools))
    return {system: np.asarray(values, dtype=np.int64) for system, values in ranks.items()}


class UsageIndex:
    """The vectors of all usage lines of a catalogue, and their BM25 field."""

    def __init__(self, tools: Sequence[Any], encoder: Any) -> None:
        from ingest.usage.usage_rules import usage_by_rules
        from ontology.ontology_file import load_ontology
        from retrieval.index.analysis import terms
        from retrieval.index.bm25 import Bm25Index, make_postings

        ontology = load_ontology()
        lines, owners, documents = [], [], []
        for number, tool in enumerate(tools):
            usage = usage_by_rules(tool, ontology)
            texts = [line.text for line in (*usage.when_to_use, *usage.requests)]
            lines.extend(texts)
            owners.extend([number] * len(texts))
            documents.append(terms(" ".join(texts)))
        self.ids = [tool.id for tool in tools]
        self.owners = np.asarray(owners)
        self._vectors_LD = encoder.encode(lines)
        self._bm25 = Bm25Index(make_postings(documents), len(documents))

    def scores(self, vector_D: NDArray[np.float32]) -> NDArray[np.float32]:
        """The largest cosine of a request with the lines of each tool, float32 [tools]."""
        scores = np.full(len(self.ids), -1, dtype=np.float32)
        np.maximum.at(scores, self.owners, self._vectors_LD @ vector_D)
        return scores

    def cosines(self, query: Query) -> NDArray[np.float32]:
        """The largest cosine of an analysed request with the lines of each tool, float32 [tools]."""
        assert query.vector_D is not None  # noqa: S101 - the embedded encoder is never down
        return self.scores(query.vector_D)

    def lexical(self, query: Query) -> NDArray[np.float32]:
        """BM25 of an analysed request over the lines of each tool, float32 [tools]."""
        return self._bm25.scores(query.terms)

    def ranking(self, vector_D: NDArray[np.float32]) -> list[str]:
        """The ids of the best tools, best first."""
        return [self.ids[number] for number in np.argsort(-self.scores(vector_D), kind="stable")[:_DEPTH]]


class UsageRanker:
    """The ranking of ``default`` with a usage score as one more feature."""

    def __init__(self, scores: Callable[[Query], NDArray[np.float32]]) -> None:
        self._scores = scores

    def rank(self, context: QueryContext) -> Ranking:
        """Score the candidates."""
        from retrieval.ranking.clause_fusion import fuse_clauses
        from retrieval.ranking.feature_matrix import feature_matrix, weighted_sum
        from retrieval.ranking.ranking import Ranking
        from retrieval.ranking.weights import SHIPPED
        from retrieval.ranking.z_scores import standardise

        matrix = feature_matrix(context, SHIPPED)
        usage = standardise(self._scores(context.query)[matrix.tools])
        weights = {**SHIPPED, "usage": _FEATURE_WEIGHT}
        whole = standardise(weighted_sum({**matrix.standardised, "usage": usage}, weights))
        scores = whole + SHIPPED.clause_fusion * fuse_clauses(matrix.clauses_CT, whole)
        return Ranking(tools=matrix.tools, scores=scores, features=matrix.raw)


def fused(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Two rankings under reciprocal rank fusion, ties by id."""
    scores: dict[str, float] = {}
    for ranking in (first, second):
        for rank, tool in enumerate(ranking, start=1):
            scores[tool] = scores.get(tool, 0.0) + 1 / (_RRF_K + rank)
    return sorted(scores, key=lambda tool: (-scores[tool], tool))


def completing_rank(answer: Sequence[str], gold: Sequence[str]) -> int:
    """The rank at which the last needed tool stands; a large number where one is missing."""
    places = {tool: rank for rank, tool in enumerate(answer, start=1)}
    return max(places.get(tool, 10 * _DEPTH) for tool in gold)


def _recalls(ranks_Q: NDArray[np.int64]) -> list[float]:
    return [100 * float((ranks_Q <= cutoff).mean()) for cutoff in CUTOFFS]


def _row(name: str, ranks: Mapping[str, NDArray[np.int64]]) -> str:
    cells = [" / ".join(f"{value:.1f}" for value in _recalls(ranks[system])) for system in SYSTEMS]
    return f"| {name} | {' | '.join(cells)} |"


def _mean_row(completed: Mapping[str, Mapping[str, NDArray[np.int64]]]) -> str:
    means = [np.mean([_recalls(ranks[system]) for ranks in completed.values()], axis=0) for system in SYSTEMS]
    return f"| **mean** | {' | '.join(' / '.join(f'{value:.1f}' for value in mean) for mean in means)} |"


def _differences(completed: Mapping[str, Mapping[str, NDArray[np.int64]]], system: str, base: str) -> str:
    """The mean over the sets of the difference in points at each cutoff, with its 95 % interval."""
    from eval.bootstrap import interval, resampled_means

    draws, means = [], []
    for name, ranks in completed.items():
        values = [(ranks[system] <= cut).astype(np.float32) - (ranks[base] <= cut) for cut in CUTOFFS]
        values_QC = np.stack(values, axis=1).astype(np.float32)
        means.append(values_QC.mean(axis=0))
        draws.append(resampled_means(values_QC, resamples=_RESAMPLES, seed=0, stratum=name))
    low, high = interval(np.mean(draws, axis=0))
    mean = np.mean(means, axis=0)
    cells = (
        f"@{cut} {100 * mean[at]:+.1f} [{100 * low[at]:+.1f}, {100 * high[at]:+.1f}]" for at, cut in enumerate(CUTOFFS)
    )
    return ", ".join(cells)


if __name__ == "__main__":
    pin_threads()  # before anything numeric is imported
    run_command(main)
