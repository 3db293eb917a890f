"""Sync: the sources of a store are read again, what changed is built, and the result takes the place of the published snapshot at once.

Everything that a build keeps is reused: what was read of unchanged files, extractions and vectors of unchanged tools.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """What a sync did."""

    snapshot_id: str  # of the snapshot that is published now
    previous_id: str  # of the one before; empty for none
    tools: int
    added: tuple[str, ...]  # ids, sorted; likewise the next two
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
    """Read the sources again and publish the snapshot of their tools. It is built as the published one: with its
    encoder. A source that cannot be read as a whole keeps its published tools; a tool
    of no source of the plan is removed. Of the plan, addresses, store, ``strict``, ``findings``, ``keep``,
    ``signing_key`` and ``workers`` count. Raises InvalidArgumentError when a document or a published tool has no named
    source, or options of the published build are not known, SnapshotError when another snapshot was published
    meanwhile, and what :func:`services.jobs.build.build` raises. The published snapshot stays as it is then."""
    from ingest.sources.addresses import find_documents
    from ontology.tool import Tool
    from retrieval.snapshot.history import collect_after
    from retrieval.snapshot.publish import SNAPSHOTS, publish_again
    from retrieval.snapshot.reader import open_snapshot
    from retrieval.snapshot.signing import signing_key_file
    from services.jobs.build import as_read, build

    documents = find_documents(plan.addresses)
    unnamed = [document.address for document in documents.documents if document.source is None]
    if unnamed or not documents.sources:
        subject = unnamed[0] if unnamed else "ADDRESS"
        remedy = "Give a sources file, or NAME=ADDRESS; `egotools build` takes documents without a source"
        raise InvalidArgumentError("sync needs sources with names", subject=subject, remedy=remedy)
    before, kept = None, list[KeptSource]()
    with contextlib.suppress(NotFoundError):
        before = open_snapshot(plan.store)
    if before is not None:
        plan = _as_built(before, plan, allowed_models)

    def complete(catalog: Catalog) -> Catalog:
        """Add the published tools of sources that could not be read."""
        tools = {tool.id: tool for tool in catalog.tools}
        for name, problem in catalog.unread.items():
            left = []
            if before is not None:
                numbers = before.filters.having("source", [name]).nonzero()[0].tolist()
                left = [as_read(before.tool(number)) for number in numbers if before.tool_id(number) not in tools]
            kept.append(KeptSource(name, len(left), problem))
            tools |= {tool.id: tool for tool in left}
        if not kept:
            return catalog
        there = []
        for tool in tools.values():
            depends_on = tuple(one for one in tool.depends_on if one.tool in tools)
            there.append(replace(tool, depends_on=depends_on))
        return replace(catalog, tools=tuple(there))

    def differ(one: str, other: str) -> bool:
        """Whether two lines of a tool differ in more than what a build adds of the whole catalogue."""
        return one != other and as_read(Tool.from_json(json.loads(one))) != as_read(Tool.from_json(json.loads(other)))

    report = build(replace(plan, published=False), no_progress, complete=complete)
    snapshot_id = report.snapshot_id
    previous_id, key = before.id if before else "", plan.signing_key or signing_key_file()
    publish_again(plan.store, snapshot_id, replaces=previous_id, signing_key=key)
    collect_after(plan.store, plan.keep)
    new = _lines(open_snapshot(plan.store / SNAPSHOTS / snapshot_id))
    old = _lines(before) if before else {}
    return SyncReport(
        snapshot_id=snapshot_id,
        previous_id=previous_id,
        tools=len(new),
        added=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted(id_ for id_ in new.keys() & old.keys() if differ(old[id_], new[id_]))),
        removed=tuple(sorted(old.keys() - new.keys())),
        kept=tuple(kept),
        build=report,
    )


def _as_built(before: Snapshot, plan: BuildPlan, allowed_models: Sequence[str]) -> BuildPlan:
    """Return the plan with the settings of the published snapshot, which must tell them, and have a source for every tool."""
    from inference import allowed_by_environment, require_allowed_model
    from ontology.ontology import load_ontology
    from services.jobs.build import overlays_of_sources

    numbers = set(range(before.tool_count))
    for _, tools in before.filters.tools_by_value("source"):
        numbers.difference_update(tools.tolist())
    if numbers:
        shown = ", ".join(before.tool_id(number) for number in sorted(numbers)[:_NAMED])
        problem = f"{len(numbers)} tools of the published snapshot have no named source ({shown}), and a sync would remove them"
        remedy = "Name their documents in the sources file and run `egotools build` with it once; then sync"
        raise InvalidArgumentError(problem, subject=before.id, remedy=remedy)
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
    allowed = (*allowed_models, *allowed_by_environment())
    require_allowed_model(manifest.encoder.name, allowed, subject=str(before.folder))
    return replace(plan, encoder=manifest.encoder.name)


def _lines(snapshot: Snapshot) -> dict[str, str]:
    return {snapshot.tool_id(number): snapshot.tools.text(number) for number in range(snapshot.tool_count)}
