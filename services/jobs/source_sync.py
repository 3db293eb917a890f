"""Sync: the sources of a store are read again, what changed is built, and the result takes the place of the published snapshot at once.

Everything that a build keeps is reused: what was read of unchanged files, extractions and vectors of unchanged tools.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.reporting import no_progress
from services.jobs.plans import BuildPlan

if TYPE_CHECKING:
    from ingest.build_report import BuildReport
    from ingest.sources import Catalog
    from retrieval.snapshot.reader import Snapshot

_NAMED = 3


class KeptSource(NamedTuple):
    """A source that could not be read as a whole, how many of its published tools stay for that, and why it could not."""

    name: str
    tools: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did.

    :param snapshot_id: of the snapshot that is published now; ``previous_id`` of the one before, empty for none.
    :param tools: number of tools; ``added``, ``changed`` and ``removed``: ids, sorted.
    :param build: the report of the build.
    """

    snapshot_id: str
    previous_id: str
    tools: int
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[KeptSource, ...]
    build: BuildReport

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        names = ("snapshot_id", "previous_id", "tools", "added", "changed", "removed")
        known = {name: getattr(self, name) for name in names}
        quarantined = self.build.findings.quarantined
        return {**known, "kept": [each._asdict() for each in self.kept], "quarantined": quarantined}


def sync_sources(plan: BuildPlan, *, allowed_models: Sequence[str] = ()) -> SyncReport:
    """Read the sources again and publish the snapshot of their tools.

    It is built as the published one: with its encoder, with what was learned from use. A source that
    cannot be read as a whole keeps its published tools; a tool of no source of the plan is removed.

    :param plan: addresses, store, ``strict``, ``findings``, ``keep``, ``signing_key`` and ``workers`` count.
    :param allowed_models: as for :func:`retrieval.engine.open_engine`.
    :raises InvalidArgumentError: when a document has no named source, or the published snapshot has tools of no named source, or was built
        with options that it does not tell.
    :raises SourcesFileError: for a sources file with faults.
    :raises SnapshotError: when another snapshot was published meanwhile.
    :raises EgotoolsError: as for :func:`services.jobs.build.build`. The published snapshot stays as it is then.
    """
    from retrieval.snapshot.history import collect_after
    from retrieval.snapshot.publish import SNAPSHOTS, publish_again
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot.signing import signing_key_file
    from services.jobs.build import build

    _require_names(plan.addresses)
    before = None
    with contextlib.suppress(NotFoundError):
        before = open_snapshot(plan.store)
    if before is not None:
        _require_sources(before)
        plan = _as_built(before, plan, allowed_models)
    keeping = _Keeping(before)
    report = build(replace(plan, published=False), no_progress, complete=keeping)
    snapshot_id = _with_learned(before, plan, report.snapshot_id)
    previous_id, key = before.id if before else "", plan.signing_key or signing_key_file()
    publish_again(plan.store, snapshot_id, replaces=previous_id, signing_key=key)
    collect_after(plan.store, plan.keep)
    old, new = _lines(before), _lines(open_snapshot(plan.store / SNAPSHOTS / snapshot_id))
    return SyncReport(
        snapshot_id=snapshot_id,
        previous_id=previous_id,
        tools=len(new),
        added=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted(id_ for id_ in new.keys() & old.keys() if _differ(old[id_], new[id_]))),
        removed=tuple(sorted(old.keys() - new.keys())),
        kept=tuple(keeping.kept),
        build=report,
    )


def _require_names(addresses: Sequence[str]) -> None:
    from ingest.sources.addresses import find_documents

    found = find_documents(addresses)
    unnamed = [document.address for document in found.documents if document.source is None]
    if unnamed or not found.sources:
        subject = unnamed[0] if unnamed else "ADDRESS"
        remedy = "Give a sources file, or NAME=ADDRESS; `egotools build` takes documents without a source"
        raise InvalidArgumentError("sync needs sources with names", subject=subject, remedy=remedy)


