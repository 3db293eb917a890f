"""A store served by a real process and put under load by another; what the answers took and what the server holds."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ontology.errors import EgotoolsError
from scripts.bench_sets import ROOT
from scripts.speed.linux_accounts import read_memory
from scripts.speed.load_client import POINTS, LoadPlan
from scripts.speed.speed_results import Point, Serving
from services.server.process import server_process

__all__ = ["measure_serving"]


def measure_serving(store: Path, presets: Sequence[str], plan: LoadPlan) -> Serving:
    """Serve a store, run the plan against each preset, and read the server's memory after it.

    The server is ``egotools serve`` with its defaults, and the presets to compare with; the client is a process of its own. Both share the processors.

    :raises EgotoolsError: when the server does not start, or answers nothing.
    """
    started = time.perf_counter()
    with server_process(store, "--baselines") as ready:
        ready_s = time.perf_counter() - started
        points = {preset: _load(ready, preset, plan) for preset in presets}
        memory = read_memory(ready["pid"], store)
    return Serving(snapshot_id=ready["snapshot_id"], ready_s=ready_s, memory=memory, points=points)


def _load(ready: dict[str, Any], preset: str, plan: LoadPlan) -> tuple[Point, ...]:
    given = [ready["address"], str(ready["pid"]), preset, TypeAdapter(LoadPlan).dump_json(plan).decode()]
    command = [sys.executable, "-m", "scripts.speed.load_client", *given]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE)
    if done.returncode:
        raise EgotoolsError("the client process failed", subject=preset, remedy="See the error that it printed")
    return POINTS.validate_json(done.stdout)
