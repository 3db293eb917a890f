"""Tune the weights on cases and labels, and decide whether to publish them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eval.bootstrap import check
from eval.queries import LabelledQuery
from eval.tuning.cases import NEVER, Cases
from eval.tuning.fit import fit_weights
from eval.tuning.labels import Labels
from eval.tuning.verdict import Ranks, RecallChange, changes, cutoffs_for, rejection
from ontology.progress import Progress, no_progress
from retrieval.ranking.weights import SHIPPED, RankingWeights

__all__ = ["Tuning", "tune_weights"]


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The result of fitting.

    :param k: the decisive cutoff.
    :param before: the present weights of the snapshot.
    :param weights: the fitted weights.
    :param fold_weights: the weights that were measured on held-out paths, one for each fold; their spread shows the
        uncertainty of the fit. Empty where nothing was fitted.
    :param strength: regularisation strength; infinite where the weights are the shipped ones.
    :param held_out: CompleteRecall before and after, each request with weights that were fitted without its group.
    :param test: the same for the test requests, with ``weights``; empty where there are none.
    :param not_completable: share of the requests that no weights can complete, because a gold tool is not a candidate.
    :param reason: why the weights must not be published; empty where they are better.
    """

    k: int
    seed: int
    before: RankingWeights
    weights: RankingWeights
    fold_weights: tuple[RankingWeights, ...]
    strength: float
    held_out: tuple[RecallChange, ...]
    test: tuple[RecallChange, ...]
    not_completable: float
    reason: str


def tune_weights(
    cases: Cases,
    labels: Labels,
    *,
    before: RankingWeights = SHIPPED,
    k: int = 10,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Tuning:
    """Fit the weights, starting from the shipped ones, to the requests that are not marked as test, and decide whether
    they are better.

    :param cases: one for each of the labels' requests.
    :param before: the present weights of the snapshot; the fitted weights must be better.
    :raises InvalidArgumentError: when the seed is negative.
    """
    check(resamples=1, seed=seed)
    fitted_on, tested_on = np.flatnonzero(~labels.test_Q), np.flatnonzero(labels.test_Q)
    cutoffs = cutoffs_for(k)
    before_Q = cases.completed_at(before)

    def compare(rows: NDArray[np.int64], after_Q: NDArray[np.int64]) -> tuple[RecallChange, ...]:
        queries: list[LabelledQuery] = [labels.queries.queries[row] for row in rows]
        ranks = Ranks(before_Q=before_Q[rows], after_Q=after_Q)
        return changes(queries, labels.groups_Q[rows], ranks, cutoffs=cutoffs, seed=seed) if queries else ()

    unchanged = Tuning(
        k=k,
        seed=seed,
        before=before,
        weights=before,
        fold_weights=(),
        strength=float("inf"),
        held_out=compare(fitted_on, before_Q[fitted_on]),
        test=compare(tested_on, before_Q[tested_on]),
        not_completable=float((before_Q[fitted_on] == NEVER).mean()),
        reason=f"every request is complete at {k} already",
    )
    if (before_Q[fitted_on] <= k).all():
        return unchanged
    fitted = fit_weights(
        cases.subset(fitted_on),
        labels.groups_Q[fitted_on],
        cutoffs=cutoffs,
        seed=seed,
        generated=labels.generated,
        progress=progress,
    )
    held_out = compare(fitted_on, fitted.held_out_Q)
    test = compare(tested_on, cases.completed_at(fitted.weights, tested_on)[tested_on])
    reason = rejection(held_out, test, k=k)
    if fitted.weights == before:
        reason = "the weights that the snapshot has are the best that were found"
    return replace(
        unchanged,
        weights=fitted.weights,
        fold_weights=fitted.fold_weights,
        strength=fitted.strength,
        held_out=held_out,
        test=test,
        reason=reason,
    )
