"""Learning from use: the outcomes of a store in; a snapshot with what was learned out, or the reason why not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.graph_quality import copy_build_report
from eval.learning import Learning, Session, known_sessions, learn, read_usage_log
from inference.encoder import Encoder
from ingest.build_report import keep_report
from ontology.errors import InvalidArgumentError
from ontology.reporting import Progress
from retrieval.engine import open_engine
from retrieval.snapshot.collect import collect_after
from retrieval.snapshot.manifest import Layout
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.publish_version import publish_learned
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.plans import DEFAULT_KEEP, LearningPlan
from services.outcomes import Outcome, read_outcomes

__all__ = ["Learned", "learn_from_use"]

_OUTCOMES = "outcomes"


@dataclass(frozen=True, kw_only=True)
class Learned:
    """The result.

    :param snapshot_id: the snapshot that was published before.
    :param published: id of the new version; empty where nothing is published.
    :param learning: None where the learned part was only removed.
    :param damaged: lines of the log that cannot be read.
    :param unknown: sessions without any tool that the catalogue has.
    """

    snapshot_id: str
    published: str
    learning: Learning | None
    damaged: int = 0
    unknown: int = 0

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
        """The result in one or two sentences."""
        if self.learning is None:
            if not self.published:
                return "Nothing was published: the snapshot has no learned part."
            return f"Snapshot {self.published}, without what was learned, was published in place of {self.snapshot_id}."
        if not self.published:
            return f"Nothing was published: {self.learning.reason}."
        return f"Snapshot {self.published} was published in place of {self.snapshot_id}."


def learn_from_use(plan: LearningPlan, progress: Progress, *, encoder: Encoder | None = None) -> Learned:
    """Learn from the outcomes of a store and from files, and publish what was learned if held-out sessions are answered better.

    :raises EgotoolsError: nothing is published then, and the snapshot that was published before is unchanged.
    """
    if Layout(plan.store).manifest.is_file():
        raise InvalidArgumentError(
            "this is the folder of one snapshot", subject=str(plan.store), remedy="Name the store that it is in"
        )
    replaces = published_id(plan.store)
    if plan.forget:
        return _forget(plan, replaces)
    engine = open_engine(plan.store, encoder=encoder, allowed_models=plan.allowed_models)
    snapshot = engine.snapshot
    outcomes, damaged = read_outcomes(plan.outcomes or plan.store / _OUTCOMES)
    sessions = [*_sessions(outcomes), *(session for path in plan.logs for session in read_usage_log(path))]
    known = known_sessions(sessions, frozenset(map(snapshot.tool_id, range(snapshot.tool_count))))
    learning = learn(known, snapshot, engine.encoder, min_reporters=plan.min_reporters, k=plan.k, progress=progress)
    published = ""
    if learning.learned is not None:
        progress("publish", 0, 0)
        published = publish_learned(
            snapshot, plan.store, learning.learned, replaces=replaces, signing_key=plan.signing_key
        )
        copy_build_report(snapshot, plan.store, published)
        collect_after(plan.store, DEFAULT_KEEP)
    result = Learned(
        snapshot_id=snapshot.id,
        published=published,
        learning=learning,
        damaged=damaged,
        unknown=len(sessions) - len(known),
    )
    return _reported(result, plan.store)


def _forget(plan: LearningPlan, replaces: str) -> Learned:
    snapshot: Snapshot = open_snapshot(plan.store)
    published = ""
    if snapshot.manifest.learned is not None:
        published = publish_learned(snapshot, plan.store, None, replaces=replaces, signing_key=plan.signing_key)
        copy_build_report(snapshot, plan.store, published)
        collect_after(plan.store, DEFAULT_KEEP)
    return Learned(snapshot_id=snapshot.id, published=published, learning=None)


def _sessions(outcomes: Iterable[Outcome]) -> list[Session]:
    """The sessions that did not fail."""
    return [
        Session(
            id=each.key,
            tools=tuple(dict.fromkeys(each.used)),
            time=float(each.time),
            reporter=each.reporter,
            query=each.query,
            terms=each.terms,
        )
        for each in outcomes
        if each.succeeded is not False
    ]


def _reported(result: Learned, store: Path) -> Learned:
    text = json.dumps(result.to_json(), ensure_ascii=False, indent=1) + "\n"
    keep_report(store, f"{result.snapshot_id}.learning.json", text)
    return result
