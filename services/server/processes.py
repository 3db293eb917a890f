"""Several processes on one port, one for each processor: one Python process uses little more than one processor.

The catalogue and the models are loaded once, before the processes are forked, so these share their memory until they write
to it; the files of a snapshot are mapped, which all processes share anyway. Each process has the whole server: its own queue,
limits and health. The kernel gives each new *connection* to one of them (``SO_REUSEPORT``).

A process that ends by itself is started again, later each time. One whose event loop stands still, stopped or hung, would be given
connections on; after ten seconds it is killed, and started again. Linux only.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from ontology.errors import EgotoolsError, InvalidArgumentError, NotReadyError
from services.server.heartbeat import Heartbeats
from services.server.logs import fields
from services.server.parent_death import end_with_parent
from services.server.ready_file import read_ready_file, write_ready_file
from services.server.settings import ServerSettings

__all__ = ["Beat", "serve_in_processes"]

Beat: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Counts for ever, while the event loop that it is started in runs."""

_LOG = logging.getLogger("egotools.server")
_HANDLED = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
_POLL_S = 0.2
_FIRST_DELAY_S, _LAST_DELAY_S, _STEADY_S = 0.5, 30.0, 60.0
_MARGIN_S = 10.0
_SILENT_S = 10.0


@dataclass(slots=True, kw_only=True)
class _Child:
    """One process of the group, or the place of one that waits to be started again.

    :param beats: how often its event loop had counted when this process last looked.
    :param silent_s: seconds of looking in which it did not count.
    """

    pid: int = 0
    started: float = 0.0
    beats: int = 0
    silent_s: float = 0.0
    delay_s: float = _FIRST_DELAY_S
    due: float = field(default_factory=time.monotonic)