def _require_sources(snapshot: Snapshot) -> None:
    """Check that every tool has a source, so that none is removed of which the sources say nothing."""
    numbers = set(range(snapshot.tool_count))
    for _, tools in snapshot.filters.tools_by_value("source"):
        numbers.difference_update(tools.tolist())
    if numbers:
        named = ", ".join(snapshot.tool_id(number) for number in sorted(numbers)[:_NAMED])
        problem = f"{len(numbers)} tools of the published snapshot have no named source ({named}), and a sync would remove them"
        remedy = "Name their documents in the sources file and run `egotools build` with it once; then sync"
        raise InvalidArgumentError(problem, subject=snapshot.id, remedy=remedy)


def _as_built(before: Snapshot, plan: BuildPlan, allowed_models: Sequence[str]) -> BuildPlan:
    """Return the plan with the settings of the published snapshot.

    :raises InvalidArgumentError: for one that it does not tell.
    """
    from inference import allowed_by_environment, require_allowed_model
    from ontology.ontology import load_ontology
    from services.jobs.build import overlays_of_sources

    manifest = before.manifest
    named = {path.name for path in overlays_of_sources(plan.addresses)}
    other = next((overlay.name for overlay in manifest.overlays or () if overlay.name not in named), "")
    for problem, found in (
        (f"the overlay {other}, which no sources file names", other),
        ("another ontology", manifest.ontology.sha256 != load_ontology().digest),
        (f"the extractor {manifest.extractor}", manifest.extractor != "rules.v1"),
    ):
        if found:
            problem, remedy = f"the published snapshot was built with {problem}", "with the same addresses and options"
            raise InvalidArgumentError(problem, subject=before.id, remedy=f"Run `egotools build` {remedy}")
    require_allowed_model(
        manifest.encoder.name, (*allowed_models, *allowed_by_environment()), subject=str(before.folder)
    )
    return replace(plan, encoder=manifest.encoder.name)


@dataclass(slots=True)
class _Keeping:
    """Adds to a catalogue the published tools of sources that could not be read.

    :param kept: these sources.
    """

    before: Snapshot | None
    kept: list[KeptSource] = field(default_factory=list)

    def __call__(self, catalog: Catalog) -> Catalog:
        from services.jobs.build import as_read

        before, tools = self.before, {tool.id: tool for tool in catalog.tools}
        for name, problem in catalog.unread.items():
            left = []
            if before is not None:
                numbers = before.filters.having("source", [name]).nonzero()[0].tolist()
                left = [as_read(before.tool(number)) for number in numbers if before.tool_id(number) not in tools]
            self.kept.append(KeptSource(name, len(left), problem))
            tools |= {tool.id: tool for tool in left}
        if not self.kept:
            return catalog
        there = [
            replace(tool, depends_on=tuple(one for one in tool.depends_on if one.tool in tools))
            for tool in tools.values()
        ]
        return replace(catalog, tools=tuple(there))


def _with_learned(before: Snapshot | None, plan: BuildPlan, snapshot_id: str) -> str:
    """Return the id of the built snapshot with what was learned from use of the published one."""
    import numpy as np

    from retrieval.snapshot.publish import SNAPSHOTS
    from retrieval.snapshot.publish_version import publish_learned
    from retrieval.snapshot.reader import open_snapshot

    if before is None or before.learned is None:
        return snapshot_id
    built = open_snapshot(plan.store / SNAPSHOTS / snapshot_id)
    numbers = [built.find_node(f"tool:{before.tool_id(number)}") for number in range(before.tool_count)]
    moved = np.asarray([-1 if number is None else number for number in numbers], dtype=np.int64)
    learned = before.learned.renumbered(moved)
    return publish_learned(built, plan.store, learned, published=False, signing_key=plan.signing_key)


def _lines(snapshot: Snapshot | None) -> Mapping[str, str]:
    if snapshot is None:
        return {}
    return {snapshot.tool_id(number): snapshot.tools.text(number) for number in range(snapshot.tool_count)}


def _differ(old: str, new: str) -> bool:
    """Whether two lines of a tool differ in more than what a build adds of the whole catalogue."""
    from ontology.tool import Tool
    from services.jobs.build import as_read

    return old != new and as_read(Tool.from_json(json.loads(old))) != as_read(Tool.from_json(json.loads(new)))
