"""Completion evidence: what the plans of a request say of each candidate, as arrays for a ranker that is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inference.arrays import Floats1d
from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY
from retrieval.query.supporting_tool import SupportingTool
from retrieval.ranking.ranking import Ranking

__all__ = ["EVIDENCE", "completion_evidence"]

EVIDENCE = (
    "support_nearness",
    "support_confidence",
    "support_required",
    "support_resolver",
    "support_first",
    "support_steps",
    "support_puller",
    "support_pullers",
)
"""The names of the arrays; every one is 0 for a tool that supports none."""


def completion_evidence(ranking: Ranking, supporting: Sequence[SupportingTool]) -> Mapping[str, Floats1d]:
    """What is known of each tool of a ranking as a supporting tool, float32 [tools] each, in the order of :data:`EVIDENCE`.

    Of several reasons the one counts that places the tool highest. ``support_nearness`` is e to the power of −cost, in (0, 1);
    ``support_confidence`` that of the last edge, in (0, 1]; ``support_required`` is 1 for a required input and a tool that must go first;
    ``support_resolver`` and ``support_first`` are 1 for edges ``resolved_by`` and ``depends_on``; ``support_steps`` counts the steps;
    ``support_puller`` is 1 / rank of the tool that pulls, in (0, 1]; ``support_pullers`` is how many tools pull.

    :param ranking: tools ascending. A supporting tool that is not among them has no row: see
        :func:`retrieval.completion.complete.with_tools`.
    :param supporting: as :meth:`retrieval.completion.complete.Completion.supporting_tools` gives them, for this ranking.
    """
    arrays = {name: np.zeros(len(ranking.tools), dtype=np.float32) for name in EVIDENCE}
    places = {int(tool): place for place, tool in enumerate(ranking.tools)}
    ranks = np.empty(len(ranking.tools), dtype=np.int64)
    ranks[ranking.best(len(ranks))] = np.arange(1, len(ranks) + 1)
    spread = float(ranking.scores.std()) if len(ranks) else 0.0
    highest: dict[int, float] = {}
    for each in supporting:
        at, puller = places.get(each.tool), places[each.answers]
        if at is None:
            continue
        arrays["support_pullers"][at] += 1
        score = float(ranking.scores[puller]) - each.cost * (spread or 1.0)
        if score <= highest.get(at, -np.inf):
            continue
        highest[at] = score
        values = (
            np.exp(-each.cost),
            each.confidence,
            each.required,
            each.predicate == RESOLVED_BY,
            each.predicate == DEPENDS_ON,
            each.steps,
            1 / ranks[puller],
        )
        for name, value in zip(EVIDENCE, values, strict=False):
            arrays[name][at] = value
    return arrays
