"""egotools measured as the peers are: building and answering each in a fresh process, called by :mod:`research.peers.bench_peers`.

``build ADDRESS STORE`` builds a snapshot and prints its id and cost as JSON; ``ask SYSTEM FOLDER K`` answers every request of
a prepared folder and writes the run.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import typer

from research.peers.peer import Memory

ENCODER = "egotools-minilm-int8.v1"
_REQUEST_S = 60.0

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def build(address: str, store: Path) -> None:
    """Build a snapshot on one core."""
    from inference import load_encoder
    from services.jobs.build import build_snapshot

    memory = Memory.now()
    encoder = load_encoder(ENCODER)
    started = time.perf_counter()
    report = build_snapshot([address], store, encoder=encoder, cached=False)
    cost = {
        "snapshot_id": report.snapshot_id,
        "build_s": round(time.perf_counter() - started, 3),
        "build_peak_bytes": memory.grown()["peak_bytes"],
    }
    print(json.dumps(cost))


@app.command()
def ask(system: str, folder: Path, k: int) -> None:
    """Answer every request of a prepared folder with one of egotools' systems."""
    started = time.perf_counter()
    from eval.answers import write_run
    from eval.queries import read_queries
    from eval.run import run_system
    from eval.systems import make_systems
    from retrieval.engine import open_engine

    memory = Memory.now()
    engine = open_engine(folder / "store")
    (asked,) = make_systems([system], engine.snapshot, engine.encoder)
    load_s = round(time.perf_counter() - started, 3)
    built = json.loads((folder / "build.json").read_text(encoding="utf-8"))
    run = run_system(
        asked,
        read_queries([folder / "queries.jsonl"]),
        folder,
        snapshot_id=engine.snapshot.id,
        k=k,
        timeout_s=_REQUEST_S,
        resources={"load_s": load_s, **{name: built[name] for name in ("build_s", "build_peak_bytes")}},
    )
    if "peak_bytes" not in run.resources:  # else the run was there before, and this process measured nothing
        write_run(folder, replace(run, resources={**run.resources, **memory.grown()}))


if __name__ == "__main__":
    app()
