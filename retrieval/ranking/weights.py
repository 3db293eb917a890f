"""Ranking weights: how much each feature counts when preset ``default`` ranks; a snapshot may have its own.

The shipped weights were chosen over nine open sets. A catalogue with labelled requests can have better ones: then its
manifest holds them, so the weights are part of a snapshot's content and of its id.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ontology.errors import InvalidArgumentError, SnapshotVersionError
from retrieval.ranking.features import FEATURES, TEXT_FEATURES
from retrieval.snapshot.manifest import MANIFEST, MAX_WEIGHT, RankingSection
from retrieval.snapshot.reader import Snapshot

BASELINE_FUSION = "fusion.v1"  # the embedded ranker of the baselines
FUSION = "fusion.v2"  # the embedded ranker of ``default``, whose weights a snapshot may have
_SHIPPED: Mapping[str, float] = {
    **{feature.name: feature.weight for feature in FEATURES},
    "clause_fusion": 3.0,
    "system_coherence": 0.7,
    "resolver_margin": 0.5,
}


class RankingWeights(Mapping[str, float]):
    """The weight of every feature of :data:`retrieval.ranking.features.FEATURES`, and three parameters. Immutable.

    ``clause_fusion`` is the weight of clause fusion, in standard deviations of the weighted sum of the features;
    ``system_coherence`` is the weight of :mod:`retrieval.ranking.features`, in the same unit;
    ``resolver_margin`` is how many standard deviations of the scores a resolver of confidence 1 ends below the tool that
    needs it.

    :param weights: name → value from 0 to 1,000; a name that is left out has its shipped value.
    :raises InvalidArgumentError: naming the weight that is unknown or out of range.
    """

    __slots__ = ("_values",)

    def __init__(self, **weights: float) -> None:
        for name, value in weights.items():
            if name not in _SHIPPED:
                problem = f"there is no weight of that name; known: {', '.join(_SHIPPED)}"
                raise InvalidArgumentError(problem, subject=name)
            if not math.isfinite(value) or not 0 <= value <= MAX_WEIGHT:
                problem = f"a weight is a number from 0 to {MAX_WEIGHT:,.0f}, not {value!r}"
                raise InvalidArgumentError(problem, subject=f"weight {name}")
        self._values = {name: float(weights.get(name, value)) for name, value in _SHIPPED.items()}
        if not any(self[name] for name in TEXT_FEATURES):
            raise InvalidArgumentError("all text features have the weight 0", subject="weights")

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.values()))

    def __repr__(self) -> str:
        return f"RankingWeights({', '.join(f'{name}={value:g}' for name, value in self.items())})"

    def replace(self, **weights: float) -> RankingWeights:
        """The same weights but for these."""
        return RankingWeights(**{**self, **weights})

    @property
    def features(self) -> dict[str, float]:
        """The weights of the features, in the order in which they are added up."""
        return {feature.name: self[feature.name] for feature in FEATURES}

    @property
    def resolver_margin(self) -> float:
        """How many standard deviations of the scores a resolver ends below the tool that needs it."""
        return self["resolver_margin"]


SHIPPED = RankingWeights()
# The weights of the baselines: a flat hybrid with calibrated scores.
BASELINE = RankingWeights(
    **{feature.name: feature.baseline_weight for feature in FEATURES}, clause_fusion=0.0, system_coherence=0.0
)


def ranking_section(weights: RankingWeights) -> RankingSection | None:
    """The weights as a manifest holds them; None for the shipped ones."""
    return None if weights == SHIPPED else RankingSection(ranker=FUSION, weights=dict(weights))


def weights_of(snapshot: Snapshot) -> RankingWeights:
    """The weights of a snapshot; the shipped ones where its manifest has none. A feature that the manifest does not name
    has weight 0: the weights were tuned without it.

    :raises SnapshotVersionError: when they are of a ranker, or have a weight, that this egotools does not know.
    """
    section = snapshot.manifest.ranking
    if section is None:
        return SHIPPED
    subject = str(snapshot.folder / MANIFEST)
    unknown = sorted(set(section.weights) - set(SHIPPED))
    if section.ranker != FUSION or unknown:
        of = f"{section.ranker!r} with a weight {unknown[0]!r}" if unknown else repr(section.ranker)
        problem = f"the snapshot is ranked by {of}; this egotools knows {FUSION!r} with {', '.join(SHIPPED)}"
        remedy = "Serve it with the egotools that wrote it, or publish an older snapshot"
        raise SnapshotVersionError(problem, subject=subject, remedy=remedy)
    return RankingWeights(**{**{feature.name: 0.0 for feature in FEATURES}, **section.weights})
