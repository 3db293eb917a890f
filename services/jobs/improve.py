"""Tuning and learning: a snapshot and labelled or reported requests in; a better version of it out, or the reason why not."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eval.learning import learn
from eval.queries import QuerySet, missing_gold, require_gold
from eval.tuning import collect, read_parts, tune
from ingest.build_report import keep_build_report, keep_report, read_build_report
from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.reporting import Progress
from retrieval.engine import open_engine
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import DEFAULT_PRESET
from retrieval.ranking.weights import SHIPPED, RankingWeights, ranking_section, weights_of
from retrieval.snapshot.history import collect_after
from retrieval.snapshot.manifest import MANIFEST, RankingSection
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.publish_version import publish_version
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.plans import DEFAULT_KEEP, LearningPlan, TuningPlan
from services.outcomes import OUTCOMES, read_outcomes

_log = logging.getLogger(__name__)
# The exit code of a tuning or learning that found nothing better and published nothing. It is no error.
NOT_BETTER = 15


@dataclass(frozen=True, kw_only=True)
class Improvement:
    """What came of a tuning or a learning."""

    snapshot_id: str  # that was published before
    published_id: str  # of the version published in its place; empty where nothing is published
    outcome: str  # in one sentence
    found: Mapping[str, Any]  # the figures

    def to_json(self) -> dict[str, Any]:
        """The JSON form, printed by ``--json``; but for that of going back it is kept in the store."""
        ids = {"snapshot_id": self.snapshot_id, "published": bool(self.published_id), "published_id": self.published_id}
        return {**ids, **self.found}


def tune_snapshot(plan: TuningPlan, progress: Progress) -> Improvement:
    """Fit the ranking weights of preset ``default`` to the requests, and publish them if they are better on held-out ones; nothing on errors."""
    if plan.labels is None:
        remedy = "Name labelled requests, or go back to the shipped weights with --rollback"
        raise InvalidArgumentError("nothing is given to tune on", subject="--on", remedy=remedy)
    store = _target_store(plan)
    replaces = published_id(store)
    searched, held_out = read_parts(plan.labels, seed=plan.seed)
    engine = open_engine(plan.snapshot, allowed_models=plan.allowed_models)
    snapshot, before = engine.snapshot, weights_of(engine.snapshot)
    if not plan.allow_missing:
        queries = QuerySet(name=str(plan.labels), queries=(*searched, *held_out), sha256="")
        require_gold(queries, missing_gold(queries, set(map(snapshot.tool_id, range(snapshot.tool_count)))))
    retriever = GraphRetriever(snapshot, engine.encoder, name=DEFAULT_PRESET)
    cases = collect(retriever, snapshot, [*searched, *held_out], progress)
    tuning = tune(cases[: len(searched)], cases[len(searched) :], before=before, k=plan.k, progress=progress)
    if tuning.reason:
        tuned = _improvement(snapshot.id, "", f"Nothing was published: {tuning.reason}.", before)
    else:
        progress("publish", 0, 0)
        tuned = _reweighted(snapshot, ranking_section(RankingWeights(**tuning.found)), plan, replaces)
    tuned = replace(tuned, found={**tuned.found, **asdict(tuning)})
    _keep(store, tuned, "tuning")
    return tuned


def roll_back_weights(plan: TuningPlan) -> Improvement:
    """Publish the content of a snapshot with the shipped ranking weights, atomically; NotFoundError when it has those."""
    replaces = published_id(_target_store(plan))
    snapshot = open_snapshot(plan.snapshot)
    if snapshot.manifest.ranking is None:
        remedy = "Nothing needs to be done; egotools admin rollback --store STORE goes back to an earlier snapshot"
        problem = "the published snapshot has the shipped weights already, and nothing was changed"
        raise NotFoundError(problem, subject=snapshot.id, remedy=remedy)
    return _reweighted(snapshot, None, plan, replaces)


def _reweighted(snapshot: Snapshot, section: RankingSection | None, plan: TuningPlan, replaces: str) -> Improvement:
    store = _target_store(plan)
    published = _published(snapshot, store, replaces, plan.signing_key, ranking=section)
    kind = "the shipped" if section is None else "tuned"
    outcome = f"Snapshot {published}, with {kind} weights, was published in place of {snapshot.id}, and serves now."
    return _improvement(snapshot.id, published, outcome, weights_of(open_snapshot(store)))


def _improvement(snapshot_id: str, published_id: str, outcome: str, weights: Mapping[str, float]) -> Improvement:
    found = {"weights": dict(weights), "shipped": dict(weights) == dict(SHIPPED)}
    return Improvement(snapshot_id=snapshot_id, published_id=published_id, outcome=outcome, found=found)


def _keep(store: Path, made: Improvement, kind: str) -> None:
    keep_report(
        store, f"{made.snapshot_id}.{kind}.json", json.dumps(made.to_json(), ensure_ascii=False, indent=1) + "\n"
    )


def _target_store(plan: TuningPlan) -> Path:
    if plan.out is None and (plan.snapshot / MANIFEST).is_file():
        problem = "this is the folder of one snapshot, so the new version cannot be published in it"
        raise InvalidArgumentError(problem, subject=str(plan.snapshot), remedy="Name its store, or another with --out")
    return plan.out or plan.snapshot


def _published(snapshot: Snapshot, store: Path, replaces: str, signing_key: Path | None, **parts: Any) -> str:
    """Publish the snapshot with another ranking or another learned part (``parts``), give the new version the build report of the snapshot,
    which has the same content, and remove old versions; return its id."""
    parts = {"ranking": snapshot.manifest.ranking, "learned": snapshot.learned, **parts}
    published = publish_version(snapshot, store, replaces=replaces, signing_key=signing_key, **parts)
    if not (store / "reports" / f"{published}.json").exists():
        try:
            report = read_build_report(snapshot.folder.resolve().parent.parent, snapshot.id)
        except InvalidArgumentError as error:
            _log.warning("the new version has no build report: %s", error)
        else:
            if report is not None:
                keep_build_report(store, replace(report, snapshot_id=published))
    collect_after(store, DEFAULT_KEEP)
    return published


def learn_from_use(plan: LearningPlan, progress: Progress) -> Improvement:
    """Learn from the outcomes of a store, and publish it if held-out sessions are answered better; nothing on errors. Or
    publish the snapshot without what was learned."""
    store = plan.store
    if (store / MANIFEST).is_file():
        remedy = "Name the store that it is in"
        raise InvalidArgumentError("this is the folder of one snapshot", subject=str(store), remedy=remedy)
    replaces, found = published_id(store), dict[str, Any]()
    if plan.forget:
        snapshot, learned = open_snapshot(store), None
        reason = "" if snapshot.learned else "the snapshot has no learned part"
    else:
        engine = open_engine(store, allowed_models=plan.allowed_models)
        snapshot = engine.snapshot
        outcomes, damaged = read_outcomes(plan.outcomes or store / OUTCOMES)
        bounds: Any = {"min_reporters": plan.min_reporters, "k": plan.k}
        learned, figures = learn(outcomes, snapshot, engine.encoder, **bounds, progress=progress)
        reason, found = figures["reason"], {"reports": len(outcomes), "damaged_lines": damaged, **figures}
    published, outcome = "", f"Nothing was published: {reason}."
    if not reason:
        progress("publish", 0, 0)
        published = _published(snapshot, store, replaces, plan.signing_key, learned=learned)
        kind = "without" if plan.forget else "with"
        outcome = f"Snapshot {published}, {kind} what was learned, was published in place of {snapshot.id}."
    result = Improvement(snapshot_id=snapshot.id, published_id=published, outcome=outcome, found=found)
    if not plan.forget:
        _keep(store, result, "learning")
    return result
