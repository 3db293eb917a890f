"""A server in its own process, for the demo and the benchmarks."""

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
_SETTINGS_PREFIX = "EGOTOOLS_"  # these variables are removed: the server uses the defaults


@contextmanager
def server_process(store: Path, *options: str, **settings: str) -> Iterator[dict[str, Any]]:
    """Run ``egotools serve`` over a store on a free loopback port; stop it with SIGTERM at the end of the block.

    :param options: further options of the command.
    :param settings: environment variables of the server.
    :returns: the content of its ready file: ``address``, ``host``, ``port``, ``pid``, ``snapshot_id``.
    :raises NotReadyError: when it does not start, with the end of its log; or when it ends with an exit code other than 0.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS_PREFIX)} | settings
    with tempfile.TemporaryDirectory(prefix="egotools-serve-") as folder:
        ready, log = Path(folder) / "ready.json", Path(folder) / "log"
        command = [sys.executable, "-m", "services.cli", "serve", "--store", str(store), "--port", "0"]
        with log.open("w", encoding="utf-8") as out:
            process = subprocess.Popen(
                [*command, "--ready-file", str(ready), *options], env=environ, stdout=out, stderr=out
            )
        try:
            yield _ready(process, ready, log)
        finally:
            _stop(process)
        if process.returncode:
            raise NotReadyError(f"the server ended with exit code {process.returncode}", subject="egotools serve")


def _ready(process: subprocess.Popen[bytes], ready: Path, log: Path) -> dict[str, Any]:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        if ready.exists():
            content: dict[str, Any] = json.loads(ready.read_text(encoding="utf-8"))
            return content
        time.sleep(0.02)
    raise NotReadyError(
        "the server did not start",
        subject="egotools serve",
        remedy=f"The end of its log: {log.read_text(encoding='utf-8')[-_LOG_CHARS:].strip()}",
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
