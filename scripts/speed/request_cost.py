"""What a request costs beside its encoding: ``python -m scripts.speed.request_cost STORE [ROUNDS]``.

Processor time of ``default`` in process, k = 10, with reasons, against encoding the same request alone with the same encoder; and
against encoding it and each of its clauses. Of each request the fastest round counts: other programs slow a round down, and never
speed it up.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scripts.speed.speed_queries import bench_queries, mixed

__all__ = ["main"]

_PRESET = "default"
_K = 10
_ROUNDS = 5


def main(store: Path, rounds: int = _ROUNDS) -> None:
    """Print the means over the requests as a Markdown table, and the ratio.

    :param rounds: how often every request is asked, after one that warms up.
    """
    from retrieval.engine import open_engine
    from retrieval.query.query import decompose
    from retrieval.query.request import Request

    engine = open_engine(store)
    retriever, encoder = engine.retriever(_PRESET), engine.encoder
    queries = mixed(bench_queries())
    alone = clauses = whole = 0.0
    for query in queries:
        parts = decompose(query)
        texts = [query, *parts] if len(parts) > 1 else [query]
        alone += _fastest_ms(partial(encoder.encode, [query]), rounds)
        clauses += _fastest_ms(partial(encoder.encode, texts), rounds)
        whole += _fastest_ms(partial(retriever.retrieve, Request(query=query, k=_K)), rounds)
    shown = " | ".join(f"{spent / len(queries):.2f}" for spent in (alone, clauses, whole))
    print("| tools | encoding alone | with each clause | all | all / encoding |\n|---:|---:|---:|---:|---:|")
    print(f"| {engine.snapshot.tool_count:,} | {shown} | {whole / alone:.2f} |")


def _fastest_ms(call: Callable[[], object], rounds: int) -> float:
    """The least processor time of this thread, in milliseconds."""

    def spent() -> float:
        started = time.thread_time()
        call()
        return time.thread_time() - started

    call()
    return min(spent() for _ in range(rounds)) * 1e3


if __name__ == "__main__":
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else _ROUNDS)
