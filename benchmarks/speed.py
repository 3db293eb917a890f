"""What a request costs beside its encoding, compared within one run: ``make bench``.

Processor time of one thread, in process, k = 10: encoding the request alone, and each system on the same requests and snapshot. Of each
request the fastest round counts: other programs slow a round down, and never speed it up. So ratios can be compared between machines, and
milliseconds cannot. ``--store`` takes another catalogue than the shipped one, which is built first and timed against its encoding.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from benchmarks.command import current, run_command
from benchmarks.sets import SAMPLES, SHIPPED, bench_sets
from eval.queries import read_queries
from services.threads import pin_threads

_SYSTEMS = ("bm25", "rrf", "default-no-graph", "default")
_K = 10


def main(
    store: Annotated[Path | None, typer.Option(help="A store; without it the shipped catalogue is built.")] = None,
    rounds: Annotated[int, typer.Option(help="How often every request is asked, after one that warms up.")] = 3,
) -> None:
    """Print the tables."""
    pin_threads()  # before anything numeric is imported
    from inference import DEFAULT_ENCODER

    with tempfile.TemporaryDirectory(prefix="egotools-bench-") as folder:
        if store is None:
            store = Path(folder) / "store"
            _print_build(store)
        _print_requests(store, rounds)
    print(f"\nMeasured with {current(DEFAULT_ENCODER)}.")


def _print_build(store: Path) -> None:
    from inference import DEFAULT_ENCODER, load_encoder
    from ingest.sources import read_catalog
    from ontology.tool import tool_text
    from services.jobs.build import build_snapshot

    (shipped,) = bench_sets([SHIPPED])
    encoder = load_encoder(DEFAULT_ENCODER)
    texts = [tool_text(tool) for tool in read_catalog([str(shipped.catalog)]).tools]
    encoding = _spent_ms(partial(encoder.encode, texts))
    whole = _spent_ms(partial(build_snapshot, [str(shipped.catalog)], store, encoder=encoder, cached=False))
    print("| build | tools | encoding their texts, ms | all, ms | all / encoding |\n|---|---:|---:|---:|---:|")
    print(f"| {SHIPPED} | {len(texts):,} | {encoding:,.0f} | {whole:,.0f} | {whole / encoding:.2f} |\n")


def _print_requests(store: Path, rounds: int) -> None:
    from eval.systems import make_systems
    from retrieval.engine import open_engine

    engine = open_engine(store)
    queries = [query.text for query in read_queries([SAMPLES]).queries]
    encoding = _mean_ms(lambda text: engine.encoder.encode([text]), queries, rounds)
    print(f"{engine.snapshot.tool_count:,} tools, {len(queries)} requests, fastest of {rounds} rounds\n")
    print("| system | ms of processor | / encoding the request |\n|---|---:|---:|")
    print(f"| encoding alone | {encoding:.2f} | 1.00 |")
    for system in make_systems(_SYSTEMS, engine.snapshot, engine.encoder):
        spent = _mean_ms(lambda text, asked=system: asked.ask(text, k=_K, timeout_s=60.0), queries, rounds)  # type: ignore[misc]
        print(f"| {system.name} | {spent:.2f} | {spent / encoding:.2f} |")


def _mean_ms(call: Callable[[str], object], queries: Sequence[str], rounds: int) -> float:
    """The mean over the requests of the least time of a round."""
    for text in queries:
        call(text)
    return fmean(min(_spent_ms(partial(call, text)) for _ in range(rounds)) for text in queries)


def _spent_ms(call: Callable[[], object]) -> float:
    """Processor time of this process in milliseconds."""
    started = time.process_time()
    call()
    return (time.process_time() - started) * 1e3


if __name__ == "__main__":
    run_command(main)
