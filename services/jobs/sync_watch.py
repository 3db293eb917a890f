"""Watch the sources of a catalogue, and sync each when it is due: its files changed, its server says so, or its interval is over."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator

from ingest.sources.source_entry import SourceEntry
from ontology.errors import EgotoolsError
from services.jobs.source_sync import SourceSync, Sync

__all__ = ["watch"]

_LOG = logging.getLogger("egotools.sync")
_MCP = ("mcp:", "mcp+http://", "mcp+https://")
_LOOK_EVERY_S = 1.0
_LONGEST_PAUSE_S = 60.0


def watch(
    sync: Sync,
    stopped: threading.Event,
    *,
    now: Callable[[], float] = time.monotonic,
    look_every_s: float = _LOOK_EVERY_S,
) -> Iterator[SourceSync]:
    """Yield what came of each sync, until ``stopped`` is set. Every source is read once at the start.

    A sync that fails is tried again, after a pause that grows to a minute.

    :raises InvalidArgumentError: as :meth:`Sync.sources`.
    """
    entries = {entry.name: entry for entry in sync.sources()}
    told = {name: threading.Event() for name in entries}
    for name, entry in entries.items():
        if entry.location.startswith(_MCP):
            threading.Thread(
                target=_listen, args=(entry, told[name], stopped), name=f"list_changed {name}", daemon=True
            ).start()
    files: dict[str, str] = {}
    read_at: dict[str, float] = {}
    pauses: dict[str, float] = {}
    while not stopped.is_set():
        for name, entry in entries.items():
            state = sync.files(name)
            if name in read_at and not _is_due(
                entry, state != files[name], told[name], now() - read_at[name], pauses.get(name)
            ):
                continue
            told[name].clear()
            files[name], read_at[name] = state, now()
            try:
                (done,) = sync.run([name])
                failed = bool(done.refused)
            except EgotoolsError as error:
                done, failed = SourceSync(name=name, problem=str(error), exit_code=error.exit_code), True
            if failed:
                pauses[name] = min(2 * pauses.get(name, look_every_s), _LONGEST_PAUSE_S)
            else:
                pauses.pop(name, None)
            yield done
        stopped.wait(look_every_s)


def _is_due(entry: SourceEntry, changed: bool, told: threading.Event, since_s: float, pause_s: float | None) -> bool:
    if pause_s is not None:  # the last one failed
        return since_s >= pause_s
    return changed or told.is_set() or (entry.refresh_s is not None and since_s >= entry.refresh_s)


def _listen(entry: SourceEntry, told: threading.Event, stopped: threading.Event) -> None:
    """Set ``told`` whenever the server of a source says that its tools changed, and when it can be reached again."""
    from ingest.sources.mcp.list_changed import watch_tools

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
