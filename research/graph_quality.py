"""Measure the tool graphs of the public sets: ``python -m research.graph_quality ../shared/bench``.

One folder a set: ``tools.jsonl`` and, where there are, ``dependencies.jsonl``, ``answer_key_dependencies.jsonl`` and
``queries.jsonl``. Beside the snapshot's own edges the R-P graph of data generation is scored, as ``datagen R-P``. With
``--stores`` the snapshots published at ``STORES/<set>/store`` are measured; a set without one is built in a temporary
folder. Gold edges and requests are for measuring only; they are no input of the graph.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter

from datagen.catalogue import ProfiledCatalogue
from datagen.paths.edges import build_rp_graph
from datagen.paths.outputs import OutputRules
from eval.graph_quality import GraphQuality, find_build_report, graph_quality
from eval.queries import read_queries
from eval.report import graph_section, section_to_markdown
from inference import load_encoder
from retrieval.snapshot.reader import Snapshot, open_snapshot
from scripts.run_command import run_command
from services.jobs.build import build_snapshot

_GOLD_EDGES = ("dependencies.jsonl", "answer_key_dependencies.jsonl")
_GROUP = "datagen R-P"
_ENCODER = "egotools-minilm-int8.v1"


def main(
    bench: Annotated[Path, typer.Argument(help="the folder with one folder for each set")],
    sets: Annotated[str, typer.Option(help="only these, comma-separated")] = "",
    stores: Annotated[Path | None, typer.Option(help="snapshots that are built already: STORES/SET/store")] = None,
    encoder: Annotated[str, typer.Option(help="of the snapshots that are built")] = _ENCODER,
    json_out: Annotated[Path | None, typer.Option("--json", help="also write the figures, by set")] = None,
) -> None:
    """Print the tables of each set as Markdown."""
    measured: dict[str, GraphQuality] = {}
    for folder in sorted(path.parent for path in bench.glob("*/tools.jsonl")):
        if not sets or folder.name in sets.split(","):
            measured[folder.name] = _measure(folder, stores, encoder)
    if json_out is not None:
        value = TypeAdapter(dict[str, GraphQuality]).dump_python(measured, mode="json")
        json_out.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _measure(folder: Path, stores: Path | None, encoder: str) -> GraphQuality:
    gold_edges = [path for name in _GOLD_EDGES if (path := folder / name).exists()]
    requests = folder / "queries.jsonl"
    queries = read_queries([requests], name=folder.name) if requests.exists() else None
    with _snapshot(folder, stores, encoder) as snapshot:
        start = time.perf_counter()
        quality = graph_quality(
            snapshot,
            gold_edges=gold_edges,
            external_edges=_edges(snapshot),
            queries=queries,
            build_report=find_build_report(snapshot),
        )
        seconds = time.perf_counter() - start
    title = f"{folder.name}: {quality.statistics.tools:,} tools, snapshot {quality.snapshot_id}, {seconds:.1f} s"
    print(section_to_markdown(graph_section(quality, title=title)))
    return quality


def _edges(snapshot: Snapshot) -> dict[str, list[tuple[str, str]]]:
    """The R-P graph that data generation finds by rules, as pairs (consumer, producer)."""
    catalogue = ProfiledCatalogue.of(snapshot)
    links = build_rp_graph(catalogue, OutputRules(catalogue).find())
    return {_GROUP: [(edge.target, edge.source) for edge in links]}


@contextmanager
def _snapshot(folder: Path, stores: Path | None, encoder: str) -> Iterator[Snapshot]:
    if stores is not None and (stores / folder.name / "store" / "CURRENT").exists():
        yield open_snapshot(stores / folder.name / "store")
        return
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch)
        build_snapshot([str(folder / "tools.jsonl")], store, encoder=load_encoder(encoder), cached=False)
        yield open_snapshot(store)


if __name__ == "__main__":
    run_command(main)
