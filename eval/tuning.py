"""Tuning: ranking weights searched on one part of labelled requests, and judged on the other.

The parts share no gold set. The candidates of a request are found once; other weights only rank them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from eval.learning import verdict
from eval.queries import LabelledQuery, read_queries
from ontology.errors import DocumentError, InvalidArgumentError
from ontology.reporting import Progress, no_progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.fusion import FeatureMatrix, feature_matrix
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import SHIPPED, RankingWeights
from retrieval.snapshot.reader import Snapshot

MIN_GOLD_SETS = 10  # different gold sets that each of the two parts needs
NEVER = np.iinfo(np.int64).max  # the rank at which a request is complete of which a needed tool is not ranked
_COST = 0.003  # the gain that one squared octave (a factor of two) of distance from a shipped weight must bring
_OCTAVES = (0, -1, 1, -2, 2)
_CUTOFFS = (3, 5, 10, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request with the features of its candidates."""

    matrix: FeatureMatrix
    # for each slot the numbers of its tools; None where the snapshot has no tool of a slot
    gold: Sequence[Sequence[int]] | None
    gold_set: tuple[str, ...] = ()  # names its tools; requests with the same one are one witness
    complete: Callable[..., Ranking] | None = None  # completes a ranking of the candidates with a margin of resolvers

    def completed_at(self, weights: RankingWeights) -> int:
        """Return the rank, from 1, at which the last slot is filled with these weights; or :data:`NEVER`."""
        if self.gold is None:
            return NEVER
        ranking = Ranking(tools=self.matrix.tools, scores=self.matrix.scores(weights), features={})
        if self.complete is not None:
            ranking = self.complete(ranking, margin=weights.resolver_margin)
        order = ranking.tools[ranking.best(len(ranking.tools))].tolist()
        ranks = {tool: rank for rank, tool in enumerate(order, start=1)}
        return max(min(ranks.get(tool, NEVER) for tool in slot) for slot in self.gold)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What was found: numbers of requests, CompleteRecall@k on the held-out ones, and of how many gold sets more or fewer are complete."""

    k: int
    searched: int
    held_out: int
    recall_before: float
    recall_after: float
    gained: int
    lost: int
    p_value: float  # two-sided, of McNemar's exact test over gold sets
    before: dict[str, float]  # the weights of the snapshot; ``found`` are those of the search
    found: dict[str, float]
    reason: str  # why these must not be published; empty where they are better


def read_parts(place: Path, *, seed: int = 0) -> tuple[list[LabelledQuery], list[LabelledQuery]]:
    """Return labelled requests of a file, or ``queries.jsonl`` of a folder: those to search on, and those to judge on.

    Rows with ``"split": "test"`` are held out, but for those whose gold set is searched on; without any, half of the gold sets is.

    :raises DocumentError: when the file cannot be read, or for rows that are not labelled requests.
    :raises InvalidArgumentError: when requests were generated, or a part has fewer than 10 gold sets.
    """
    file = place / "queries.jsonl" if place.is_dir() else place
    queries = read_queries([file]).queries
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip())
    if generated := sum(row.get("generator", "hand") != "hand" for row in rows):
        problem = f"{generated} of {len(queries)} requests were generated: what weights gain on those they need not gain on requests of people"
        remedy = "Tune on requests that people made, each with the tools that it needs"
        raise InvalidArgumentError(problem, subject=str(file), remedy=remedy)
    for query in queries:
        if query.split not in ("", "dev", "test"):
            problem = f"the request {query.id!r} has the split {query.split!r}"
            raise DocumentError(problem, subject=str(file), remedy="Use dev or test, or omit the split")
    test = [query for query in queries if query.split == "test"]
    gold_sets = sorted(set(map(_gold_set, queries)))
    drawn = np.random.default_rng(seed).permutation(len(gold_sets))[: len(gold_sets) // 2].tolist()
    apart = {gold_sets[at] for at in drawn}
    searched = [query for query in queries if (query.split != "test" if test else _gold_set(query) not in apart)]
    known = set(map(_gold_set, searched))
    held_out = [query for query in test or queries if _gold_set(query) not in known]
    for purpose, part in (("search on", searched), ("hold out", held_out)):
        if (count := len(set(map(_gold_set, part)))) < MIN_GOLD_SETS:
            problem = f"the requests to {purpose} have {count} different gold sets, and {MIN_GOLD_SETS} are needed"
            raise InvalidArgumentError(problem, subject=str(file), remedy="Label more requests that need other tools")
    return searched, held_out


def _gold_set(query: LabelledQuery) -> tuple[str, ...]:
    return tuple(sorted(query.tools))


def collect(
    retriever: GraphRetriever, snapshot: Snapshot, queries: Sequence[LabelledQuery], progress: Progress
) -> list[Case]:
    """Find the candidates of every request and compute their features.

    :raises ModelError: when the retriever's encoder is down.
    """
    cases = []
    for done, query in enumerate(queries, start=1):
        context = retriever.find_candidates(Request(query=query.text))
        complete = partial(retriever.complete, context, with_features=False)
        nodes = [[snapshot.find_node(f"tool:{tool}") for tool in slot] for slot in query.slots]
        known = [[node for node in slot if node is not None] for slot in nodes]
        gold = known if all(known) else None
        cases.append(Case(matrix=feature_matrix(context), gold=gold, gold_set=_gold_set(query), complete=complete))
        progress("candidates", done, len(queries))
    return cases


def tune(
    searched: Sequence[Case],
    held_out: Sequence[Case],
    *,
    before: RankingWeights = SHIPPED,
    k: int = 10,
    progress: Progress = no_progress,
) -> Tuning:
    """Search weights on some requests, from the shipped ones, and decide on others whether they are better than the present ones.

    :param before: the present weights of the snapshot.
    """
    weights = _search(searched, (*(cutoff for cutoff in _CUTOFFS if cutoff < k), k), progress)
    old, new = ([case.completed_at(each) <= k for case in held_out] for each in (before, weights))
    net = dict.fromkeys((case.gold_set for case in held_out), 0)
    for case, was, now in zip(held_out, old, new, strict=True):
        net[case.gold_set] += now - was
    gained, lost = sum(change > 0 for change in net.values()), sum(change < 0 for change in net.values())
    told = f"on held-out requests CompleteRecall@{k} goes from {sum(old) / len(old):.1%} to {sum(new) / len(new):.1%}"
    p_value, reason = verdict(told, gained, lost)
    if weights == before:
        reason = "the weights that the snapshot has are the best that were found"
    elif sum(new) <= sum(old):
        reason = f"{told}: nothing is gained"
    return Tuning(
        k=k,
        searched=len(searched),
        held_out=len(held_out),
        recall_before=round(sum(old) / len(old), 4),
        recall_after=round(sum(new) / len(new), 4),
        gained=gained,
        lost=lost,
        p_value=round(p_value, 6),
        before=dict(before),
        found=dict(weights),
        reason=reason,
    )


def _search(cases: Sequence[Case], cutoffs: Sequence[int], progress: Progress) -> RankingWeights:
    """Coordinate ascent: a weight moves where that gains more than the distance from its shipped value costs."""
    octaves = dict.fromkeys(SHIPPED, 0)
    # What the shipped weights do not rank, hardly any weights do, and of a large catalogue that may be half of the requests.
    ranked = [case for case in cases if case.completed_at(SHIPPED) != NEVER]

    def weights() -> RankingWeights:
        return RankingWeights(**{name: round(SHIPPED[name] * 2.0**at, 6) for name, at in octaves.items()})

    def worth() -> float:
        """A smooth CompleteRecall: a sigmoid replaces the step at each cutoff, as to be complete at 11 instead of 12 is worth more."""
        chosen = weights()
        ranks_Q = np.array([case.completed_at(chosen) for case in ranked], dtype=np.float64)
        shares_KQ = ranks_Q / (np.asarray(cutoffs, dtype=np.float64)[:, None] + 0.5)
        gain = float((1.0 / (1.0 + shares_KQ**4)).mean()) * len(ranked) / len(cases) if ranked else 0.0
        return gain - _COST * sum(at**2 for at in octaves.values())

    most = worth()
    for place, name in enumerate(names := [*SHIPPED, *SHIPPED]):
        progress("fit", place, len(names))
        best = octaves[name]
        for octaves[name] in _OCTAVES:
            if (found := worth()) > most + 1e-6:
                best, most = octaves[name], found
        octaves[name] = best
    progress("fit", len(names), len(names))
    return weights()
