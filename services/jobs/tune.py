"""Tuning: a published snapshot and labelled requests in, a version with better ranking weights out, or the reason why not."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.graph_quality import find_build_report
from eval.queries import missing_gold, require_gold
from eval.report.markdown import document_to_markdown
from eval.tuning.cases import collect
from eval.tuning.labels import Labels, read_labels
from eval.tuning.tuning import Tuning, tune_weights
from eval.tuning.tuning_report import tuning_document, tuning_to_json
from inference.encoder import Encoder
from ontology.errors import InvalidArgumentError, StorageError
from ontology.files import write_file
from ontology.progress import Progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.presets import DEFAULT_PRESET
from retrieval.retriever import MAX_K
from retrieval.snapshot.publish import MANIFEST, SNAPSHOTS
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.reweight import publish_weighed, published_id
from retrieval.snapshot.weights import SHIPPED
from retrieval.snapshot_engine import open_engine

__all__ = ["NOT_BETTER", "Tuned", "TuningPlan", "tune_snapshot"]

NOT_BETTER = 15
"""The exit code of a tuning that ran and published nothing: no error, but not what was hoped for."""
_FORMS = (".json", ".md")
_REPORTS = "reports"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPlan:
    """What to tune, on what, and where to.

    :param snapshot: a store, or a snapshot folder.
    :param labels: folder with ``queries.jsonl``, or a file of that form.
    :param out: store of the new version; by default the one that the snapshot lies in.
    :param k: the cutoff that decides whether the weights are better, 1 to 1,000.
    :param seed: of the folds and of the bootstrap.
    :param report: where the report is written too: ``.json`` or ``.md``.
    :param allow_missing: fit though gold tools are not in the snapshot; such requests are never complete.
    """

    snapshot: Path
    labels: Path
    out: Path | None = None
    k: int = 10
    seed: int = 0
    report: Path | None = None
    allow_missing: bool = False


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What came of it.

    :param snapshot_id: of the snapshot that was tuned.
    :param published: id of the new version, or empty where it is not better.
    :param files: of the report.
    """

    tuning: Tuning
    labels: Labels
    snapshot_id: str
    published: str
    files: tuple[Path, ...]
    seconds: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """What ``--json`` prints and the report keeps."""
        return {
            "snapshot_id": self.snapshot_id,
            "published": bool(self.published),
            "published_id": self.published,
            **tuning_to_json(self.tuning, self.labels),
            "seconds": self.seconds,
        }

    @property
    def outcome(self) -> str:
        """One sentence."""
        again = ""
        if self.tuning.before != SHIPPED:
            again = " It had tuned weights already, which the new ones had to beat; fitting began at the shipped ones again."
        if not self.published:
            return f"Nothing was published: {self.tuning.reason}.{again}"
        return f"Snapshot {self.published} was published in place of {self.snapshot_id}.{again}"


def tune_snapshot(plan: TuningPlan, progress: Progress, *, encoder: Encoder | None = None) -> Tuned:
    """Fit the ranking weights of preset ``default`` to the requests, and publish them if they are better.

    :raises EgotoolsError: nothing is published then; what was published before still serves.
    """
    store = _check(plan)
    replaces = published_id(store)
    seconds: dict[str, float] = {}
    labels = read_labels(plan.labels)
    engine = open_engine(plan.snapshot, encoder=encoder)
    snapshot = engine.snapshot
    if not plan.allow_missing:
        known = frozenset(map(snapshot.tool_id, range(snapshot.tool_count)))
        require_gold(labels.queries, missing_gold(labels.queries, known))
    started = time.perf_counter()
    retriever = GraphRetriever(snapshot, engine.encoder, name=DEFAULT_PRESET)
    cases = collect(retriever, snapshot, labels.queries.queries, progress)
    seconds["candidates"] = time.perf_counter() - started
    started = time.perf_counter()
    tuning = tune_weights(cases, labels, before=snapshot.weights, k=plan.k, seed=plan.seed, progress=progress)
    seconds["fit"] = time.perf_counter() - started
    published = ""
    if not tuning.reason:
        progress("publish", 0, 0)
        published = publish_weighed(snapshot, store, tuning.weights, replaces=replaces)
        _keep_build_report(snapshot, store, published)
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


def _check(plan: TuningPlan) -> Path:
    """The store to publish in, once what can be wrong with the plan is known not to be."""
    if not 1 <= plan.k <= MAX_K:
        raise InvalidArgumentError(f"k must be from 1 to {MAX_K:,}, not {plan.k}", subject="--k")
    if plan.report is not None and plan.report.suffix not in _FORMS:
        raise InvalidArgumentError(
            f"there is no form for the ending {plan.report.suffix!r}", subject="--report", remedy="Give .json or .md"
        )
    if plan.out is not None:
        return plan.out
    if not (plan.snapshot / MANIFEST).is_file():
        return plan.snapshot
    folder = plan.snapshot.resolve().parent
    if folder.name != SNAPSHOTS:
        raise InvalidArgumentError(
            "this snapshot lies in no store, so there is nowhere to publish in",
            subject=str(plan.snapshot),
            remedy="Say where, with --out",
        )
    return folder.parent


def _keep_build_report(snapshot: Snapshot, store: Path, snapshot_id: str) -> None:
    """The new version has the content of the old one, and so the account of its build."""
    report = find_build_report(snapshot)
    file = store / _REPORTS / f"{snapshot_id}.json"
    if report is not None and not file.exists():
        _keep(file, json.dumps({**report, "snapshot_id": snapshot_id}, ensure_ascii=False, indent=1) + "\n")


def _report(tuned: Tuned, store: Path, asked_for: Path | None) -> Tuned:
    title = f"Tuning snapshot {tuned.snapshot_id} on {tuned.labels.queries.name}"
    texts = {
        ".json": json.dumps(tuned.to_json(), ensure_ascii=False, indent=1) + "\n",
        ".md": document_to_markdown(tuning_document(tuned.tuning, tuned.labels, title=title, outcome=tuned.outcome)),
    }
    files = [store / _REPORTS / f"{tuned.snapshot_id}.tuning{form}" for form in _FORMS]
    kept = [file for file in files if _keep(file, texts[file.suffix])]
    if asked_for is not None:
        kept.append(write_file(asked_for, texts[asked_for.suffix]))
    return replace(tuned, files=tuple(kept))


def _keep(file: Path, text: str) -> bool:
    """Write what lies beside the snapshots; it is no part of them, and stops nothing."""
    try:
        write_file(file, text)
    except StorageError as error:
        _LOG.warning("the report could not be kept: %s", error)
        return False
    return True