def serve_in_processes(
    run: Callable[[ServerSettings, Beat], None],
    settings: ServerSettings,
    *,
    prepare: Callable[[], None] = lambda: None,
    forked: Callable[[], None] = lambda: None,
) -> None:
    """Serve in ``settings.processes`` forked processes until SIGTERM or SIGINT; SIGHUP is passed on to each.

    Load what they share in ``prepare``: the signals are blocked by then, also in threads that it may leave. Start no gRPC.

    :param run: serves in one process until it is told to stop, as :func:`services.server.process.run` does; it starts the beat in
        its event loop.
    :param prepare: called here first.
    :param forked: called here once, when all processes are forked.
    :raises InvalidArgumentError: when the port is in use.
    :raises NotReadyError: when a process ends before the first request was answered; its log says why.
    """
    before: set[int] = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    signal.signal(
        signal.SIGHUP, lambda *_: None
    )  # not the default, which ends the process, and not ignored, which hides it
    try:
        with tempfile.TemporaryDirectory(prefix="egotools-serve-") as folder, _reserved_port(settings) as port:
            prepare()
            gc.collect()
            gc.freeze()  # a later collection would write to the shared pages of every object
            _Group(run, replace(settings, port=port), Path(folder), before).watch(forked)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Group:
    """The processes of one server, seen from the process that forked them."""

    def __init__(
        self, run: Callable[[ServerSettings, Beat], None], settings: ServerSettings, folder: Path, mask: set[int]
    ) -> None:
        self._run = run
        self._settings = settings
        self._folder = folder
        self._mask = mask
        self._children = [_Child() for _ in range(settings.processes)]
        self._heartbeats = Heartbeats(settings.processes)
        self._looked = time.monotonic()
        self._ready = False
        self._stopping_since: float | None = None

    def watch(self, forked: Callable[[], None]) -> None:
        """Start the processes, and keep them running until a signal ends them."""
        try:
            self._start_due()
            forked()
            while self._stopping_since is None or any(child.pid for child in self._children):
                if self._stopping_since is None:
                    self._start_due()
                received = signal.sigtimedwait(_HANDLED, _POLL_S)
                if received is not None:
                    self._on_signal(signal.Signals(received.si_signo))
                self._reap()
                self._kill_silent()
                self._announce()
                self._kill_late()
        finally:
            self._forward(signal.SIGKILL)
            if self._settings.ready_file is not None:
                self._settings.ready_file.unlink(missing_ok=True)

    def _start_due(self) -> None:
        for number, child in enumerate(self._children):
            if not child.pid and time.monotonic() >= child.due:
                child.started = time.monotonic()
                self._heartbeats.reset(number)
                child.pid = self._fork(number)

    def _fork(self, number: int) -> int:
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            _end_with(parent)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            admin_port = self._settings.admin_port if number == 0 else None  # the others watch the stores
            metrics_port = self._settings.metrics_port
            own = replace(
                self._settings,
                ready_file=self._ready_file(number),
                process=number,
                admin_port=admin_port,
                metrics_port=metrics_port + number if metrics_port else metrics_port,
            )
            self._run(own, partial(self._heartbeats.beat, number))
            code = 0
        except EgotoolsError as error:
            _LOG.error("the process ends", extra=fields(process=number, reason=str(error)))
            code = error.exit_code
        except Exception:
            _LOG.exception("the process ends", extra=fields(process=number))
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(code)  # nothing of the parent's is cleaned up here

    def _on_signal(self, received: signal.Signals) -> None:
        if received == signal.SIGHUP:
            self._forward(signal.SIGHUP)
        elif received in (signal.SIGTERM, signal.SIGINT):
            self._stopping_since = self._stopping_since or time.monotonic()
            self._forward(signal.SIGTERM)  # a second one aborts the calls in flight

    def _forward(self, number: signal.Signals) -> None:
        for child in self._children:
            if child.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)

    def _reap(self) -> None:
        for number, child in enumerate(self._children):
            if not child.pid or not os.waitpid(child.pid, os.WNOHANG)[0]:
                continue
            child.pid = 0
            self._ready_file(number).unlink(missing_ok=True)
            if self._stopping_since is not None:
                continue
            if not self._ready:
                self._stopping_since = time.monotonic()
                self._forward(signal.SIGTERM)
                raise NotReadyError(
                    "a process of the server did not start", subject="egotools serve", remedy="See its log"
                )
            steady = time.monotonic() - child.started > _STEADY_S
            child.delay_s = _FIRST_DELAY_S if steady else min(2 * child.delay_s, _LAST_DELAY_S)
            child.due = time.monotonic() + child.delay_s
            _LOG.error("a process ended and is started again", extra=fields(process=number, in_s=child.delay_s))

    def _kill_silent(self) -> None:
        """Kill the processes whose event loops have begun to count, and do not any more."""
        now = time.monotonic()
        # Of a pause in which this process stood still too, no more than one look counts.
        passed_s, self._looked = min(now - self._looked, 2 * _POLL_S), now
        for number, child in enumerate(self._children):
            before, child.beats = child.beats, self._heartbeats.count(number)
            child.silent_s = child.silent_s + passed_s if 0 < before == child.beats else 0.0
            if child.pid and child.silent_s > _SILENT_S and self._stopping_since is None:
                child.silent_s = 0.0
                _LOG.error("a process does not answer and is killed", extra=fields(process=number, pid=child.pid))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)

    def _announce(self) -> None:
        """Write the ready file when every process answers."""
        if self._ready or not all(self._ready_file(number).exists() for number in range(len(self._children))):
            return
        self._ready = True
        if self._settings.ready_file is not None:
            first = read_ready_file(self._ready_file(0))
            pids = [child.pid for child in self._children]
            write_ready_file(
                self._settings.ready_file,
                first["address"],
                first["snapshot_id"],
                admin_address=first.get("admin_address", ""),
                processes=pids,
            )

    def _kill_late(self) -> None:
        allowed = self._settings.grace_s + self._settings.drain_s + _MARGIN_S
        if self._stopping_since is not None and time.monotonic() - self._stopping_since > allowed:
            self._forward(signal.SIGKILL)

    def _ready_file(self, number: int) -> Path:
        return self._folder / f"ready-{number}.json"


@contextlib.contextmanager
def _reserved_port(settings: ServerSettings) -> Iterator[int]:
    """The port that the processes share; nobody else's, and not free for others until the block ends.

    :raises InvalidArgumentError: when another program listens on it.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host.strip("[]"), settings.port)
    try:
        with socket.socket(
            family, socket.SOCK_STREAM
        ) as probe:  # with SO_REUSEPORT one could join another server's port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
        with socket.socket(family, socket.SOCK_STREAM) as reserved:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            reserved.bind(address)  # never listens, so it gets no connection
            yield reserved.getsockname()[1]
    except OSError as error:
        raise InvalidArgumentError(
            f"the server cannot listen on this address: {error.strerror or error}",
            subject=f"{settings.host}:{settings.port}",
            remedy="Choose another port; port 0 takes any free one",
        ) from error


def _end_with(parent: int) -> None:
    """Let the kernel stop this process when its parent is gone, however that ended."""
    end_with_parent(signal.SIGTERM)()
    if os.getppid() != parent:
        os._exit(1)
