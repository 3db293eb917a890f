"""The open benchmark of the shipped catalogue, put together: individually written and generated requests, validated and split.

    egotools build examples/enterprise/catalog --out out/benchmark/store
    egotools datagen out/benchmark/store --out out/benchmark/generated --per-class 150
    python -m research.enterprise_benchmark

``writers/*.jsonl`` are the source of the individually written ones; everything else in the folder but the datasheet's prose and the generated
requests of earlier versions is written here. Requests of one tool path are all in one half. Of the generated requests, two readers read
each one (``research/readings``); those stay that both accept, at most 110 of a class.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import MAX_TOOLS, PathEdge, Shape
from datagen.validation.rules_validator import rules_validators, validate
from eval.gold_slots import gold_slots
from ontology.errors import DocumentError
from ontology.files import write_rows
from research.readings.__main__ import read_reading
from retrieval.snapshot.reader import open_snapshot
from scripts.bench_sets import ROOT
from scripts.document_blocks import replace_block
from scripts.run_command import run_command

__all__ = ["FOLDER", "HALVES", "NOTHING", "SOURCES", "half_of", "read_rows"]

FOLDER = ROOT / "examples" / "enterprise" / "benchmark"
HALVES = ("dev", "test")
SOURCES = ("hand", "generated")
PER_CLASS = 110
READING = ROOT / "research" / "readings" / "third" / "company"
"""What two readers say of the generated requests."""
NOTHING = "none"
"""The class of requests that no tool serves."""


def main(
    store: Path = ROOT / "out" / "benchmark" / "store",
    generated: Path = ROOT / "out" / "benchmark" / "generated",
    reading: Path = READING,
    *,
    everything: Annotated[bool, typer.Option("--everything")] = False,
) -> None:
    """Write the benchmark.

    :param everything: also renew what the individually written requests are stored with, their verdicts and edges, and the catalogue; else
        they stay as they were published, and only the generated requests and the counts are renewed.
    """
    made = [SyntheticRequest.from_json(row) for row in _accepted(read_rows(generated / "queries.jsonl"), reading)]
    write_rows(FOLDER / "generated.jsonl", map(_row, made))
    if everything:
        _write_hand(store)
    rows = {source: list(read_rows(FOLDER / f"{source}.jsonl")) for source in SOURCES}
    replace_block(FOLDER / "DATASHEET.md", "account", "\n".join(_counts(rows)))


def _write_hand(store: Path) -> None:
    catalogue = ProfiledCatalogue.of(open_snapshot(store))
    links = build_rp_graph(catalogue, RulesOutputs(catalogue).find())
    validators = rules_validators(catalogue, links)
    written = [row for path in sorted((FOLDER / "writers").glob("*.jsonl")) for row in read_rows(path)]
    hand = [validate(_hand(row, links), validators) for row in written if row["class"] != NOTHING]
    write_rows(FOLDER / "hand.jsonl", map(_row, hand))
    write_rows(FOLDER / "unanswerable.jsonl", (_unanswerable(row) for row in written if row["class"] == NOTHING))
    write_rows(FOLDER / "tools.jsonl", (tool.to_json() for tool in catalogue.tools))


def _accepted(rows: Iterable[dict[str, Any]], reading: Path) -> Iterator[dict[str, Any]]:
    """The rows that both readers accept, at most :data:`PER_CLASS` of a class, the first ones."""
    accepted, of_class = read_reading(reading).accepted, Counter[str]()
    for row in rows:
        if row["id"] in accepted and of_class[row["class"]] < PER_CLASS:
            of_class[row["class"]] += 1
            yield row


def _row(request: SyntheticRequest) -> dict[str, Any]:
    row = request.to_json()
    return {**row, "split": half_of(row["path_id"])}


def half_of(path_id: str) -> str:
    """Which half the requests of a tool path are in: by its hash alone, so that it never changes."""
    return HALVES[hashlib.sha256(path_id.encode()).digest()[0] % len(HALVES)]


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file.

    :raises DocumentError: naming file and line of a row that is none.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DocumentError(f"it is not JSON ({error})", subject=f"{path}:{number}") from error
            yield row


def _hand(row: Mapping[str, Any], links: ToolLinks) -> SyntheticRequest:
    """An individually written row with the edges that the R-P graph has between its tools."""
    made = SyntheticRequest.from_json({**row, "generator": "hand"})
    tools = made.path.tools
    order = {tool: place for place, tool in enumerate(tools)}
    edges = [_strongest(links.between(one, other)) for one in tools for other in tools if order[one] < order[other]]
    known = tuple(edge for edge in edges if edge is not None)
    return replace(made, path=replace(made.path, edges=known, shape=_shape(tools, known)))


def _strongest(edges: Iterable[PathEdge]) -> PathEdge | None:
    return max(edges, key=lambda edge: (edge.confidence, edge.parameter), default=None)


def _shape(tools: Sequence[str], edges: Sequence[PathEdge]) -> Shape:
    if len(tools) == 1:
        return "single"
    if not edges:
        return "set"
    fed = [edge.target for edge in edges]
    feeding = [edge.source for edge in edges]
    if len(set(feeding)) == len(feeding) and len(set(fed)) == len(fed):
        return "chain"
    return "join" if len(set(fed)) < len(fed) else "fan"


def _unanswerable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "query": row["query"], "tools": [], "class": NOTHING, "generator": "hand"}


def _counts(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """What is there, as Markdown: counts by class, source and half; paths, tools and lengths by source."""
    columns = [(source, half) for source in SOURCES for half in HALVES]
    yield "| class | " + " | ".join(f"{source}, {half}" for source, half in columns) + " |"
    yield "|---|" + "---:|" * len(columns)
    for name in (*CLASSES, "all"):
        counts = (
            sum(row["split"] == half and name in (row["class"], "all") for row in rows[source])
            for source, half in columns
        )
        yield f"| {name} | " + " | ".join(f"{count:,}" for count in counts) + " |"
    yield ""
    yield "| | " + " | ".join(SOURCES) + " |"
    yield "|---|" + "---:|" * len(SOURCES)
    for name, count in _COUNTS.items():
        yield f"| {name} | " + " | ".join(f"{count(rows[source]):,}" for source in SOURCES) + " |"


_COUNTS: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], int]] = {
    "tool paths": lambda rows: len({row["path_id"] for row in rows}),
    "tools needed by some request": lambda rows: len(
        {tool for row in rows for slot in gold_slots(row["tools"]) for tool in slot}
    ),
    **{
        f"requests that need {length} {'tools' if length > 1 else 'tool'}": lambda rows, length=length: sum(  # type: ignore[misc]
            len(row["tools"]) == length for row in rows
        )
        for length in range(1, MAX_TOOLS + 1)
    },
    "requests whose recorded `verdicts` all pass: of the rules at the time they were written": lambda rows: sum(
        all(verdict["passed"] for verdict in row["verdicts"]) for row in rows
    ),
}


if __name__ == "__main__":
    run_command(main)
