"""Tuning: a published snapshot and labelled requests in; a version with better ranking weights out, or the reason
why not.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.graph_quality import find_build_report
from eval.queries import missing_gold, require_gold
from eval.report.markdown import document_to_markdown
from eval.tuning import Labels, Tuning, collect, read_labels, tune_weights, tuning_document, tuning_to_json
from inference.encoder import Encoder
from ingest.build_report import keep_build_report, keep_report
from ontology.errors import InvalidArgumentError
from ontology.files import write_file
from ontology.progress import Progress, timed
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import DEFAULT_PRESET
from retrieval.query.request import MAX_K
from retrieval.ranking.weights import SHIPPED, ranking_section, weights_of
from retrieval.snapshot.collect import collect_after
from retrieval.snapshot.layout import Layout
from retrieval.snapshot.publish import SNAPSHOTS, published_id
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.reweight import publish_reweighted, tuned_after
from retrieval.snapshot_engine import open_engine
from services.jobs.plans import DEFAULT_KEEP, TuningPlan

__all__ = ["NOT_BETTER", "Tuned", "copy_build_report", "target_store", "tune_snapshot"]

NOT_BETTER = 15
"""The exit code of a tuning that found no better weights and published nothing. It is no error."""
_FORMS = (".json", ".md")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The result.

    :param snapshot_id: the snapshot that was tuned.
    :param published: id of the new version; empty where its weights are not better.
    :param files: files of the report.
    :param seconds: stage → seconds.
    """

    tuning: Tuning
    labels: Labels
    snapshot_id: str
    published: str
    files: tuple[Path, ...]
    seconds: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """The JSON form, printed by ``--json`` and kept in the store."""
        return {
            "snapshot_id": self.snapshot_id,
            "published": bool(self.published),
            "published_id": self.published,
            **tuning_to_json(self.tuning, self.labels),
            "seconds": self.seconds,
        }

    @property
    def outcome(self) -> str:
        """The result in one or two sentences."""
        again = ""
        if self.tuning.before != SHIPPED:
            again = (
                " It already had tuned weights: the new weights are compared with those, and the fit starts from the "
                "shipped ones."
            )
        if not self.published:
            return f"Nothing was published: {self.tuning.reason}.{again}"
        return f"Snapshot {self.published} was published in place of {self.snapshot_id}.{again}"


def tune_snapshot(plan: TuningPlan, progress: Progress, *, encoder: Encoder | None = None) -> Tuned:
    """Fit the ranking weights of preset ``default`` to the requests, and publish them if they are better.

    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    if plan.labels is None:
        remedy = "Name labelled requests, or go back to the weights before with --rollback"
        raise InvalidArgumentError("nothing is given to tune on", subject="--on", remedy=remedy)
    store = target_store(plan)
    replaces = published_id(store)
    seconds: dict[str, float] = {}
    labels = read_labels(plan.labels)
    engine = open_engine(plan.snapshot, encoder=encoder, allowed_models=plan.allowed_models)
    snapshot = engine.snapshot
    if not plan.allow_missing:
        known = frozenset(map(snapshot.tool_id, range(snapshot.tool_count)))
        require_gold(labels.queries, missing_gold(labels.queries, known))
    with timed(seconds, "candidates"):
        retriever = GraphRetriever(snapshot, engine.encoder, name=DEFAULT_PRESET)
        cases = collect(retriever, snapshot, labels.queries.queries, progress)
    with timed(seconds, "fit"):
        tuning = tune_weights(cases, labels, before=weights_of(snapshot), k=plan.k, seed=plan.seed, progress=progress)
    published = ""
    if not tuning.reason:
        progress("publish", 0, 0)
        section = tuned_after(snapshot.manifest.ranking, ranking_section(tuning.weights))
        published = publish_reweighted(snapshot, store, section, replaces=replaces, signing_key=plan.signing_key)
        copy_build_report(snapshot, store, published)
        collect_after(store, DEFAULT_KEEP)
    return _report(
        Tuned(
            tuning=tuning,
            labels=labels,
            snapshot_id=snapshot.id,
            published=published,
            files=(),
            seconds={stage: round(spent, 3) for stage, spent in seconds.items()},
        ),
        store,
        plan.report,
    )


def target_store(plan: TuningPlan) -> Path:
    """Return the store to publish in.

    :raises InvalidArgumentError: for an invalid plan.
    """
    if not 1 <= plan.k <= MAX_K:
        raise InvalidArgumentError(f"it must be from 1 to {MAX_K:,}, not {plan.k}", subject="--k")
    if plan.report is not None and plan.report.suffix not in _FORMS:
        raise InvalidArgumentError(
            f"there is no format for the ending {plan.report.suffix!r}", subject="--report", remedy="Use .json or .md"
        )
    if plan.out is not None:
        return plan.out
    if not Layout(plan.snapshot).manifest.is_file():
        return plan.snapshot
    folder = plan.snapshot.resolve().parent
    if folder.name != SNAPSHOTS:
        raise InvalidArgumentError(
            "this snapshot is not in a store, so the new version cannot be published beside it",
            subject=str(plan.snapshot),
            remedy="Name a store with --out",
        )
    return folder.parent


def copy_build_report(snapshot: Snapshot, store: Path, snapshot_id: str) -> None:
    """Copy the build report to the new version, which has the same content."""
    if (store / "reports" / f"{snapshot_id}.json").exists():
        return
    try:
        report = find_build_report(snapshot)
    except InvalidArgumentError as error:
        _LOG.warning("the new version has no build report: %s", error)
        return
    if report is not None:
        keep_build_report(store, replace(report, snapshot_id=snapshot_id))


def _report(tuned: Tuned, store: Path, chosen: Path | None) -> Tuned:
    title = f"Tuning snapshot {tuned.snapshot_id} on {tuned.labels.queries.name}"
    texts = {
        ".json": json.dumps(tuned.to_json(), ensure_ascii=False, indent=1) + "\n",
        ".md": document_to_markdown(tuning_document(tuned.tuning, tuned.labels, title=title, outcome=tuned.outcome)),
    }
    files = [keep_report(store, f"{tuned.snapshot_id}.tuning{form}", texts[form]) for form in _FORMS]
    kept = [file for file in files if file is not None]
    if chosen is not None:
        kept.append(write_file(chosen, texts[chosen.suffix]))
    return replace(tuned, files=tuple(kept))
