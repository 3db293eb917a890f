"""One catalogue whose tools change while it is served: a snapshot, the log of its changes, and the engine over both."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from inference.cached_encoder import CachedEncoder
from inference.result_cache import ResultCache
from ontology.errors import InvalidArgumentError, NotReadyError, SnapshotError
from ontology.files import disk_errors
from ontology.tool import Tool
from retrieval.delta.change_log import ChangeLog
from retrieval.delta.join import join
from retrieval.delta.near_tools import as_read, near_tools
from retrieval.delta.segment import EMPTY, ChangedTools, Segment
from retrieval.snapshot.change_records import Change, changed_id
from retrieval.snapshot.collect import collect_after
from retrieval.snapshot.publish import publish_again, published_id
from retrieval.snapshot.publish_lock import publishing
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.signed_changes import check_may_change
from retrieval.snapshot_engine import SnapshotEngine
from services.jobs.merge_changes import Merger
from services.jobs.plans import DEFAULT_KEEP
from services.jobs.tools_worker import ToolsReader

__all__ = ["ChangeCounts", "ChangingCatalogue"]

_CACHE = "cache.sqlite"
_MAX_IDS = 10_000
_AT_ONCE = 500  # tools of one segment that are made of a log at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCounts:
    """What a call changed.

    :param unknown: ids of a removal that the catalogue does not have.
    :param snapshot_id: id of the state that answers from now on.
    """

    added: int = 0
    replaced: int = 0
    removed: int = 0
    unchanged: int = 0
    unknown: int = 0
    snapshot_id: str = ""


class ChangingCatalogue:
    """Changes are read, linked, joined, written to the log and then served, in this order: what is served is durable, and what could not
    be made searchable was not kept. Thread-safe; one change at a time.

    :param engine: over the published snapshot of the store, without changes.
    :param writes: whether changes may be made here; otherwise those that another process makes are read.
    :param takes: whether this process is the one that writes from now on; otherwise from its next change on, unless another one is.
    :param serve: takes the engine that answers from now on.
    :raises SnapshotCorruptError: when the log is damaged.
    """

    def __init__(
        self,
        store: Path,
        engine: SnapshotEngine,
        reader: ToolsReader,
        serve: Callable[[SnapshotEngine], None],
        *,
        writes: bool = True,
        takes: bool = True,
    ) -> None:
        self.store = store
        self._writes = writes
        self._reader, self._serve = reader, serve
        self._lock, self._merging = threading.RLock(), threading.Lock()
        self._base = engine
        self._vectors = ResultCache(
            store / _CACHE
        )  # a change encodes the texts of all changes, and a merge those of a build
        self._closed = False
        self._log = ChangeLog(store, engine.snapshot_id, writes=writes, takes=takes)
        try:
            self._segment, self._engine = self._after(engine, self._log.contents)
        except BaseException:
            self.close()
            raise
        self.oldest = time.monotonic() if self._log.contents else None

    @property
    def base(self) -> SnapshotEngine:
        """The engine over the snapshot, without changes."""
        return self._base

    @property
    def engine(self) -> SnapshotEngine:
        """The engine over the snapshot and all changes."""
        return self._engine

    @property
    def holds_log(self) -> bool:
        """Whether nobody but this process can change the catalogue."""
        return self._log.held

    @property
    def pending(self) -> int:
        """Number of tools that differ from the snapshot."""
        return len(self._segment.gone)

    def upsert(self, rows: Sequence[Mapping[str, Any]]) -> ChangeCounts:
        """Add tools, or replace those with the same ids.

        :param rows: tools as JSON objects.
        :raises DocumentError: for a row that is no tool; nothing is changed then, nor by the other errors.
        :raises CatalogError: for tools with severe findings that were not released.
        :raises StorageError: when the change cannot be written.
        :raises ModelError: when the encoder is down.
        :raises NotReadyError: when the process that reads tools died, or the store has published another snapshot.
        :raises OtherWriterError: when another process changes the catalogue.
        """
        if not rows:
            raise InvalidArgumentError("the call has no tools", subject="tools_json", remedy="Send at least one")
        check_may_change()
        with self._lock:
            self._take_log()
        tools = self._reader.read(rows)
        with self._lock:
            snapshot = self._engine.snapshot
            known = {tool.id: _stored(snapshot, tool.id) for tool in tools}
            changed = [tool for tool in tools if not _equal(known[tool.id], tool)]
            if changed:
                published = [tool for tool in known.values() if tool is not None]
                self._reader.examine(changed, published, self.store)
            replaced = sum(known[tool.id] is not None for tool in changed)
            counts = ChangeCounts(added=len(changed) - replaced, replaced=replaced, unchanged=len(tools) - len(changed))
            return self._change(Change(upserted=tuple(changed)), counts) if changed else self._as_is(counts)

    def delete(self, ids: Sequence[str]) -> ChangeCounts:
        """Remove tools.

        :param ids: 1 to 10,000; those that the catalogue does not have are counted.
        :raises InvalidArgumentError: when no tool would be left.
        :raises StorageError: when the change cannot be written.
        :raises OtherWriterError: when another process changes the catalogue.
        """
        if not 1 <= len(ids) <= _MAX_IDS:
            raise InvalidArgumentError(f"a call has 1 to {_MAX_IDS:,} ids, not {len(ids):,}", subject="ids")
        check_may_change()
        wanted = sorted(set(ids))
        with self._lock:
            self._take_log()
            snapshot = self._engine.snapshot
            known = [id_ for id_ in wanted if snapshot.find_node(f"tool:{id_}") is not None]
            if len(known) == snapshot.tool_count:
                raise InvalidArgumentError(
                    "no tool would be left",
                    subject="ids",
                    remedy="Add the new tools first, or publish another snapshot",
                )
            counts = ChangeCounts(removed=len(known), unknown=len(wanted) - len(known))
            return self._change(Change(deleted=tuple(known)), counts) if known else self._as_is(counts)

    def merge(self, merger: Merger, opened: Callable[[Path], SnapshotEngine]) -> str:
        """Build the catalogue with its changes as a whole, publish it and serve it. Changes go on meanwhile, and stay in the log.

        :param opened: opens the engine over a snapshot folder.
        :returns: the id of the published snapshot.
        :raises EgotoolsError: when it cannot be built, another snapshot was published meanwhile, or another process writes; all stays
            as it was.
        """
        with self._merging:
            with self._lock:
                self._take_log()
                base, count = self._log.base_id, len(self._log.contents)
                if not count:
                    return base
                self._require_open(base)
            merged = merger(self.store, base, count)
            engine = opened(self.store / "snapshots" / merged)
            with self._lock:
                self._require_open(base)
                rest = self._log.contents[count:]
                segment, changed = self._after(engine, rest)
                self._log = self._published(merged, count)
                self._base, self._segment, self._engine = engine, segment, changed
                self.oldest = time.monotonic() if rest else None
                self._serve(changed)
        collect_after(self.store, DEFAULT_KEEP)
        return merged

    @contextmanager
    def handing_over(self) -> Iterator[None]:
        """Let another one open the log in the block. No change and no merge ends meanwhile; with the block this one is closed, unless it
        raises: then this one goes on.
        """
        with self._lock:
            self._log.close()
            yield
            self.close()

    def close(self) -> None:
        """Close the files. A change or a merge that has not ended is refused."""
        with self._lock:
            self._closed = True
            self._log.close()
            if self._vectors is not None:
                self._vectors.close()

    def _take_log(self) -> None:
        """Be the writer, with what another process has written before it ended.

        :raises OtherWriterError: when another process is.
        """
        if self._log.held or not self._writes:
            return
        self._require_published()
        log = ChangeLog(self.store, self._log.base_id)
        try:
            if log.path.exists():
                log.lock()
            if log.contents != self._log.contents:
                self._segment, self._engine = self._after(self._base, log.contents)
                self.oldest = self.oldest or time.monotonic()
                self._serve(self._engine)
        except BaseException:
            log.close()
            raise
        self._log = log

    def _require_published(self) -> None:
        if self._closed or published_id(self.store) != self._log.base_id:
            raise NotReadyError(
                "the store has published another snapshot, which is not served yet",
                subject=self._log.base_id,
                remedy="Send the change again in a moment",
            )

    def _require_open(self, base: str) -> None:
        if self._closed or self._log.base_id != base or published_id(self.store) != base:
            raise SnapshotError(
                "another snapshot was published, or the server stops, during the merge",
                subject=base,
                remedy="Nothing need be done",
            )

    def _published(self, merged: str, count: int) -> ChangeLog:
        """Publish a merged snapshot with the changes that came after the merge began; return its log.

        A crash in between leaves either the old snapshot with its whole log, or the new one with the log that was prepared for it.
        """
        if merged == self._log.base_id:  # the changes took each other back
            self._log.replace(self._log.contents[count:])
            return self._log
        publish_again(self.store, merged, replaces=self._log.base_id, merged=count)
        self._log.remove()
        return ChangeLog(self.store, merged)

    def _after(self, base: SnapshotEngine, contents: Sequence[bytes]) -> tuple[Segment, SnapshotEngine]:
        """The segment of all these changes of a snapshot, and the engine over both."""
        if not contents:
            return EMPTY, base
        tools: dict[str, Tool] = {}
        removed: set[str] = set()
        for change in map(Change.from_content, contents):
            tools.update((tool.id, tool) for tool in change.upserted)
            removed.update(change.deleted)
            removed.difference_update(tool.id for tool in change.upserted)
            for id_ in change.deleted:
                tools.pop(id_, None)
        segment = Segment(removed=frozenset(removed))
        state = changed_id(base.snapshot_id, contents)
        engine, ids = self._joined(base, segment, state), sorted(tools)
        for start in range(0, len(ids), _AT_ONCE):
            chosen = [tools[id_] for id_ in ids[start : start + _AT_ONCE]]
            segment = segment.then(self._made(chosen, engine.snapshot, {*tools}))
            engine = self._joined(base, segment, state)
        return segment, engine

    def _change(self, change: Change, counts: ChangeCounts) -> ChangeCounts:
        later = Segment(removed=frozenset(change.deleted))
        if change.upserted:
            later = self._made(change.upserted, self._engine.snapshot, {tool.id for tool in change.upserted})
        segment = self._segment.then(later)
        contents = [*self._log.contents, change.content()]
        engine = self._joined(self._base, segment, changed_id(self._log.base_id, contents))
        self._append(change)
        self._segment, self._engine = segment, engine
        self.oldest = self.oldest or time.monotonic()
        self._serve(engine)
        return self._as_is(counts)

    def _append(self, change: Change) -> None:
        """Write a change. The snapshot is the published one while it is written: whatever takes its place takes over the change."""
        with disk_errors(self.store), publishing(self.store):
            self._require_published()
            self._log.append(change)

    def _made(self, tools: Sequence[Tool], snapshot: Snapshot, new: set[str]) -> Segment:
        """The segment of changed tools; what they depend on and nobody has is left out, as a build does."""
        known = [
            replace(
                tool,
                depends_on=tuple(
                    one
                    for one in tool.depends_on
                    if one.tool in new or snapshot.find_node(f"tool:{one.tool}") is not None
                ),
            )
            for tool in tools
        ]
        return self._reader.make(
            ChangedTools(
                tools=known,
                among=near_tools(snapshot, known),
                abbreviations=snapshot.abbreviations,
                usage=snapshot.manifest.usage or "",
            )
        )

    def _joined(self, base: SnapshotEngine, segment: Segment, snapshot_id: str) -> SnapshotEngine:
        self._vectors = self._vectors or ResultCache(self.store / _CACHE)
        snapshot = join(base.snapshot, segment, CachedEncoder(base.encoder, self._vectors), snapshot_id)
        added = [snapshot.tool_number(id_) for id_ in sorted(segment.tools)]
        return base.over(snapshot, np.asarray(added, dtype=np.int64))

    def _as_is(self, counts: ChangeCounts) -> ChangeCounts:
        return replace(counts, snapshot_id=self._engine.snapshot_id)


def _stored(snapshot: Snapshot, tool_id: str) -> Tool | None:
    number = snapshot.find_node(f"tool:{tool_id}")
    return as_read(snapshot.tool(number)) if number is not None else None


def _equal(stored: Tool | None, tool: Tool) -> bool:
    return stored is not None and stored.canonical_json() == tool.canonical_json()
