"""The levers: each learns from requests of a catalogue, and returns what ranks the candidates of another request."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d, Floats2d
from research.tune_levers.kept_requests import Catalogue, Kept
from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, tool_needs
from retrieval.query.context import QueryContext
from retrieval.query.query import Clause, Query
from retrieval.ranking.clause_fusion import clause_scores
from retrieval.ranking.feature_matrix import feature_matrix
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import SHIPPED
from retrieval.snapshot.reader import Snapshot

__all__ = ["Lever", "companions", "mapped", "prior", "shares_of"]

Ranks: TypeAlias = Callable[[Kept], Ranking]
Lever: TypeAlias = Callable[[Catalogue, Sequence[Kept]], Ranks]
_ANCHORS = 3
"""The best tools whose companions are raised, as in :mod:`retrieval.learned_ranking`."""
_EDGE_SHARE = 0.5
"""To which the share of a pair with an edge is shrunk; that of others to 0."""
_LEAST_SHARE = 0.2
"""Below it no companion is placed."""


def prior(*, ridge: float, weight: float, steps: bool = False) -> Lever:
    """Tools that are needed more often than their scores say: the log odds of a logistic regression on the score, one Newton step with
    a ridge on each tool, added to the score.

    :param steps: whether only requests of several steps are learned from, and only tools that another one needs are moved.
    """

    def learn(catalogue: Catalogue, rows: Sequence[Kept]) -> Ranks:
        rows = [one for one in rows if one.steps or not steps]
        if not rows:
            return _unchanged
        z = np.concatenate([_behind(one.completed) for one in rows])
        y = np.concatenate([np.isin(one.completed.tools, one.needed) for one in rows]).astype(np.float64)
        tools = np.concatenate([one.completed.tools for one in rows])
        slope, offset = _logistic(z, y)
        if slope <= 0:  # scores say nothing of what is needed
            return _unchanged
        p = 1 / (1 + np.exp(-(offset + slope * z)))
        size = catalogue.snapshot.tool_count
        log_odds = np.bincount(tools, y - p, size) / (np.bincount(tools, p * (1 - p), size) + ridge)
        if steps:
            log_odds[np.setdiff1d(np.arange(size), [source for one in rows for source, _ in one.steps])] = 0.0
        added = (weight / slope * log_odds).astype(np.float32)

        def rank(one: Kept) -> Ranking:
            ranking = one.completed
            return replace(ranking, scores=ranking.scores + _spread(ranking) * added[ranking.tools])

        return rank

    return learn


def _unchanged(one: Kept) -> Ranking:
    return one.completed


def _spread(ranking: Ranking) -> float:
    return float(ranking.scores.std()) or 1.0


def _behind(ranking: Ranking) -> NDArray[np.float64]:
    """How far each tool is behind the best, in standard deviations of the scores, <= 0."""
    behind_T: NDArray[np.float64] = ((ranking.scores - ranking.scores.max()) / _spread(ranking)).astype(np.float64)
    return behind_T


def _logistic(z: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """The slope and the offset of a logistic regression, by Newton's method."""
    X = np.column_stack([z, np.ones_like(z)])
    found = np.array([1.0, 0.0])
    for _ in range(30):
        p = 1 / (1 + np.exp(-X @ found))
        curvature = (X * (p * (1 - p))[:, None]).T @ X + 1e-6 * np.eye(2)
        found = found + np.linalg.solve(curvature, X.T @ (y - p))
    return float(found[0]), float(found[1])


def companions(*, pseudo: float, steps: bool = False, weight: float = 0.0, cost: float | None = None) -> Lever:
    """Tools that generated requests need with the best ones.

    :param pseudo: pseudo-count of the shrinkage.
    :param steps: whether only the steps of requests count, and not every pair of a gold set.
    :param weight: of the share in standard deviations of the scores; it is added.
    :param cost: how far below its partner a companion of share 1 is placed, instead; it never falls.
    """

    def learn(catalogue: Catalogue, rows: Sequence[Kept]) -> Ranks:
        shares = shares_of(rows, _linked(catalogue.snapshot), pseudo, steps=steps)

        def rank(one: Kept) -> Ranking:
            ranking = one.completed
            raised = _raised(ranking, shares, cost)
            tools = np.array(sorted(raised), dtype=np.int64)
            joined = ranking.with_tools(tools)
            places, scores = np.searchsorted(joined.tools, tools), joined.scores.copy()
            values = np.array([raised[tool] for tool in tools.tolist()], dtype=np.float32)
            if cost is None:
                scores[places] += weight * _spread(ranking) * values
            else:
                scores[places] = np.maximum(scores[places], values)
            return replace(joined, scores=scores)

        return rank

    return learn


def shares_of(
    rows: Sequence[Kept], linked: set[tuple[int, int]], pseudo: float, *, steps: bool
) -> Mapping[int, Mapping[int, float]]:
    """Tool → companion → the share of the requests with the tool that need the companion, shrunk. Requests of one path and gold set count once."""
    distinct = {(one.group, tuple(one.needed.tolist())): one for one in rows}
    of_tool: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    for (_, needed), one in distinct.items():
        of_tool.update(needed)
        if steps:
            pairs.update((target, source) for source, target in one.steps)
        else:
            pairs.update((tool, other) for tool in needed for other in needed if tool != other)
    shares: dict[int, dict[int, float]] = {}
    for (tool, other), count in pairs.items():
        prior_count = pseudo * _EDGE_SHARE * ((tool, other) in linked)
        shares.setdefault(tool, {})[other] = (count + prior_count) / (of_tool[tool] + pseudo)
    return shares


