"""RankingWeights: how much each feature says when preset ``default`` ranks; a snapshot may carry its own.

They were chosen over nine open sets, and a catalogue with labelled requests of its own can have better ones. Then its
manifest says them, under ``ranking``; where it says nothing the shipped ones hold. So what ranks is part of what a snapshot
is, and of its id.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ontology.errors import InvalidArgumentError, SnapshotCorruptError, SnapshotVersionError

__all__ = ["FUSED", "FUSION", "MANIFEST_KEY", "PLAIN", "SHIPPED", "RankingWeights", "read_weights", "weights_to_json"]

FUSION = "fusion.v2"
"""Whose weights they are."""
MANIFEST_KEY = "ranking"
FUSED = ("bm25_text", "bm25_params", "bm25_returns", "bm25_values", "cosine_text", "cosine_name", "name_coverage")
"""The text features that are added up."""
_MOST = 1_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """The parameters of the ranking, each finite and from 0 to 1,000; of the features only their proportion matters.

    They are the middle of a broad top over nine open sets: a search that never sees a set chooses weights that do nearly as
    well on it (``python -m research.leave_one_catalogue_out``).

    :param bm25_text: of BM25 of title and description.
    :param bm25_params: of BM25 of the parameters.
    :param bm25_returns: of BM25 of the outputs.
    :param bm25_values: of BM25 of the values that inputs may have.
    :param cosine_text: of the cosine of title and description.
    :param cosine_name: of the cosine of the name.
    :param name_coverage: of how much of the name the request says.
    :param graph_support: of what the ensemble of ego graphs says.
    :param clause_fusion: of the votes of the clauses, in standard deviations of the sum of the features above a vote.
    :param resolver_margin: standard deviations of the scores that a sure resolver ends below the tool that needs it.
    :raises InvalidArgumentError: naming the weight.
    """

    bm25_text: float = 0.5
    bm25_params: float = 0.5
    bm25_returns: float = 0.4
    bm25_values: float = 0.4
    cosine_text: float = 1.5
    cosine_name: float = 0.5
    name_coverage: float = 0.5
    graph_support: float = 1.0
    clause_fusion: float = 3.0
    resolver_margin: float = 0.5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not math.isfinite(value) or not 0 <= value <= _MOST:
                raise InvalidArgumentError(
                    f"a weight is a number from 0 to {_MOST:,.0f}, not {value!r}", subject=f"weight {name}"
                )
        if not any(self.fusion.values()):
            raise InvalidArgumentError("all text features have the weight 0", subject="weights")

    @property
    def fusion(self) -> dict[str, float]:
        """The weights of the text features, in the order in which they are added up."""
        return {name: getattr(self, name) for name in FUSED}

    @property
    def features(self) -> dict[str, float]:
        """The weights of all features, in the order in which they are added up."""
        return {**self.fusion, "graph_support": self.graph_support}


SHIPPED = RankingWeights()
PLAIN = RankingWeights(
    bm25_text=1.0,
    bm25_params=0.5,
    bm25_returns=0.0,
    bm25_values=0.0,
    cosine_text=1.0,
    cosine_name=0.5,
    name_coverage=0.0,
    graph_support=0.0,
    clause_fusion=0.0,
)
"""What a flat hybrid with calibrated scores would be. The yardsticks are weighed by it, so it is fixed."""


def weights_to_json(weights: RankingWeights) -> dict[str, Any]:
    """What a manifest says of them."""
    return {"ranker": FUSION, "weights": asdict(weights)}


def read_weights(manifest: Mapping[str, Any], *, subject: str) -> RankingWeights:
    """The weights that a manifest says; the shipped ones where it says none.

    :param subject: of errors: the manifest's file.
    :raises SnapshotVersionError: when they are of a ranker, or name a weight, that this egotools does not know.
    :raises SnapshotCorruptError: when they are no weights.
    """
    if MANIFEST_KEY not in manifest:
        return SHIPPED
    said = manifest[MANIFEST_KEY]
    values = said.get("weights") if isinstance(said, dict) else None
    if not isinstance(values, dict) or not isinstance(said.get("ranker"), str):
        raise _corrupt("they are no weights of a ranker", subject)
    known = [field.name for field in fields(RankingWeights)]
    strange = sorted(set(values) - set(known))
    if said["ranker"] != FUSION or strange:
        raise SnapshotVersionError(
            f"the snapshot is ranked by {said['ranker']!r}"
            + (f" with a weight {strange[0]!r}" if strange else "")
            + f"; this egotools knows {FUSION!r} with {', '.join(known)}",
            subject=subject,
            remedy="Serve it with the egotools that wrote it, or publish an older snapshot",
        )
    for name in known:
        if isinstance(values.get(name), bool) or not isinstance(values.get(name), int | float):
            raise _corrupt(f"{name!r} is {values.get(name, 'not there')!r}", subject)
    try:
        return RankingWeights(**{name: float(values[name]) for name in known})
    except (InvalidArgumentError, OverflowError) as error:
        raise _corrupt(str(error), subject) from error


def _corrupt(problem: str, subject: str) -> SnapshotCorruptError:
    return SnapshotCorruptError(
        f"the ranking weights cannot be read: {problem.rstrip('.')}",
        subject=subject,
        remedy="Build again, or publish an older snapshot",
    )
