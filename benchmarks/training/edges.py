"""How many of the derived edges between tools are true, how many true dependencies are found, and the calibration of their confidence.

    python -m benchmarks.training.edges draw DOCUMENT... --count 100 --seed 1 --out sample.jsonl
    python -m benchmarks.training.edges score benchmarks/training/edge_verdicts/calibration.jsonl
    python -m benchmarks.training.edges recall DOCUMENT... --dependencies examples/real/true_dependencies.jsonl
    python -m benchmarks.training.edges calibrate benchmarks/training/edge_verdicts/calibration.jsonl

``draw`` takes one edge of each document in turn, so a large one does not outweigh the others. A reader adds ``"true": true`` or ``false``
and a reason to each row after reading the two documents. The dependencies of the split ``test`` are read once, after the last change of a rule.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from ingest.linking.edges import DerivedEdge, derive_links
from ingest.sources import read_catalog
from ontology import Tool, load_ontology
from ontology.files import write_rows
from ontology.reporting import Proportion

Row = dict[str, Any]
_MAX_TEXT = 160

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def draw(
    documents: Annotated[list[str], typer.Argument(help="addresses of documents, as for `egotools build`")],
    out: Annotated[Path, typer.Option(help="the rows to judge")],
    count: Annotated[int, typer.Option(help="number of edges")] = 100,
    seed: Annotated[int, typer.Option(help="of the draw")] = 1,
    predicates: Annotated[str, typer.Option(help="kinds of edges, with commas")] = "supplies,resolved_by",
) -> None:
    """Draw edges at random, one of each document in turn."""
    tools = read_catalog(documents).tools
    edges = [edge for edge in derive_links(tools, load_ontology()).edges if edge.predicate in predicates.split(",")]
    rows = draw_edges(tools, edges, count, seed)
    write_rows(out, rows)
    typer.echo(f"{len(rows)} of {len(edges)} edges of {len(tools)} tools")


@app.command()
def score(verdicts: Annotated[list[Path], typer.Argument(help="judged rows")]) -> None:
    """Print which share of the judged edges is true: all, by predicate, and by tenths of confidence."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in _judged(verdicts):
        tenth = int(10 * row["confidence"]) / 10
        for name in ("all", f"predicate {row['predicate']}", f"confidence from {tenth}"):
            groups[name].append(row)
    for name, group in sorted(groups.items()):
        typer.echo(f"{name}: {_text(sum(row['true'] for row in group), len(group))}")


@app.command()
def recall(
    documents: Annotated[list[str], typer.Argument(help="addresses of the documents")],
    dependencies: Annotated[Path, typer.Option(help="true dependencies: consumer, input, producer, split")],
    split: Annotated[str, typer.Option(help="dev, or test: to be read once, at the end")] = "dev",
) -> None:
    """Print which share of the true dependencies has an edge that fills the input from the producer, and from the output too."""
    wanted = [row for row in _rows([dependencies]) if row.get("split") == split]
    if not wanted:
        raise typer.BadParameter(f"no dependency is of the split {split!r}")
    stated: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for edge in derive_links(read_catalog(documents).tools, load_ontology()).edges:
        consumer, producer = _ends(edge)
        stated[consumer, edge.parameter, producer].add(edge.output)
    outputs = {row["id"]: stated.get((row["consumer"], row["input"], row["producer"])) for row in wanted}
    found = [row for row in wanted if outputs[row["id"]] is not None]
    exact = [row for row in found if row["output"] in (outputs[row["id"]] or ())]
    typer.echo(f"recall of {split}: {_text(len(found), len(wanted))} from the producer")
    typer.echo(f"recall of {split}: {_text(len(exact), len(wanted))} from the output of the producer")
    for row in wanted:
        if row not in found:
            typer.echo(f"missed {row['id']}: {row['consumer']} {row['input']} <- {row['producer']}")


@app.command()
def calibrate(
    verdicts: Annotated[list[Path], typer.Argument(help="judged rows, with the confidence before calibration")],
) -> None:
    """Fit a monotone map from the score of an edge to the share of true edges, and print its points for ``ingest/linking/edges.py``."""
    rows = _judged(verdicts)
    for name in sorted({row["predicate"] for row in rows}):
        typer.echo(f"{name}: {fit_bins([row for row in rows if row['predicate'] == name])}")


def draw_edges(tools: Sequence[Tool], edges: Iterable[DerivedEdge], count: int, seed: int) -> list[Row]:
    """Return rows for edges drawn at random: one of each namespace in turn, in the order of their names, while it has some."""
    by_id = {tool.id: tool for tool in tools}
    groups: dict[str, list[DerivedEdge]] = defaultdict(list)
    for edge in edges:
        groups[by_id[_ends(edge)[0]].namespace].append(edge)
    chance = random.Random(seed)
    for name in sorted(groups):
        chance.shuffle(groups[name])
    drawn: list[Row] = []
    while len(drawn) < count and any(groups.values()):
        for name in sorted(groups):
            if groups[name] and len(drawn) < count:
                drawn.append(_row(groups[name].pop(), by_id) | {"seed": seed})
    return drawn


def fit_bins(rows: Sequence[Row]) -> list[list[float]]:
    """Return ``[score, share of true edges]`` points, both rising: isotonic regression by pooling adjacent violators."""
    pools: list[list[float]] = []  # lowest score, true, count
    for row in sorted(rows, key=lambda row: row["score"]):
        pools.append([row["score"], float(row["true"]), 1.0])
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            _, true, number = pools.pop()
            pools[-1][1] += true
            pools[-1][2] += number
    # One true and one false edge are added to each pool, so that a few rows do not say "always".
    points = [[round(low, 4), round((true + 1) / (number + 2), 3)] for low, true, number in pools]
    for one, other in pairwise(points):
        other[1] = max(one[1], other[1])
    return points


def _row(edge: DerivedEdge, tools: dict[str, Tool]) -> Row:
    consumer, producer = (tools[tool] for tool in _ends(edge))
    needed = next((one for one in consumer.parameters if one.name == edge.parameter), None)
    given = next((one for one in producer.returns if one.name == edge.output), None)
    return {
        "document": consumer.namespace,
        "predicate": edge.predicate,
        "consumer": consumer.id,
        "input": edge.parameter,
        "producer": producer.id,
        "output": edge.output,
        "confidence": edge.confidence,
        "score": edge.score,
        "consumer_is": consumer.description[:_MAX_TEXT],
        "input_is": needed.description[:_MAX_TEXT] if needed else "",
        "producer_is": producer.description[:_MAX_TEXT],
        "producer_needs": [one.name for one in producer.parameters if one.required],
        "output_is": given.description[:_MAX_TEXT] if given else "",
    }


def _ends(edge: DerivedEdge) -> tuple[str, str]:
    """The ids of consumer and producer."""
    return (edge.target, edge.source) if edge.predicate == "supplies" else (edge.source, edge.target)


def _judged(paths: Sequence[Path]) -> list[Row]:
    return [row for row in _rows(paths) if isinstance(row.get("true"), bool)]


def _rows(paths: Sequence[Path]) -> list[Row]:
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]


def _text(hits: int, of: int) -> str:
    share = Proportion(hits, of)
    return f"{hits} of {of}, {share.value or 0.0:.0%} [{share.low or 0.0:.0%}, {share.high or 0.0:.0%}]"


if __name__ == "__main__":
    app()
