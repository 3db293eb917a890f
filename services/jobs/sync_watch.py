"""Watch the sources of a store, and sync when that is due: a file changed, a server says that its tools did, or an interval is over."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ingest.sources.source_entry import SourceEntry
from ontology.errors import EgotoolsError
from services.jobs.source_sync import SyncReport, sources_of

__all__ = ["watch"]

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
