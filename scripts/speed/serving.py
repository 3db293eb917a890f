"""A store served by a real process and put under load by another; what the answers took and what the server holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ontology.errors import EgotoolsError, NotReadyError
from scripts.bench_sets import ROOT
from scripts.speed.client import LoadPlan
from scripts.speed.memory import read_memory

__all__ = ["measure_serving", "serving"]

_START_S = 120.0
_STOP_S = 60.0


def measure_serving(store: Path, presets: Sequence[str], plan: LoadPlan) -> dict[str, Any]:
    """Serve a store, run the plan against each preset, and read the server's memory after it.

    :raises EgotoolsError: when the server does not start, or answers nothing.

    The server is ``egotools serve`` with its defaults; the client is a process of its own. Both share the processors.
    """
    started = time.perf_counter()
    with serving(store) as ready:
        ready_s = time.perf_counter() - started
        points = {preset: _load(ready, preset, plan) for preset in presets}
        memory = read_memory(ready["pid"], store)
    return {"snapshot_id": ready["snapshot_id"], "ready_s": ready_s, "memory": memory, "points": points}


def _load(ready: dict[str, Any], preset: str, plan: LoadPlan) -> list[dict[str, Any]]:
    said = [ready["address"], str(ready["pid"]), preset, json.dumps(asdict(plan))]
    command = [sys.executable, "-m", "scripts.speed.client", *said]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise EgotoolsError("the client process failed", subject=preset, remedy="See what it said before this")
    points: list[dict[str, Any]] = json.loads(done.stdout)
    return points


@contextmanager
def serving(store: Path) -> Iterator[dict[str, Any]]:
    """A server process over a store on a free loopback port, and what its ready file says; stopped by SIGTERM.

    :raises NotReadyError: with the end of its log, when it does not start.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("EGOTOOLS_")}
    with tempfile.TemporaryDirectory(prefix="egotools-bench-") as folder:
        ready, log = Path(folder) / "ready.json", Path(folder) / "log"
        command = [sys.executable, "-m", "services.cli", "serve", "--store", str(store), "--port", "0"]
        with log.open("w", encoding="utf-8") as told:
            process = subprocess.Popen(
                [*command, "--ready-file", str(ready)], cwd=ROOT, env=environ, stdout=told, stderr=told
            )
        try:
            yield _ready(process, ready, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


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
        remedy=f"It said: {log.read_text(encoding='utf-8')[-2000:].strip()}",
    )
