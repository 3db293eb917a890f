"""How many of the derived edges between tools are true, and how many true dependencies are found.

    python -m benchmarks.training.edges draw DOCUMENT... --count 100 --seed 1 --out sample.jsonl
    python -m benchmarks.training.edges score benchmarks/training/edge_verdicts/calibration.jsonl
    python -m benchmarks.training.edges recall DOCUMENT... --dependencies examples/real/true_dependencies.jsonl
    python -m benchmarks.training.edges calibrate benchmarks/training/edge_verdicts/calibration.jsonl --out ingest/linking/confidence.yaml

``draw`` takes one edge of each document in turn, in the order of their names, until there are enough; a document that has no more is left
out. So a large one does not outweigh the others, and the first ones may have one edge more. The seed stands in each row. A reader adds
``"true": true`` or ``false`` and a reason to each row after reading the two documents; ``score`` and ``calibrate`` read the rows again.
The dependencies of the split ``test`` are read once, after the last change of a rule.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
import yaml

from ingest.linking.derive import derive_edges
from ingest.linking.derived_edge import DerivedEdge
from ingest.sources import read_catalog
from ontology import Tool, load_ontology
from ontology.files import write_rows
from ontology.reporting import Proportion

__all__ = ["FoundDependencies", "draw_edges", "fit_bins", "found_dependencies", "of_split", "precision_by_bin"]

Row = dict[str, Any]
_DEV, _TEST = "dev", "test"
_BINS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
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
    edges = [edge for edge in derive_edges(tools, load_ontology()) if edge.predicate in predicates.split(",")]
    rows = draw_edges(tools, edges, count, seed)
    write_rows(out, rows)
    typer.echo(f"{len(rows)} of {len(edges)} edges of {len(tools)} tools")


@app.command()
def score(verdicts: Annotated[list[Path], typer.Argument(help="judged rows")]) -> None:
    """Print which share of the judged edges is true: all, by predicate, by document, by confidence."""
    rows = _judged(verdicts)
    typer.echo(f"all: {_share(rows)}")
    for key in ("predicate", "document"):
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            groups[str(row[key])].append(row)
        for name, group in sorted(groups.items()):
            typer.echo(f"{key} {name}: {_share(group)}")
    for low, group in precision_by_bin(rows).items():
        typer.echo(f"confidence from {low}: {_share(group)}")


@app.command()
def recall(
    documents: Annotated[list[str], typer.Argument(help="addresses of the documents")],
    dependencies: Annotated[Path, typer.Option(help="true dependencies: consumer, input, producer, split")],
    split: Annotated[str, typer.Option(help="dev, or test: to be read once, at the end")] = _DEV,
) -> None:
    """Print which share of the true dependencies has an edge that fills the input from the producer, and from the output too."""
    if split == _TEST:
        typer.echo("warning: the split test is to be read once, after the last change of a rule", err=True)
    wanted = of_split(_rows([dependencies]), split)
    found = found_dependencies(derive_edges(read_catalog(documents).tools, load_ontology()), wanted)
    typer.echo(f"recall of {split}: {_text(Proportion(len(found.by_producer), len(wanted)))} from the producer")
    typer.echo(
        f"recall of {split}: {_text(Proportion(len(found.by_output), len(wanted)))} from the output of the producer"
    )
    known = {row["id"] for row in found.by_producer}
    for row in wanted:
        if row["id"] not in known:
            typer.echo(f"missed {row['id']}: {row['consumer']} {row['input']} <- {row['producer']}")


@app.command()
def calibrate(
    verdicts: Annotated[list[Path], typer.Argument(help="judged rows, with the confidence before calibration")],
    out: Annotated[Path, typer.Option(help="the data file of the bins")],
) -> None:
    """Fit a monotone map from the score of an edge to the share of true edges, and write it."""
    rows = _judged(verdicts)
    by_predicate = {
        predicate: fit_bins([row for row in rows if row["predicate"] == predicate])
        for predicate in sorted({row["predicate"] for row in rows})
    }
    text = yaml.safe_dump({"bins": by_predicate}, sort_keys=False)
    out.write_text(
        f"# {len(rows)} judged edges: {', '.join(path.name for path in verdicts)}.\n{text}", encoding="utf-8"
    )


def draw_edges(tools: Sequence[Tool], edges: Iterable[DerivedEdge], count: int, seed: int) -> list[Row]:
    """Return rows for edges drawn at random: one of each namespace in turn, in the order of their names, while it has some."""
    by_id = {tool.id: tool for tool in tools}
    groups: dict[str, list[DerivedEdge]] = defaultdict(list)
    for edge in edges:
        groups[by_id[_consumer(edge)].namespace].append(edge)
    chance = random.Random(seed)
    for name in sorted(groups):
        chance.shuffle(groups[name])
    drawn: list[Row] = []
    while len(drawn) < count and any(groups.values()):
        for name in sorted(groups):
            if groups[name] and len(drawn) < count:
                drawn.append(_row(groups[name].pop(), by_id) | {"seed": seed})
    return drawn


class FoundDependencies(NamedTuple):
    """The true dependencies that an edge states.

    :param by_producer: the same input from the same producer.
    :param by_output: those of them with the same output of the producer.
    """

    by_producer: list[Row]
    by_output: list[Row]


def of_split(rows: Iterable[Row], split: str) -> list[Row]:
    """Return the rows of a split.

    :raises typer.BadParameter: when no row is of it.
    """
    found = [row for row in rows if row.get("split") == split]
    if not found:
        raise typer.BadParameter(f"no dependency is of the split {split!r}")
    return found


def found_dependencies(edges: Iterable[DerivedEdge], wanted: Sequence[Row]) -> FoundDependencies:
    """Return the true dependencies that an edge states."""
    stated: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for edge in edges:
        stated[_consumer(edge), edge.parameter, _producer(edge)].add(edge.output)
    outputs = [(row, stated.get((row["consumer"], row["input"], row["producer"]))) for row in wanted]
    return FoundDependencies(
        by_producer=[row for row, stated_ in outputs if stated_ is not None],
        by_output=[row for row, stated_ in outputs if stated_ and row["output"] in stated_],
    )


def precision_by_bin(rows: Sequence[Row]) -> dict[float, list[Row]]:
    """Return the judged rows by the lower end of the bin of their confidence."""
    found: dict[float, list[Row]] = {}
    for low, high in zip(_BINS, (*_BINS[1:], 1.01), strict=True):
        group = [row for row in rows if low <= row["confidence"] < high]
        if group:
            found[low] = group
    return found


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
    consumer, producer = tools[_consumer(edge)], tools[_producer(edge)]
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


def _consumer(edge: DerivedEdge) -> str:
    return edge.target if edge.predicate == "supplies" else edge.source


def _producer(edge: DerivedEdge) -> str:
    return edge.source if edge.predicate == "supplies" else edge.target


def _judged(paths: Sequence[Path]) -> list[Row]:
    return [row for row in _rows(paths) if isinstance(row.get("true"), bool)]


def _rows(paths: Sequence[Path]) -> list[Row]:
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]


def _share(rows: Sequence[Row]) -> str:
    return _text(Proportion(sum(row["true"] for row in rows), len(rows)))


def _text(share: Proportion) -> str:
    value, low, high = share.value or 0.0, share.low or 0.0, share.high or 0.0
    return f"{share.hits} of {share.of}, {value:.0%} [{low:.0%}, {high:.0%}]"


if __name__ == "__main__":
    app()
