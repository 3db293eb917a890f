"""Planted cases: requests whose gold tool one feature knows, while the others say anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eval.queries import LabelledQuery, QuerySet
from eval.tuning.cases import Case, Cases
from eval.tuning.labels import Labels, group
from inference import Floats1d
from retrieval.ranking.feature_matrix import FeatureMatrix
from retrieval.ranking.weights import SHIPPED

FEATURES = tuple(SHIPPED.features)
TOOLS = 40


def without_clauses(
    tools: NDArray[np.int64], standardised: Mapping[str, Floats1d], gold: NDArray[np.int64] | None = None
) -> Case:
    """A request without clause fusion, whose answer nothing completes."""
    nothing = np.empty((0, len(tools)), dtype=np.float32)
    return Case(matrix=FeatureMatrix(tools=tools, standardised=standardised, clauses_CT=nothing), gold=gold)


def planted(
    count: int,
    *,
    truth: str = "",
    sure: float = 3.0,
    noise: Sequence[str] = FEATURES,
    seed: int = 7,
    relabelled: int = 0,
) -> tuple[Cases, Labels]:
    """Cases of two gold tools each, and their labels; every two requests are of one path.

    :param truth: the feature that is higher by ``sure`` for gold tools; empty for none.
    :param noise: the features that say anything; those left out say nothing.
    :param relabelled: the first so many requests have other gold tools, under the same features.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    cases, queries = [], []
    for row in range(count):
        if row % 2 == 0:
            tools = random.choice(TOOLS, size=2, replace=False)
        features = {name: random.normal(size=TOOLS).astype(np.float32) for name in FEATURES}
        features |= {name: np.zeros(TOOLS, dtype=np.float32) for name in FEATURES if name not in (*noise, truth)}
        if truth:
            features[truth][tools] += np.float32(sure)
        labelled = (tools + (11 if row < relabelled else 0)) % TOOLS
        gold = np.sort(labelled).astype(np.int64)[:, None]
        cases.append(without_clauses(np.arange(TOOLS, dtype=np.int64), features, gold))
        queries.append(
            LabelledQuery(
                id=f"r{row:04}",
                text=f"request {row}",
                slots=tuple((f"t{tool}",) for tool in labelled),
                request_class="even" if row % 4 < 2 else "odd",
            )
        )
    paths = {query.id: f"p{row // 2:04}" for row, query in enumerate(queries)}
    # By path alone: forty tools make few pairs twice, and what a group is has its own tests.
    groups_Q = np.arange(count, dtype=np.int64) // 2
    assert len(set(group(queries, paths).tolist())) <= len(set(groups_Q.tolist()))
    labels = Labels(
        queries=QuerySet(name="planted", queries=tuple(queries), sha256="0" * 64),
        groups_Q=groups_Q,
        test_Q=np.zeros(count, dtype=bool),
    )
    return Cases(cases), labels
