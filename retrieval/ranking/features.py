"""The ranking features: one table. One entry adds a feature; the weight 0 removes it.

A feature is one number that a candidate gets for a request. Features are standardised over the candidates (z-scores) and
added up with their weights (:mod:`retrieval.ranking.fusion`), in the order of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from inference.arrays import Floats1d
from retrieval.index.name_coverage import coverage_scores
from retrieval.query.context import QueryContext
from retrieval.query.query import Clause
from retrieval.ranking.graph_support import ensemble_support
from retrieval.ranking.value_support import value_support

__all__ = ["FEATURES", "TEXT_FEATURES", "Compute", "Feature", "bm25", "compute_features", "cosine_name", "cosine_text"]

Tools: TypeAlias = NDArray[np.int64]
Compute: TypeAlias = Callable[[QueryContext, Clause, Tools], Floats1d | None]
"""The values of a feature for these tools, float32 [tools]; None where it cannot be computed, as a cosine without vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One ranking feature.

    :param compute: its raw values for a part of the request, or for all of it.
    :param weight: how much it counts in preset ``default``, 0 to 1,000; only the proportions of the weights matter.
    :param baseline_weight: how much it counts in the baselines. Never changed, so that baselines stay comparable.
    :param text: whether it compares texts, so that it has a value for every tool, whatever the graph.
    """

    name: str
    compute: Compute
    weight: float
    baseline_weight: float = 0.0
    text: bool = True


def bm25(field: str) -> Compute:
    """BM25 over one field of :data:`retrieval.index.text_fields.FIELDS`, >= 0."""
    return lambda context, clause, tools: context.snapshot.fields[field].scores_of(tools, clause.weights)


def cosine_text(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d | None:
    """Cosine of title and description, in [-1, 1]."""
    return context.cosines("vectors", clause, tools)


def cosine_name(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d | None:
    """Cosine of the name, in [-1, 1]."""
    return context.cosines("name_vectors", clause, tools)


def name_coverage(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d:
    """The share of the tool's name that the request names, weighted by inverse document frequency, in [0, 1]."""
    return coverage_scores(context.snapshot.names_index, clause.weights, tools)


def graph_support(context: QueryContext, clause: Clause, tools: Tools) -> Floats1d:
    """Logarithm of the support by the ensemble of ego graphs of the whole request, >= 0."""
    support: Floats1d = np.log1p(ensemble_support(context, tools))
    return support


# The weights are the middle of a broad optimum over nine open sets: a search that never sees a set chooses weights that do
# nearly as well on it (``python -m research.unseen``).
FEATURES: tuple[Feature, ...] = (
    Feature(name="bm25_text", compute=bm25("text"), weight=0.5, baseline_weight=1.0),
    Feature(name="bm25_params", compute=bm25("params"), weight=0.5, baseline_weight=0.5),
    Feature(name="bm25_returns", compute=bm25("returns"), weight=0.4),
    Feature(name="bm25_values", compute=bm25("values"), weight=0.4),
    Feature(name="cosine_text", compute=cosine_text, weight=1.5, baseline_weight=1.0),
    Feature(name="cosine_name", compute=cosine_name, weight=0.5, baseline_weight=0.5),
    Feature(name="name_coverage", compute=name_coverage, weight=0.5),
    Feature(name="graph_support", compute=graph_support, weight=1.0, text=False),
    Feature(name="value_support", compute=value_support, weight=2.0, text=False),
)
"""All features, in the order in which they are added up."""
TEXT_FEATURES = tuple(feature.name for feature in FEATURES if feature.text)
"""The names of those that compare texts."""
_BY_NAME: Mapping[str, Feature] = {feature.name: feature for feature in FEATURES}


def compute_features(context: QueryContext, tools: Tools, names: Iterable[str]) -> dict[str, Floats1d]:
    """The raw values of the features of these names for the whole request, float32 [tools] each.

    What cannot be computed is left out.
    """
    computed = {name: _BY_NAME[name].compute(context, context.query, tools) for name in names}
    return {name: values for name, values in computed.items() if values is not None}
