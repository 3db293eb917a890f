"""Is an embedding of the tool graph worth a feature beside the ensemble of ego graphs: ``python -m research.graph_embedding STORE=QUERIES …``.

Two embeddings of the nodes, both seeded: *spectral*, the leading eigenvectors of the normalised adjacency; and *walks*, the positive pointwise
mutual information of nodes that stand near each other on random walks, factored (as node2vec with p = q = 1 does in effect). The feature is the
cosine of a tool with the centroid of the entry nodes of the request. It is added to the fused score of ``default`` as a bounded z-score, with a
weight in standard deviations of that score. For each set the weight, or none, is the one that is best on average on the other sets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ontology.files import write_file
from research.unseen.answers import CUTOFFS, completed_rank
from research.unseen.differences import Difference, complete, difference, over_sets
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.queries import LabelledQuery
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.query.context import QueryContext
    from retrieval.ranking.ranking import Ranking
    from retrieval.snapshot.reader import Snapshot

__all__ = ["choose_without", "spectral_vectors", "walk_vectors", "with_embedding"]

WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.8)
# Usual values of the two methods; nothing was tuned on a set.
_DIMENSIONS = 64
_WALKS, _STEPS, _WINDOW = 10, 20, 4

Vectors = NDArray[np.float32]
Ranks = Mapping[str, Sequence[int]]
"""Weight as text → for each request the rank at which its answer is complete; 11 where it is not."""


def main(
    sets: Annotated[list[str], typer.Argument(help="STORE=QUERIES; at least three catalogues")],
    split: Annotated[str, typer.Option(help="only rows of this split, of sets that have it")] = "dev",
    most: Annotated[int, typer.Option(help="requests of a set, chosen by the hash of their ids; 0: all")] = 120,
    seed: Annotated[int, typer.Option(help="of both embeddings")] = 0,
    ranks: Annotated[
        Path | None, typer.Option(help="file that keeps what was measured; sets in it are not measured again")
    ] = None,
) -> None:
    """Measure, and print a table for each embedding."""
    pin_threads()
    kept = json.loads(ranks.read_text(encoding="utf-8")) if ranks is not None and ranks.exists() else {}
    for name, store, queries in map(_set, sets):
        if name not in kept:
            kept[name] = _measured(store, queries, split, most, seed)
        if ranks is not None:
            write_file(ranks, json.dumps(kept) + "\n")
    for method in EMBEDDINGS:
        print("\n".join(table(method, {name: of_set[method] for name, of_set in kept.items()})), flush=True)


def spectral_vectors(adjacency: Any, seed: int) -> Vectors:
    """The leading eigenvectors of the symmetric normalised adjacency but the trivial first, in rows of length 1, float32 [nodes, dimensions].

    :param adjacency: symmetric sparse matrix [nodes, nodes] of weights > 0.
    """
    from scipy.sparse import diags  # type: ignore[import-untyped]
    from scipy.sparse.linalg import eigsh  # type: ignore[import-untyped]

    size = adjacency.shape[0]
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    scale = diags(1 / np.sqrt(np.maximum(degrees, 1e-12)))
    count = min(_DIMENSIONS + 1, size - 1)
    start = np.random.default_rng(seed).standard_normal(size)
    values, vectors = eigsh(scale @ adjacency @ scale, k=count, which="LA", v0=start)
    order = np.argsort(-values)[1:]
    return _unit(vectors[:, order] * np.sqrt(np.maximum(values[order], 0)))


def walk_vectors(adjacency: Any, seed: int) -> Vectors:
    """The factored positive pointwise mutual information of nodes on random walks, in rows of length 1, float32 [nodes, dimensions]."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import svds

    size = adjacency.shape[0]
    walks = _walks(adjacency, seed)
    pairs = [(walks[:, :-ahead].ravel(), walks[:, ahead:].ravel()) for ahead in range(1, min(_WINDOW, _STEPS - 1) + 1)]
    ends = np.concatenate([np.stack(pair) for pair in pairs], axis=1)
    counts = coo_matrix((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(size, size)).tocsr()
    counts = (counts + counts.T).tocoo()
    often = np.asarray(counts.sum(axis=1)).ravel()
    information = np.log(counts.data * often.sum() / (often[counts.row] * often[counts.col]))
    kept = information > 0
    matrix = coo_matrix((information[kept], (counts.row[kept], counts.col[kept])), shape=(size, size)).tocsr()
    start = np.random.default_rng(seed).standard_normal(size)
    left, values, _ = svds(matrix, k=min(_DIMENSIONS, size - 1), v0=start)
    return _unit(left * np.sqrt(values))


EMBEDDINGS: Mapping[str, Callable[[Any, int], Vectors]] = {"spectral": spectral_vectors, "walks": walk_vectors}


def _walks(adjacency: Any, seed: int) -> NDArray[np.int64]:
    """Walks from every node, int64 [walks, steps]; a step takes an edge in proportion to its weight. A node without edges stays."""
    generator = np.random.default_rng(seed)
    rows = adjacency.tocsr()
    sums = np.concatenate([[0.0], np.cumsum(rows.data)])
    at = np.tile(np.arange(rows.shape[0]), _WALKS)
    walks = [at]
    for _ in range(_STEPS - 1):
        first, last = sums[rows.indptr[at]], sums[rows.indptr[at + 1]]
        picked = np.searchsorted(sums, first + generator.random(len(at)) * (last - first), side="right") - 1
        picked = np.clip(picked, rows.indptr[at], np.maximum(rows.indptr[at + 1] - 1, rows.indptr[at]))
        at = np.where(last > first, rows.indices[np.minimum(picked, len(rows.indices) - 1)], at)
        walks.append(at)
    return np.stack(walks, axis=1)


def _unit(vectors: NDArray[np.float64]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 1e-12, lengths, np.inf)).astype(np.float32)


