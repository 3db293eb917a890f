"""Sync: the sources of a store are read again, what changed is built, and the result takes the place of the published snapshot at once.

Everything that a build keeps is reused: what was read of unchanged files, extractions and vectors of unchanged tools.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.sources.sources_file import SourceEntry
from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError
from ontology.reporting import Progress, no_progress
from services.jobs.plans import BuildPlan

if TYPE_CHECKING:
    from ingest.build_report import BuildReport
    from ingest.sources import Catalog
    from ingest.sources.addresses import Found
    from retrieval.snapshot.reader import Snapshot

__all__ = ["SyncReport", "sources_of", "sync_sources", "watch"]

_NAMED = 3
_REBUILD = "Run `egotools build` with the addresses and options that it was built with"


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
        findings = self.build.findings
        return {
            "snapshot_id": self.snapshot_id,
            "previous_id": self.previous_id,
            "tools": self.tools,
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "kept": [each._asdict() for each in self.kept],
            "quarantined": findings.quarantined,
        }


def sources_of(addresses: Sequence[str]) -> Found:
    """Find the documents of addresses, all of which have a named source.

    :raises InvalidArgumentError: when one has none, or there is none.
    :raises SourcesFileError: for a sources file with faults.
    """
    from ingest.sources.addresses import find_documents

    found = find_documents(addresses)
    unnamed = [document.address for document in found.documents if document.source is None]
    if unnamed or not found.sources:
        raise InvalidArgumentError(
            "sync needs sources with names",
            subject=unnamed[0] if unnamed else "ADDRESS",
            remedy="Give a sources file, or NAME=ADDRESS; `egotools build` takes documents without a source",
        )
    return found


def sync_sources(
    plan: BuildPlan, *, allowed_models: Sequence[str] = (), progress: Progress = no_progress
) -> SyncReport:
    """Read the sources again and publish the snapshot of their tools.

    It is built as the published one: with its encoder, with what was learned from use. A source that
    cannot be read as a whole keeps its published tools; a tool of no source of the plan is removed.

    :param plan: addresses, store, ``strict``, ``findings``, ``keep``, ``signing_key`` and ``workers`` count.
    :param allowed_models: as for :func:`retrieval.engine.open_engine`.
    :raises InvalidArgumentError: as :func:`sources_of`; also when the published snapshot has tools of no named source, or was built
        with options that it does not tell.
    :raises SnapshotError: when another snapshot was published meanwhile.
    :raises EgotoolsError: as for :func:`services.jobs.build.build`. The published snapshot stays as it is then.
    """
    from retrieval.snapshot.collect import collect_after
    from retrieval.snapshot.publish import publish_again
    from retrieval.snapshot.signing import signing_key_file
    from services.jobs.build import build

    sources_of(plan.addresses)
    before = _published(plan)
    if before is not None:
        _require_sources(before)
        plan = _as_built(before, plan, allowed_models)
    keeping = _Keeping(before)
    report = build(replace(plan, published=False), progress, complete=keeping)
    snapshot_id = _with_learned(before, plan, report.snapshot_id)
    key = plan.signing_key or signing_key_file()
    publish_again(plan.store, snapshot_id, replaces=before.id if before else "", signing_key=key)
    collect_after(plan.store, plan.keep)
    return _report(before, plan, snapshot_id, report, tuple(keeping.kept))


def _published(plan: BuildPlan) -> Snapshot | None:
    from retrieval.snapshot.reader import open_snapshot

    try:
        return open_snapshot(plan.store)
    except NotFoundError:
        return None


def _require_sources(snapshot: Snapshot) -> None:
    """Check that every tool has a source, so that none is removed of which the sources say nothing."""
    numbers = set(range(snapshot.tool_count))
    for _, tools in snapshot.filters.tools_by_value("source"):
        numbers.difference_update(tools.tolist())
    if numbers:
        named = ", ".join(snapshot.tool_id(number) for number in sorted(numbers)[:_NAMED])
        raise InvalidArgumentError(
            f"{len(numbers)} tools of the published snapshot have no named source ({named}), and a sync would remove them",
            subject=snapshot.id,
            remedy="Name their documents in the sources file and run `egotools build` with it once; then sync",
        )


def _as_built(before: Snapshot, plan: BuildPlan, allowed_models: Sequence[str]) -> BuildPlan:
    """Return the plan with the settings of the published snapshot.

    :raises InvalidArgumentError: for one that it does not tell.
    """
    from inference import allowed_by_environment, require_allowed_model
    from ontology.ontology import load_ontology
    from services.jobs.build import overlays_of_sources

    manifest = before.manifest
    named = {path.name for path in overlays_of_sources(plan.addresses)}
    others = [overlay.name for overlay in manifest.overlays or () if overlay.name not in named]
    for problem, found in (
        (f"the overlay {others[0]}, which no sources file names" if others else "", others),
        ("another ontology", manifest.ontology.sha256 != load_ontology().digest),
        (f"the extractor {manifest.extractor}", manifest.extractor != "rules.v1"),
        ("observed values", "observed" in before.value_shapes.sources()),
    ):
        if found:
            raise InvalidArgumentError(
                f"the published snapshot was built with {problem}", subject=before.id, remedy=_REBUILD
            )
    encoder = manifest.encoder.name
    require_allowed_model(encoder, (*allowed_models, *allowed_by_environment()), subject=str(before.folder))
    return replace(plan, encoder=encoder)


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
            of_source = before.filters.having("source", [name]).nonzero()[0].tolist() if before is not None else []
            left = [as_read(before.tool(number)) for number in of_source] if before is not None else []
            left = [tool for tool in left if tool.id not in tools]
            self.kept.append(KeptSource(name, len(left), problem))
            tools |= {tool.id: tool for tool in left}
        there = [
            replace(tool, depends_on=tuple(one for one in tool.depends_on if one.tool in tools))
            for tool in tools.values()
        ]
        return replace(catalog, tools=tuple(there)) if self.kept else catalog


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


def _report(
    before: Snapshot | None, plan: BuildPlan, snapshot_id: str, build: BuildReport, kept: tuple[KeptSource, ...]
) -> SyncReport:
    from retrieval.snapshot.publish import SNAPSHOTS
    from retrieval.snapshot.reader import open_snapshot

    old, new = _lines(before), _lines(open_snapshot(plan.store / SNAPSHOTS / snapshot_id))
    return SyncReport(
        snapshot_id=snapshot_id,
        previous_id=before.id if before else "",
        tools=len(new),
        added=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted(id_ for id_ in new.keys() & old.keys() if _differ(old[id_], new[id_]))),
        removed=tuple(sorted(old.keys() - new.keys())),
        kept=kept,
        build=build,
    )


def _lines(snapshot: Snapshot | None) -> Mapping[str, str]:
    if snapshot is None:
        return {}
    return {snapshot.tool_id(number): snapshot.tools.text(number) for number in range(snapshot.tool_count)}


def _differ(old: str, new: str) -> bool:
    """Whether two lines of a tool differ in more than what a build adds of the whole catalogue."""
    import json

    from ontology.tool import Tool
    from services.jobs.build import as_read

    return old != new and as_read(Tool.from_json(json.loads(old))) != as_read(Tool.from_json(json.loads(new)))


_LOG = logging.getLogger("egotools.sync")
_MCP = ("mcp:", "mcp+http://", "mcp+https://")
_LOOK_EVERY_S = 1.0
_LONGEST_PAUSE_S = 60.0


def watch(
    addresses: Sequence[str],
    run: Callable[[], SyncReport],
    stopped: threading.Event,
    *,
    now: Callable[[], float] = time.monotonic,
    look_every_s: float = _LOOK_EVERY_S,
) -> Iterator[SyncReport | EgotoolsError]:
    """Yield what came of each sync, until ``stopped`` is set. The first one is made at once.

    A sync that fails is tried again, after a pause that grows to a minute.

    :param addresses: sources files and ``NAME=ADDRESS``.
    :param run: syncs them all.
    """
    told, listening = threading.Event(), _Listening()
    seen, read_at, pause = "", 0.0, 0.0
    try:
        while not stopped.is_set():
            look = _look(addresses)
            listening.to(look.sources, told)
            since = now() - read_at
            refresh = min((entry.refresh_s for entry in look.sources if entry.refresh_s is not None), default=None)
            changed = look.state != seen or told.is_set() or (refresh is not None and since >= refresh)
            if since >= pause if pause else changed:
                told.clear()
                seen, read_at = look.state, now()
                done: SyncReport | EgotoolsError
                try:
                    done, pause = run(), 0.0
                except EgotoolsError as error:
                    done, pause = error, min(2 * pause or look_every_s, _LONGEST_PAUSE_S)
                yield done
            stopped.wait(look_every_s)
    finally:
        listening.to((), told)


class _Look(NamedTuple):
    """What tells whether anything on disk has changed, and the sources; none where a sources file cannot be read."""

    state: str
    sources: tuple[SourceEntry, ...]


def _look(addresses: Sequence[str]) -> _Look:
    from services.jobs.build import overlays_of_sources

    try:
        found = sources_of(addresses)
        paths = [document.path for document in found.documents if document.path is not None]
        paths += overlays_of_sources(addresses)
    except EgotoolsError as error:
        return _Look(str(error), ())
    states = []
    for path in paths:
        with contextlib.suppress(OSError):
            state = path.stat()
            states.append((str(path), state.st_ino, state.st_size, state.st_mtime_ns))
    return _Look(repr((found.sources, states)), found.sources)


class _Listening:
    """Threads that listen to MCP servers, by source."""

    def __init__(self) -> None:
        self._stops: dict[str, threading.Event] = {}

    def to(self, sources: Sequence[SourceEntry], told: threading.Event) -> None:
        """Listen to the servers of these sources and to no others; what they say sets ``told``."""
        wanted = {repr(entry): entry for entry in sources if entry.location.startswith(_MCP)}
        for key in self._stops.keys() - wanted.keys():
            self._stops.pop(key).set()
        for key in wanted.keys() - self._stops.keys():
            stop = self._stops[key] = threading.Event()
            name = f"list_changed {wanted[key].name}"
            threading.Thread(target=_listen, args=(wanted[key], told, stop), name=name, daemon=True).start()


def _listen(entry: SourceEntry, told: threading.Event, stopped: threading.Event) -> None:
    """Set ``told`` whenever the server of a source says that its tools changed, and when it can be reached again."""
    from ingest.sources.mcp.live import watch_tools

    pause = _LOOK_EVERY_S
    while not stopped.is_set():
        try:
            asyncio.run(_until_stopped(watch_tools(entry.location, told.set, access=entry.access), stopped))
            pause = _LOOK_EVERY_S
        except Exception as error:  # the SDK raises errors of different classes
            _LOG.warning("source %s: the server cannot be listened to: %s", entry.name, type(error).__name__)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        if not stopped.wait(pause):
            told.set()  # what it said meanwhile was missed


async def _until_stopped(listening: object, stopped: threading.Event) -> None:
    task = asyncio.ensure_future(listening)  # type: ignore[call-overload]
    while not stopped.is_set() and not task.done():
        await asyncio.wait({task}, timeout=_LOOK_EVERY_S)
    if not task.done():
        task.cancel()
    await asyncio.gather(task, return_exceptions=stopped.is_set())
