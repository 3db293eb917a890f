"""How many of the nearest tools the vector index finds, with filters too: ``python -m scripts.speed.index_recall STORE``.

It takes the vectors of the tools of a snapshot, and adds copies with noise until there are ``--rows``. For growing shares of allowed
tools it compares the pool of preset ``default`` with brute force. Requests are 100 tools that are left out, with noise. Set
``OMP_NUM_THREADS=1``, as the server does: the times are those of the processor.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer

from inference.encoder import Floats2d
from retrieval.candidates.candidate_generation import EF_SEARCH, POOL
from retrieval.index.vectors import NodeVectors, write_vectors
from retrieval.snapshot.publish import current_snapshot
from retrieval.snapshot.reader import open_snapshot
from scripts.run_command import run_command

SHARES = (1.0, 0.5, 0.1, 0.01)
_QUERIES = 100
_NOISE = 0.025  # of each of 384 components: a copy has a cosine of about 0.9 with its tool


def main(
    store: Annotated[Path, typer.Argument(help="with the vectors, or a .npy file of unit rows")],
    rows: Annotated[int, typer.Option(help="number of tools")] = 100_000,
    seed: Annotated[int, typer.Option(help="of the noise and of the allowed tools")] = 0,
) -> None:
    """Print the recall and the time of each share."""
    draw = np.random.default_rng(seed)
    known = _tool_vectors(store)
    draw.shuffle(known)
    queries_QD, tools_TD = _noisy(known[:_QUERIES], draw), known[_QUERIES:]
    copies = -(-rows // len(tools_TD)) - 1
    vectors_ND = np.concatenate([tools_TD, *(_noisy(tools_TD, draw) for _ in range(copies))])[:rows]
    with TemporaryDirectory() as folder:
        write_vectors(Path(folder), "nodes", vectors_ND, tool_count=len(vectors_ND))
        index = NodeVectors(Path(folder), "nodes", tool_count=len(vectors_ND))
        print(f"| tools allowed of {len(vectors_ND):,} | recall@{POOL} | ms |\n|---:|---:|---:|")
        for share in SHARES:
            allowed = None if share == 1.0 else draw.random(len(vectors_ND)) < share
            recall, ms = _measured(index, vectors_ND, queries_QD, allowed)
            print(f"| {share:.0%} | {recall:.4f} | {ms:.2f} |")


def _tool_vectors(store: Path) -> Floats2d:
    if store.suffix == ".npy":
        return np.asarray(np.load(store), dtype=np.float32)
    snapshot = open_snapshot(current_snapshot(store), verify=False)
    return snapshot.vectors.rows(np.arange(snapshot.tool_count))


def _noisy(rows_ND: Floats2d, draw: np.random.Generator) -> Floats2d:
    made = rows_ND + _NOISE * draw.normal(size=rows_ND.shape)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def _measured(
    index: NodeVectors,
    vectors_ND: Floats2d,
    queries_QD: Floats2d,
    allowed: np.ndarray[tuple[int], np.dtype[np.bool_]] | None,
) -> tuple[float, float]:
    """The share of the nearest allowed tools that are found, and the mean milliseconds of a search."""
    known = np.arange(len(vectors_ND)) if allowed is None else np.flatnonzero(allowed)
    found, spent = 0, 0.0
    for query_D in queries_QD:
        exact = known[np.argsort(-(vectors_ND[known] @ query_D), kind="stable")[:POOL]]
        started = time.process_time()
        rows, _ = index.nearest_tools(query_D, POOL, allowed=allowed, ef_search=EF_SEARCH)
        spent += time.process_time() - started
        found += len(np.intersect1d(rows, exact))
    return found / (len(queries_QD) * min(POOL, len(known))), spent / len(queries_QD) * 1e3


if __name__ == "__main__":
    run_command(main)