def adjacency_of(snapshot: Snapshot) -> Any:
    """The symmetric weights of a snapshot's graph, sparse [nodes, nodes]: the highest confidence of the edges of two nodes."""
    from scipy.sparse import coo_matrix

    edges, size = snapshot.adjacency, len(snapshot.nodes)
    heads, tails = np.asarray(edges.heads), np.asarray(edges.tails)
    weights = np.asarray(edges.confidences, dtype=np.float64)
    ends, place = np.unique(
        np.sort(np.stack([heads, tails]), axis=0).astype(np.int64).T @ np.array([size, 1]), return_inverse=True
    )
    highest = np.zeros(len(ends))
    np.maximum.at(highest, place, weights)
    low, high = np.divmod(ends, size)
    apart = low != high
    half = coo_matrix((highest[apart], (low[apart], high[apart])), shape=(size, size)).tocsr()
    return half + half.T


def with_embedding(context: QueryContext, ranking: Ranking, vectors: Vectors, weight: float) -> Ranking:
    """The ranking with the feature added: the cosine of each tool with the centroid of the entry nodes, as a bounded z-score.

    :param vectors: of the nodes, rows of length 1 or 0.
    :param weight: in standard deviations of the scores, >= 0.
    """
    from retrieval.ranking.z_scores import bounded, standardise

    centroid = _centroid(context, vectors)
    if not weight or not centroid.any():
        return ranking
    added = bounded(standardise(vectors[ranking.tools] @ centroid)) * np.float32(weight * float(ranking.scores.std()))
    return replace(ranking, scores=ranking.scores + added)


def _centroid(context: QueryContext, vectors: Vectors) -> Vectors:
    """The sum of the vectors of the entry nodes, each as strong as in graph support, of length 1; zero without entry nodes."""
    total = np.zeros(vectors.shape[1], dtype=np.float32)
    for entry in context.entries:
        strength = max(entry.score, 0.0) if entry.kind == "semantic" else 0.5 * (1 + entry.text.count(" "))
        total += np.float32(context.snapshot.idf(entry.node) * strength) * vectors[entry.node]
    length = float(np.linalg.norm(total))
    return total / np.float32(length) if length else total


def _set(address: str) -> tuple[str, Path, Path]:
    store, _, queries = address.partition("=")
    path = Path(queries)
    return (path.parent.name if path.stem in ("queries", "requests", "hand") else path.stem), Path(store), path


