"""The server of one node: an actor that runs ``egotools serve`` and starts it again when it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from inference.retry import RetryPolicy
from services.cluster.ray_cluster import RECONNECT
from services.server.server import read_ready_file

__all__ = ["NodeServer"]

_STEADY_S = 60.0
_BACKOFF = RetryPolicy()
_PR_SET_PDEATHSIG = 1
_END_WITH_PARENT = partial(ctypes.CDLL(None, use_errno=True).prctl, _PR_SET_PDEATHSIG, int(signal.SIGKILL))
"""Lets the kernel kill the calling process when the thread that started it is gone. Made here, so that nothing is imported between fork
and exec."""


class NodeServer:
    """Runs the server until :meth:`stop`. Where this process dies, however that happens, the server dies with it.

    :param arguments: of ``egotools serve``.
    :param environ: the variables of the server.
    """

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="egotools-node-")
        self._ready = Path(self._folder.name) / "ready.json"
        self._arguments = tuple(arguments)
        self._environ = dict(environ)
        self._child: subprocess.Popen[bytes] | None = None
        self._problem = ""
        self._stopping = threading.Event()
        if RECONNECT in os.environ:
            # The kernel ends a child with the thread that started it, so one thread starts it each time.
            self._keeping = threading.Thread(target=self._keep, daemon=True)
            self._keeping.start()
        else:
            self._problem = f"the node was started without {RECONNECT}: it would end a minute after the head"

    def state(self) -> dict[str, Any]:
        """Return the arguments and variables, the content of the ready file or nothing, and why the server does not run, or an empty text."""
        try:
            ready = read_ready_file(self._ready)
        except OSError:
            ready = {}
        return {"command": (self._arguments, self._environ), "ready": ready, "problem": self._problem}

    def stop(self) -> None:
        """Let the server finish its calls, and end it. Nothing can be asked of the node then."""
        self._stopping.set()
        child = self._child
        if child is not None:
            child.send_signal(signal.SIGTERM)
            self._keeping.join()
        self._folder.cleanup()

    def _keep(self) -> None:
        command = [sys.executable, "-m", "services.cli", "serve", *self._arguments, "--ready-file", str(self._ready)]
        losses = 0
        while not self._stopping.is_set():
            self._ready.unlink(missing_ok=True)
            started = time.monotonic()
            self._child = subprocess.Popen(
                command,
                env=os.environ | self._environ,
                preexec_fn=_END_WITH_PARENT,
            )
            code = self._child.wait()
            losses = 0 if time.monotonic() - started > _STEADY_S else losses + 1
            self._problem = f"the server ended with exit code {code}; its log is that of its actor: ray logs actor"
            self._stopping.wait(_BACKOFF.delay_s(losses))
