"""What our own models are worth in ``default``: ``python -m research.compare_models``; renews the table of ``docs/models.md``.

Four ways to serve the same catalogue: the published encoder or the tuned one, each without and with the reranking by the
small reranker. Every set of the macro average is built with both encoders, and all four are asked the same requests.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from research.open_sets import require_open_sets
from scripts.bench_sets import MACRO_SETS, ROOT, SHIPPED, BenchSet, bench_sets, catalog_address, sampled
from scripts.document_blocks import replace_block, slashed
from scripts.run_command import run_command
from services.threads import pin_threads

OUT = ROOT / "out" / "compare-models"
ENCODERS = ("minilm-l6-int8.v1", "egotools-minilm-int8.v1")
RERANKER = "egotools-reranker-int8.v1"
SEEN = ("metatool", "sealtools")
"""The sets whose tools were in the training of ours, with other requests."""
CUTOFFS = (3, 5, 10)
Row = tuple[float, ...]


def main(
    sets: Annotated[str, typer.Option(help="comma-separated")] = ",".join((*MACRO_SETS, SHIPPED)),
    limit: Annotated[int, typer.Option(help="requests of each set at most")] = 400,
) -> None:
    """Measure, print the table, put it into the page."""
    require_open_sets()
    found: dict[str, list[Row]] = {}
    for bench_set in bench_sets(sets.split(",")):
        found[bench_set.name] = [row for encoder in ENCODERS for row in measured(bench_set, encoder, limit)]
        print(bench_set.name, *map(slashed, found[bench_set.name]), flush=True)
    text = table(found)
    print(text)
    if set(found) >= {*MACRO_SETS, SHIPPED}:
        replace_block(ROOT / "docs" / "models.md", "compared", text)


def measured(bench_set: BenchSet, encoder: str, limit: int) -> list[Row]:
    """CompleteRecall (%) at the cutoffs over one encoder: without reranking, and with it."""
    from eval.gold_slots import gold_slots
    from eval.metrics import complete_at, slot_ranks
    from inference import load_encoder, load_reranker
    from retrieval.query.request import Request
    from retrieval.snapshot_engine import open_engine
    from services.jobs.build import build_snapshot

    store = OUT / bench_set.name / encoder
    model = load_encoder(encoder, workers=2)
    build_snapshot([str(catalog_address(bench_set, OUT / bench_set.name))], store, encoder=model, workers=2)
    engine = open_engine(store, encoder=model, reranker=load_reranker(RERANKER))
    rows = []
    for preset in ("fast", "default"):
        retriever, done = engine.retriever(preset), []
        for row in sampled(bench_set, limit):
            answer = [tool.id for tool in retriever.retrieve(Request(query=row["query"], explain=False)).tools]
            done.append(complete_at(slot_ranks(answer, gold_slots(row["tools"]))) or sys.maxsize)
        rows.append(tuple(100 * sum(rank <= cutoff for rank in done) / len(done) for cutoff in CUTOFFS))
    return rows


def table(found: dict[str, list[Row]]) -> str:
    """A row a set, and the means over those that were seen in training and those that were not."""
    unseen = [name for name in MACRO_SETS if name in found and name not in SEEN]
    names = ("published", "published, reranked", "tuned", "tuned, reranked")
    lines = [f"| set | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    lines += [
        f"| {name}{' (tools seen)' if name in SEEN else ''} | {' | '.join(map(slashed, rows))} |"
        for name, rows in found.items()
    ]
    for label, chosen in (
        ("mean of the unseen", unseen),
        ("mean of all but the shipped", [n for n in MACRO_SETS if n in found]),
    ):
        means = [_mean([found[name][column] for name in chosen]) for column in range(len(names))]
        lines.append(f"| **{label}** ({len(chosen)}) | {' | '.join(map(slashed, means))} |")
    return "\n".join(lines)


def _mean(rows: Sequence[Row]) -> Row:
    return tuple(sum(values) / len(values) for values in zip(*rows, strict=True))


if __name__ == "__main__":
    pin_threads()  # before anything numeric is imported
    run_command(main)
