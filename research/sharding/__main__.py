"""What a divided catalogue costs: ``python -m research.sharding STORE REQUESTS``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from egotools.values import Response
from research.sharding.divided_search import divided, shards_of
from retrieval.engine import SnapshotEngine, open_engine
from retrieval.query.request import Request
from scripts.run_command import run_command

__all__ = ["main"]

_SHARDS = (1, 2, 4, 8)


def _asked(engine: SnapshotEngine, queries: list[str]) -> tuple[list[Response], float]:
    """The answers, and the median of the milliseconds of processor time."""
    retriever = engine.retriever()
    answers, spent = [], []
    for query in queries:
        started = time.thread_time()
        answers.append(retriever.retrieve(Request(query=query)))
        spent.append((time.thread_time() - started) * 1e3)
    return answers, median(spent)


def main(
    store: Annotated[Path, typer.Argument(help="Store with a published snapshot.")],
    requests: Annotated[Path, typer.Argument(help="JSON Lines file with `query`.")],
) -> None:
    """Ask one node and divided ones the same requests; print the requests with other tools, and processor time."""
    queries = [json.loads(line)["query"] for line in requests.read_text(encoding="utf-8").splitlines()]
    engine = open_engine(store)
    _asked(engine, queries[:20])
    alone, alone_ms = _asked(engine, queries)
    print(
        f"{engine.snapshot.tool_count:,} tools, {len(queries)} requests; one node {alone_ms:.1f} ms of processor time"
    )
    for count in _SHARDS:
        shards = shards_of(engine.snapshot, count)
        parted = SnapshotEngine(divided(engine.snapshot, shards), engine.encoder)
        answers, spent_ms = _asked(parted, queries)
        other = sum([a.id for a in x.tools] != [b.id for b in y.tools] for x, y in zip(alone, answers, strict=True))
        largest = max(int(shard.sum()) for shard in shards)
        print(f"{count} shards (largest {largest:,} tools): {other} answers differ, {spent_ms:.1f} ms in all")


if __name__ == "__main__":
    run_command(main)
