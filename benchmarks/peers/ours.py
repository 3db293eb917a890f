"""egotools measured as the peers are: building and answering each in a fresh process, called by :mod:`benchmarks.peers.run_peers`."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def build(address: str, store: Path) -> None:
    """Build a snapshot on one core, and print its id."""
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    print(build_snapshot([address], store, encoder=load_encoder(DEFAULT_ENCODER)).snapshot_id)


@app.command()
def ask(system: str, folder: Path, k: int) -> None:
    """Answer every request of a prepared folder with one of egotools' systems."""
    from eval.queries import read_queries
    from eval.run import run_system
    from eval.systems import make_systems
    from retrieval.engine import open_engine

    engine = open_engine(folder / "store")
    (asked,) = make_systems([system], engine.snapshot, engine.encoder)
    queries = read_queries([folder / "queries.jsonl"])
    run_system(asked, queries, folder, snapshot_id=engine.snapshot.id, k=k, timeout_s=60.0)


if __name__ == "__main__":
    app()
