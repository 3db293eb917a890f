"""Measure the tool graphs of the public sets: ``python -m research.graph_quality ../shared/bench``.

One folder a set: ``tools.jsonl`` and, where there are, ``dependencies.jsonl``, ``answer_key_dependencies.jsonl`` and
``queries.jsonl``. Beside the snapshot's own edges the R-P graph of data generation is scored, as ``datagen R-P``. With ``--stores`` the snapshots published at ``STORES/<set>/store`` are measured; a set without one is
built in a folder that is gone afterwards. Keys and requests are for measuring only; nothing here feeds the graph.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datagen.catalogue import Catalogue
from datagen.paths.rp_graph import build_rp_graph
from datagen.paths.rules_outputs import RulesOutputs
from eval.graph_quality import GraphTable, find_build_report, graph_quality, graph_quality_tables
from eval.queries import read_queries
from inference import load_encoder
from retrieval.snapshot.reader import Snapshot, open_snapshot
from services.jobs.build import build_snapshot

_KEYS = ("dependencies.jsonl", "answer_key_dependencies.jsonl")
_GROUP = "datagen R-P"
_ENCODER = "minilm-l6-int8.v1"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables of each set as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path, help="the folder with one folder for each set")
    parser.add_argument("--sets", nargs="*", default=None, help="only these")
    parser.add_argument(
        "--stores", type=Path, default=None, help="snapshots that are there already: STORES/<set>/store"
    )
    parser.add_argument("--encoder", default=_ENCODER, help="of the snapshots that are built")
    parser.add_argument("--json", type=Path, default=None, help="also write what was measured, by set")
    chosen = parser.parse_args(arguments)
    measured: dict[str, Any] = {}
    for folder in sorted(path.parent for path in chosen.bench.glob("*/tools.jsonl")):
        if chosen.sets is None or folder.name in chosen.sets:
            measured[folder.name] = _measure(folder, chosen.stores, chosen.encoder)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(measured, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _measure(folder: Path, stores: Path | None, encoder: str) -> dict[str, Any]:
    keys = [path for name in _KEYS if (path := folder / name).exists()]
    requests = folder / "queries.jsonl"
    queries = read_queries([requests], name=folder.name) if requests.exists() else None
    with _snapshot(folder, stores, encoder) as snapshot:
        start = time.perf_counter()
        report = find_build_report(snapshot)
        quality = graph_quality(snapshot, keys=keys, edges=_edges(snapshot), queries=queries, report=report)
        seconds = time.perf_counter() - start
    print(
        f"## {folder.name}: {quality['census']['tools']:,} tools, snapshot {quality['snapshot_id']}, {seconds:.1f} s\n"
    )
    print("\n".join(line for table in graph_quality_tables(quality) for line in _markdown(table)))
    return quality


def _edges(snapshot: Snapshot) -> dict[str, list[tuple[str, str]]]:
    """The R-P graph that data generation finds by rules, as pairs (tool that needs, tool that is needed)."""
    catalogue = Catalogue.of(snapshot)
    links = build_rp_graph(catalogue, RulesOutputs(catalogue).find())
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


def _markdown(table: GraphTable) -> Iterator[str]:
    yield f"### {table.title}\n"
    if table.rows:
        for row in (table.header, ("---",) * len(table.header), *table.rows):
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        yield ""
    if table.note:
        yield f"{table.note}\n"


if __name__ == "__main__":
    main()
