"""A server in a process of its own, for whoever needs one for a while: the demo, the benchmarks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ontology.errors import NotReadyError

__all__ = ["server_process"]

_START_S = 120.0
_STOP_S = 60.0
_LOG_CHARS = 2_000
_WITHOUT = "EGOTOOLS_"  # the defaults are served, whatever the caller's environment says


@contextmanager
def server_process(store: Path) -> Iterator[dict[str, Any]]:
    """``egotools serve`` over a store on a free loopback port; stopped by SIGTERM, as an orchestrator would.

    :returns: what its ready file says: ``address``, ``pid``, ``snapshot_id``.
    :raises NotReadyError: with the end of its log, when it does not start, or does not end as it should.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_WITHOUT)}
    with tempfile.TemporaryDirectory(prefix="egotools-serve-") as folder:
        ready, log = Path(folder) / "ready.json", Path(folder) / "log"
        command = [sys.executable, "-m", "services.cli", "serve", "--store", str(store), "--port", "0"]
        with log.open("w", encoding="utf-8") as told:
            process = subprocess.Popen([*command, "--ready-file", str(ready)], env=environ, stdout=told, stderr=told)
        try:
            yield _ready(process, ready, log)
        finally:
            _stop(process)
        if process.returncode:
            raise NotReadyError(f"the server ended with exit code {process.returncode}", subject="egotools serve")


def _ready(process: subprocess.Popen[bytes], ready: Path, log: Path) -> dict[str, Any]:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        if ready.exists():
            said: dict[str, Any] = json.loads(ready.read_text(encoding="utf-8"))
            return said
        time.sleep(0.02)
    raise NotReadyError(
        "the server did not start",
        subject="egotools serve",
        remedy=f"It said: {log.read_text(encoding='utf-8')[-_LOG_CHARS:].strip()}",
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
