"""A store served by a real process and put under load by another; what the answers took and what the server holds."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ontology.errors import EgotoolsError
from scripts.bench_sets import ROOT
from scripts.speed.load_client import LoadPlan
from scripts.speed.server_memory import read_memory
from services.server.server_process import server_process

__all__ = ["measure_serving"]


def measure_serving(store: Path, presets: Sequence[str], plan: LoadPlan) -> dict[str, Any]:
    """Serve a store, run the plan against each preset, and read the server's memory after it.

    :raises EgotoolsError: when the server does not start, or answers nothing.

    The server is ``egotools serve`` with its defaults; the client is a process of its own. Both share the processors.
    """
    started = time.perf_counter()
    with server_process(store) as ready:
        ready_s = time.perf_counter() - started
        points = {preset: _load(ready, preset, plan) for preset in presets}
        memory = read_memory(ready["pid"], store)
    return {"snapshot_id": ready["snapshot_id"], "ready_s": ready_s, "memory": memory, "points": points}


def _load(ready: dict[str, Any], preset: str, plan: LoadPlan) -> list[dict[str, Any]]:
    said = [ready["address"], str(ready["pid"]), preset, json.dumps(asdict(plan))]
    command = [sys.executable, "-m", "scripts.speed.load_client", *said]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise EgotoolsError("the client process failed", subject=preset, remedy="See what it said before this")
    points: list[dict[str, Any]] = json.loads(done.stdout)
    return points