def _measured(store: Path, queries: Path, split: str, most: int, seed: int) -> dict[str, dict[str, list[int]]]:
    """Method → weight → ranks, of one set."""
    from eval.queries import read_queries, sample_queries
    from retrieval.graph_retriever import GraphRetriever
    from retrieval.snapshot_engine import open_engine

    engine = open_engine(store)
    labelled = read_queries([queries])
    if any(query.split for query in labelled.queries):
        labelled = read_queries([queries], split=split)
    chosen = sample_queries(labelled, most) if most else labelled
    adjacency = adjacency_of(engine.snapshot)
    vectors = {method: embed(adjacency, seed) for method, embed in EMBEDDINGS.items()}
    retriever = GraphRetriever(engine.snapshot, engine.encoder)
    found: dict[str, dict[str, list[int]]] = {method: {str(weight): [] for weight in WEIGHTS} for method in EMBEDDINGS}
    for query in chosen.queries:
        for (method, weight), rank in _complete_at(retriever, query, vectors).items():
            found[method][str(weight)].append(rank)
    print(f"{queries}: {len(chosen.queries)} requests measured", flush=True)
    return found


def _complete_at(
    retriever: GraphRetriever, query: LabelledQuery, vectors: Mapping[str, Vectors]
) -> dict[tuple[str, float], int]:
    """The rank at which the answer is complete, for each embedding and weight; features are computed once."""
    from retrieval.query.request import Request
    from retrieval.ranking.fusion import FusionRanker
    from retrieval.ranking.weights import FUSION, SHIPPED

    context = retriever.find_candidates(Request(query=query.text, k=max(CUTOFFS), explain=False))
    fused = FusionRanker(SHIPPED, name=FUSION, bounded=True).rank(context)
    found = {}
    for method, of_nodes in vectors.items():
        for weight in WEIGHTS:
            ranking = with_embedding(context, fused, of_nodes, weight)
            ranking = retriever.complete(context, ranking, margin=SHIPPED.resolver_margin, with_features=False)
            tools = [context.snapshot.tool_id(int(ranking.tools[place])) for place in ranking.best(max(CUTOFFS))]
            found[method, weight] = completed_rank(tools, query.slots)
    return found


def choose_without(found: Mapping[str, Ranks], name: str) -> str:
    """The weight with the best mean of CompleteRecall @3, @5 and @10 over the other sets; the lowest of several."""
    others = [ranks for other, ranks in found.items() if other != name]

    def worth(weight: float) -> float:
        return float(np.mean([complete(ranks[str(weight)], cutoff) for ranks in others for cutoff in CUTOFFS]))

    return str(max(WEIGHTS, key=lambda weight: (round(worth(weight), 9), -weight)))


def table(method: str, found: Mapping[str, Ranks]) -> Iterator[str]:
    """Yield the lines of the table of one embedding, in points of CompleteRecall @3 / @5 / @10."""
    yield f"\n### {method}\n"
    fixed = [str(weight) for weight in WEIGHTS if weight]
    yield f"| set | requests | without | weight chosen on the others | gain | {' | '.join(f'gain at {w}' for w in fixed)} |"
    yield f"|---|---:|---:|---:|---:|{'---:|' * len(fixed)}"
    gains: dict[str, list[list[float]]] = {"chosen": [], **{weight: [] for weight in fixed}}
    for name, ranks in found.items():
        weight = choose_without(found, name)
        parts = {"chosen": _gains(name, ranks, weight), **{each: _gains(name, ranks, each) for each in fixed}}
        for key, differences in parts.items():
            gains[key].append([each.value for each in differences])
        without = " / ".join(f"{complete(ranks['0.0'], cutoff):.1f}" for cutoff in CUTOFFS)
        told = [" / ".join(map(_told, differences)) for differences in parts.values()]
        yield f"| {name} | {len(ranks['0.0'])} | {without} | {weight} | {' | '.join(told)} |"
    means = [" / ".join(f"{value:+.1f}" for value in np.mean(values, axis=0)) for values in gains.values()]
    yield f"| **mean** | | | | {' | '.join(means)} |"
    if len(found) > 1:
        for place, cutoff in enumerate(CUTOFFS):
            mean = over_sets([of_set[place] for of_set in gains["chosen"]])
            yield f"\n@{cutoff}: {mean.mean:+.1f} [{mean.low:+.1f}, {mean.high:+.1f}], p {mean.p:.3f}"


def _gains(name: str, ranks: Ranks, weight: str) -> list[Difference]:
    return [difference(ranks, weight, "0.0", cutoff, stratum=name) for cutoff in CUTOFFS]


def _told(one: Difference) -> str:
    text = f"{one.value:+.1f}"
    return f"**{text}**" if one.sure else text


if __name__ == "__main__":
    run_command(main)
