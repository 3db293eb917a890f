"""Tuning and learning: a snapshot and labelled or reported requests in; a better version of it out, or the reason why not."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eval.learning import Learning, Session, known_sessions, learn, read_usage_log
from eval.queries import QuerySet, missing_gold, require_gold
from eval.tuning import Tuning, collect, read_parts, tune
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
from services.outcomes import read_outcomes

_log = logging.getLogger(__name__)
# The exit code of a tuning or learning that found nothing better and published nothing. It is no error.
NOT_BETTER = 15


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The tuned snapshot, the id published in its place (or empty), the weights that serve now, and what was found (not after a rollback)."""

    snapshot_id: str
    published_id: str
    weights: dict[str, float]
    tuning: Tuning | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON form, printed by ``--json``; that of a tuning is kept in the store."""
        found = {} if self.tuning is None else asdict(self.tuning)
        ids = {"snapshot_id": self.snapshot_id, "published": bool(self.published_id), "published_id": self.published_id}
        return {**ids, "weights": self.weights, "shipped": self.weights == dict(SHIPPED), **found}

    @property
    def outcome(self) -> str:
        """The result in one sentence."""
        if self.tuning is not None and self.tuning.reason:
            return f"Nothing was published: {self.tuning.reason}."
        kind = "the shipped" if self.weights == dict(SHIPPED) else "tuned"
        return f"Snapshot {self.published_id}, with {kind} weights, was published in place of {self.snapshot_id}, and serves now."


def tune_snapshot(plan: TuningPlan, progress: Progress) -> Tuned:
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
        require_gold(queries, missing_gold(queries, _tools_of(snapshot)))
    retriever = GraphRetriever(snapshot, engine.encoder, name=DEFAULT_PRESET)
    cases = collect(retriever, snapshot, [*searched, *held_out], progress)
    tuning = tune(cases[: len(searched)], cases[len(searched) :], before=before, k=plan.k, progress=progress)
    tuned = Tuned(snapshot_id=snapshot.id, published_id="", weights=dict(before), tuning=tuning)
    if not tuning.reason:
        progress("publish", 0, 0)
        section = ranking_section(RankingWeights(**tuning.found))
        tuned = replace(_reweighted(snapshot, section, plan, replaces), tuning=tuning)
    keep_report(store, f"{snapshot.id}.tuning.json", json.dumps(tuned.to_json(), ensure_ascii=False, indent=1) + "\n")
    return tuned


def roll_back_weights(plan: TuningPlan) -> Tuned:
    """Publish the content of a snapshot with the shipped ranking weights, atomically; NotFoundError when it has those."""
    replaces = published_id(_target_store(plan))
    snapshot = open_snapshot(plan.snapshot)
    if snapshot.manifest.ranking is None:
        remedy = "Go back to an earlier snapshot with: egotools admin rollback --store STORE"
        problem = "the snapshot has the shipped weights"
        raise NotFoundError(problem, subject=snapshot.id, remedy=remedy)
    return _reweighted(snapshot, None, plan, replaces)


def _reweighted(snapshot: Snapshot, section: RankingSection | None, plan: TuningPlan, replaces: str) -> Tuned:
    store = _target_store(plan)
    learned, key = snapshot.learned, plan.signing_key
    published = publish_version(snapshot, store, ranking=section, learned=learned, replaces=replaces, signing_key=key)
    _published(snapshot, store, published)
    return Tuned(snapshot_id=snapshot.id, published_id=published, weights=dict(weights_of(open_snapshot(store))))


def _target_store(plan: TuningPlan) -> Path:
    if plan.out is None and (plan.snapshot / MANIFEST).is_file():
        problem = "this is the folder of one snapshot, so the new version cannot be published in it"
        raise InvalidArgumentError(problem, subject=str(plan.snapshot), remedy="Name its store, or another with --out")
    return plan.out or plan.snapshot


def _tools_of(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(map(snapshot.tool_id, range(snapshot.tool_count)))


def _published(snapshot: Snapshot, store: Path, published: str) -> None:
    """Give the new version the build report of the snapshot, which has the same content, and remove old versions."""
    if not (store / "reports" / f"{published}.json").exists():
        try:
            report = read_build_report(snapshot.folder.resolve().parent.parent, snapshot.id)
        except InvalidArgumentError as error:
            _log.warning("the new version has no build report: %s", error)
        else:
            if report is not None:
                keep_build_report(store, replace(report, snapshot_id=published))
    collect_after(store, DEFAULT_KEEP)


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What came of learning."""

    snapshot_id: str  # that was published before
    published: str  # id of the new version; empty where nothing is published
    learning: Learning | None  # None where the learned part was only removed
    damaged: int = 0  # lines of the log that cannot be read
    unknown: int = 0  # sessions without any tool that the catalogue has

    def to_json(self) -> dict[str, Any]:
        """The JSON form, printed by ``--json`` and kept in the store."""
        return {
            "snapshot_id": self.snapshot_id,
            "published": bool(self.published),
            "published_id": self.published,
            "damaged_lines": self.damaged,
            "sessions_of_unknown_tools": self.unknown,
            **({} if self.learning is None else self.learning.to_json()),
        }

    @property
    def outcome(self) -> str:
        """The result in one sentence."""
        if not self.published:
            reason = self.learning.reason if self.learning is not None else "the snapshot has no learned part"
            return f"Nothing was published: {reason}."
        without = ", without what was learned," if self.learning is None else ""
        return f"Snapshot {self.published}{without} was published in place of {self.snapshot_id}."


def learn_from_use(plan: LearningPlan, progress: Progress) -> Learned:
    """Learn from the outcomes of a store and from files, and publish it if held-out sessions are answered better; nothing on errors."""
    store, key = plan.store, plan.signing_key
    if (store / MANIFEST).is_file():
        remedy = "Name the store that it is in"
        raise InvalidArgumentError("this is the folder of one snapshot", subject=str(store), remedy=remedy)
    replaces, published = published_id(store), ""
    if plan.forget:
        before = open_snapshot(store)
        if before.manifest.learned is not None:
            ranking = before.manifest.ranking
            published = publish_version(
                before, store, ranking=ranking, learned=None, replaces=replaces, signing_key=key
            )
            _published(before, store, published)
        return Learned(snapshot_id=before.id, published=published, learning=None)
    engine = open_engine(store, allowed_models=plan.allowed_models)
    snapshot = engine.snapshot
    outcomes, damaged = read_outcomes(plan.outcomes or store / "outcomes")
    sessions = [
        Session(
            tools=tuple(dict.fromkeys(each.used)),
            time=float(each.time),
            reporter=each.reporter,
            query=each.query,
            terms=each.terms,
        )
        for each in outcomes
        if each.succeeded is not False
    ]
    sessions += [session for path in plan.logs for session in read_usage_log(path)]
    known = known_sessions(sessions, _tools_of(snapshot))
    learning = learn(known, snapshot, engine.encoder, min_reporters=plan.min_reporters, k=plan.k, progress=progress)
    if learning.learned is not None:
        progress("publish", 0, 0)
        ranking, learned = snapshot.manifest.ranking, learning.learned
        published = publish_version(
            snapshot, store, ranking=ranking, learned=learned, replaces=replaces, signing_key=key
        )
        _published(snapshot, store, published)
    unknown = len(sessions) - len(known)
    result = Learned(snapshot_id=snapshot.id, published=published, learning=learning, damaged=damaged, unknown=unknown)
    text = json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n"
    keep_report(store, f"{snapshot.id}.learning.json", text)
    return result
