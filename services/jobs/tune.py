"""Tuning: a snapshot and labelled requests in; a version with better ranking weights out, or the reason why not. And its way back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eval.graph_quality import copy_build_report
from eval.queries import QuerySet, missing_gold, require_gold
from eval.tuning import Tuning, collect, read_parts, tune
from inference.encoder import Encoder
from ingest.build_report import keep_report
from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.reporting import Progress
from retrieval.engine import open_engine
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import DEFAULT_PRESET
from retrieval.ranking.weights import SHIPPED, RankingWeights, ranking_section, weights_of
from retrieval.snapshot.collect import collect_after
from retrieval.snapshot.manifest import Layout, RankingSection
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.publish_version import publish_reweighted, rolled_back, tuned_after
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.plans import DEFAULT_KEEP, TuningPlan

__all__ = ["NOT_BETTER", "Tuned", "roll_back_weights", "tune_snapshot"]

NOT_BETTER = 15
"""The exit code of a tuning that found no better weights and published nothing. It is no error."""


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The tuned snapshot, the id of the one published in its place (or empty), the weights that serve now, and what was found.

    :param tuning: None after a rollback.
    """

    snapshot_id: str
    published_id: str
    weights: dict[str, float]
    tuning: Tuning | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form, printed by ``--json``; that of a tuning is kept in the store."""
        found = {} if self.tuning is None else asdict(self.tuning)
        made = {
            "snapshot_id": self.snapshot_id,
            "published": bool(self.published_id),
            "published_id": self.published_id,
        }
        return {**made, "weights": self.weights, "shipped": self.weights == dict(SHIPPED), **found}

    @property
    def outcome(self) -> str:
        """The result in one sentence."""
        if self.tuning is not None and self.tuning.reason:
            return f"Nothing was published: {self.tuning.reason}."
        made = f"{self.published_id}, with {'the shipped' if self.weights == dict(SHIPPED) else 'tuned'} weights,"
        return f"Snapshot {made} was published in place of {self.snapshot_id}, and serves now."


def tune_snapshot(plan: TuningPlan, progress: Progress, *, encoder: Encoder | None = None) -> Tuned:
    """Fit the ranking weights of preset ``default`` to the requests, and publish them if they are better on held-out ones.

    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    if plan.labels is None:
        remedy = "Name labelled requests, or go back to the weights before with --rollback"
        raise InvalidArgumentError("nothing is given to tune on", subject="--on", remedy=remedy)
    replaces = published_id(_target_store(plan))
    searched, held_out = read_parts(plan.labels, seed=plan.seed)
    engine = open_engine(plan.snapshot, encoder=encoder, allowed_models=plan.allowed_models)
    snapshot, before = engine.snapshot, weights_of(engine.snapshot)
    if not plan.allow_missing:
        queries = QuerySet(name=str(plan.labels), queries=(*searched, *held_out), sha256="")
        require_gold(queries, missing_gold(queries, frozenset(map(snapshot.tool_id, range(snapshot.tool_count)))))
    retriever = GraphRetriever(snapshot, engine.encoder, name=DEFAULT_PRESET)
    cases = collect(retriever, snapshot, [*searched, *held_out], progress)
    tuning = tune(cases[: len(searched)], cases[len(searched) :], before=before, k=plan.k, progress=progress)
    tuned = Tuned(snapshot_id=snapshot.id, published_id="", weights=dict(before), tuning=tuning)
    if not tuning.reason:
        progress("publish", 0, 0)
        section = tuned_after(snapshot.manifest.ranking, ranking_section(RankingWeights(**tuning.found)))
        tuned = replace(_published(snapshot, section, plan, replaces), tuning=tuning)
    text = json.dumps(tuned.to_json(), ensure_ascii=False, indent=1) + "\n"
    keep_report(_target_store(plan), f"{snapshot.id}.tuning.json", text)
    return tuned


def roll_back_weights(plan: TuningPlan) -> Tuned:
    """Publish the content of a snapshot with the ranking weights before the present ones, atomically.

    :raises NotFoundError: when the snapshot has the shipped weights.
    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    replaces = published_id(_target_store(plan))
    snapshot = open_snapshot(plan.snapshot)
    if snapshot.manifest.ranking is None:
        remedy = "Go back to an earlier snapshot with: egotools rollback --store STORE"
        problem = "the snapshot has the shipped weights, and none before them"
        raise NotFoundError(problem, subject=snapshot.id, remedy=remedy)
    return _published(snapshot, rolled_back(snapshot.manifest.ranking), plan, replaces)


def _published(snapshot: Snapshot, section: RankingSection | None, plan: TuningPlan, replaces: str) -> Tuned:
    store = _target_store(plan)
    published = publish_reweighted(snapshot, store, section, replaces=replaces, signing_key=plan.signing_key)
    copy_build_report(snapshot, store, published)
    collect_after(store, DEFAULT_KEEP)
    return Tuned(snapshot_id=snapshot.id, published_id=published, weights=dict(weights_of(open_snapshot(store))))


def _target_store(plan: TuningPlan) -> Path:
    if plan.out is None and Layout(plan.snapshot).manifest.is_file():
        problem = "this is the folder of one snapshot, so the new version cannot be published in it"
        raise InvalidArgumentError(problem, subject=str(plan.snapshot), remedy="Name its store, or another with --out")
    return plan.out or plan.snapshot
