"""The way back of a tuning: the tools of a snapshot stay, and the ranking weights before the present ones are published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ontology.errors import NotFoundError
from retrieval.ranking.weights import SHIPPED, RankingWeights, weights_of
from retrieval.snapshot.collect import collect_after
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.reweight import publish_reweighted, rolled_back
from services.jobs.plans import DEFAULT_KEEP, TuningPlan
from services.jobs.tune import copy_build_report, target_store

__all__ = ["WeightsRollback", "roll_back_weights"]


@dataclass(frozen=True, kw_only=True)
class WeightsRollback:
    """The result.

    :param snapshot_id: the snapshot that was published before.
    :param published: id of the snapshot that is served now.
    :param weights: its weights.
    """

    snapshot_id: str
    published: str
    weights: RankingWeights

    def to_json(self) -> dict[str, Any]:
        """The JSON form, printed by ``--json``."""
        return {
            "snapshot_id": self.snapshot_id,
            "published": True,
            "published_id": self.published,
            "weights": dict(self.weights),
            "shipped": self.weights == SHIPPED,
        }

    @property
    def outcome(self) -> str:
        """The result in one sentence."""
        which = "the shipped weights" if self.weights == SHIPPED else "the tuned weights before"
        return f"Snapshot {self.published}, with {which}, was published in place of {self.snapshot_id}, and serves now."


def roll_back_weights(plan: TuningPlan) -> WeightsRollback:
    """Publish the content of a snapshot with the ranking weights before the present ones, atomically.

    With the shipped weights this is the snapshot that the build wrote, with the same id. What was built, changed or learned since the
    tuning stays: ``egotools rollback`` goes back to an earlier snapshot as a whole.

    :raises NotFoundError: when the snapshot has the shipped weights.
    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    store = target_store(plan)
    replaces = published_id(store)
    snapshot = open_snapshot(plan.snapshot)
    section = snapshot.manifest.ranking
    if section is None:
        raise NotFoundError(
            "the snapshot has the shipped weights, and none before them",
            subject=snapshot.id,
            remedy="Go back to an earlier snapshot with: egotools rollback --store STORE",
        )
    published = publish_reweighted(
        snapshot, store, rolled_back(section), replaces=replaces, signing_key=plan.signing_key
    )
    copy_build_report(snapshot, store, published)
    collect_after(store, DEFAULT_KEEP)
    return WeightsRollback(snapshot_id=snapshot.id, published=published, weights=weights_of(open_snapshot(store)))