def _linked(snapshot: Snapshot) -> set[tuple[int, int]]:
    """A tool with one that meets a need of it."""
    predicates = {DEPENDS_ON, RESOLVED_BY, SUPPLIES} & set(snapshot.predicates)
    return {
        (tool, supplier.tool)
        for tool in range(snapshot.tool_count if predicates else 0)
        for need in tool_needs(snapshot, predicates, tool)
        for supplier in need.suppliers
    }


def _raised(ranking: Ranking, shares: Mapping[int, Mapping[int, float]], cost: float | None) -> dict[int, float]:
    """Companion of a best tool → its share, less the further its partner is behind; or the score at which it is placed."""
    spread, raised = _spread(ranking), dict[int, float]()
    best = ranking.best(_ANCHORS)
    for place in best:
        score = float(ranking.scores[place])
        behind = (score - float(ranking.scores[best[0]])) / spread
        for tool, share in shares.get(int(ranking.tools[place]), {}).items():
            if cost is None:
                raised[tool] = max(raised.get(tool, 0.0), math.exp(behind) * share)
            elif share >= _LEAST_SHARE:
                raised[tool] = max(raised.get(tool, -math.inf), score - spread * (cost - math.log(share)))
    return raised


def mapped(*, ridge: float, contrast: int = 0, tools: bool = False) -> Lever:
    """A linear map of the vectors of a request and its clauses, or of the tools: ridge regression in closed form, towards the identity.

    :param ridge: relative to the mean eigenvalue.
    :param contrast: the request moves away from so many best tools that are not needed; 0: from where it is.
    :param tools: whether the vector of a tool moves towards those of the requests that need it, instead of the other way round.
    """

    def learn(catalogue: Catalogue, rows: Sequence[Kept]) -> Ranks:
        pairs = [pair for one in rows for pair in _pairs(catalogue.snapshot, one, contrast, tools=tools)]
        from_ND, change_ND = (np.asarray(part, dtype=np.float64) for part in zip(*pairs, strict=True))
        size = from_ND.shape[1]
        penalty_DD = ridge * np.square(from_ND).sum() / size * np.eye(size)
        map_DD = np.linalg.solve(from_ND.T @ from_ND + penalty_DD, from_ND.T @ change_ND).astype(np.float32)

        def rank(one: Kept) -> Ranking:
            context = one.context
            if tools:
                again = _context(context, context.query)
                tools_TD = _moved(catalogue.snapshot.vectors.rows(context.candidates), map_DD)
                parts = (context.query, *context.query.clauses)
                again._cosines["vectors"] = [tools_TD @ part.vector_D for part in parts if part.vector_D is not None]
            else:
                again = _context(context, _mapped_query(context.query, map_DD))
            scores = feature_matrix(again).scores(SHIPPED)
            ranking = Ranking(tools=again.candidates, scores=scores, features={})
            return catalogue.retriever.complete(again, ranking, margin=SHIPPED.resolver_margin, with_features=False)

        return rank

    return learn


def _pairs(snapshot: Snapshot, one: Kept, contrast: int, *, tools: bool) -> Iterator[tuple[Floats1d, Floats1d]]:
    """Vectors with how they should change: of the whole request, and for each needed tool of the clause that is nearest to it."""
    for part, needed, scores in _parts(one):
        needed_ND = snapshot.vectors.rows(needed)
        if part.vector_D is None:
            continue
        if tools:
            yield from ((row, part.vector_D - row) for row in needed_ND)
            continue
        away = part.vector_D
        if contrast:
            order = one.context.candidates[np.argsort(-scores)]
            away = snapshot.vectors.rows(order[~np.isin(order, one.needed)][:contrast]).mean(axis=0)
        yield part.vector_D, needed_ND.mean(axis=0) - away


def _parts(one: Kept) -> Iterator[tuple[Clause, NDArray[np.int64], Floats1d]]:
    context, needed = one.context, one.needed
    if not len(needed):
        return
    yield context.query, needed, one.fused.scores
    if context.query.clauses:
        clauses_CT = clause_scores(context)
        for tool in needed[np.isin(needed, context.candidates)]:
            nearest = int(clauses_CT[:, np.searchsorted(context.candidates, tool)].argmax())
            yield context.query.clauses[nearest], np.array([tool]), clauses_CT[nearest]


def _moved(rows_ND: Floats2d, map_DD: Floats2d) -> Floats2d:
    moved_ND = rows_ND + rows_ND @ map_DD
    unit: Floats2d = (moved_ND / np.linalg.norm(moved_ND, axis=-1, keepdims=True)).astype(np.float32)
    return unit


def _mapped_query(query: Query, map_DD: Floats2d) -> Query:
    def moved(vector_D: Floats1d | None) -> Floats1d | None:
        return None if vector_D is None else _moved(vector_D[None], map_DD)[0]

    clauses = tuple(replace(clause, vector_D=moved(clause.vector_D)) for clause in query.clauses)
    return replace(query, vector_D=moved(query.vector_D), clauses=clauses)


def _context(context: QueryContext, query: Query) -> QueryContext:
    """The same candidates under another analysed query, with nothing computed that depends on its vectors."""
    again = QueryContext(request=context.request, snapshot=context.snapshot)
    again.query, again.allowed, again.entries = query, context.allowed, context.entries
    again.candidates, again.named, again.done = context.candidates, context.named, context.done
    again._ego_tools, again._support = context._ego_tools, context._support
    return again
