"""Speed and size, as ratios within one run: ``make bench``, or ``python -m scripts.bench --sizes 1000,10000``.

For catalogues of growing size it builds a snapshot and then measures, in a process of its own for each size, what a
request costs stage by stage, how many of the exact nearest nodes the index finds, how long loading takes and how much
memory the snapshot adds to the models. Five bars are checked; the exit code is 1 when one is missed.

The catalogue is ``../shared/bench/scale_44k`` where it lies beside the checkout, else every operation of botocore and
google-api-python-client (extras aws and google), else what ``--catalog`` names.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SCALE = ROOT.parent / "shared" / "bench" / "scale_44k" / "tools.jsonl"
QUERIES = ROOT / "examples" / "enterprise" / "requests.jsonl"
SIZES = (1_000, 10_000, 44_435)
PRESETS = ("paper", "default")
_ROUNDS = 12
_TEXT_STAGES = ("encode", "rank")  # what the bars leave out
_RECALL_K = 10
_LARGE = 40_000  # tools from which on the bars of memory and loading are meant


def main() -> int:
    """Run the benchmark; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of tools, comma-separated")
    parser.add_argument("--catalog", nargs="*", default=None, help="addresses to read the tools from")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench")
    parser.add_argument("--probe", type=Path, help=argparse.SUPPRESS)  # internal: measure one store, print JSON
    options = parser.parse_args()
    if options.probe:
        print(json.dumps(probe(options.probe)))
        return 0
    rows = [measure(size, _addresses(options.catalog), options.out) for size in _sizes(options.sizes)]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(markdown(rows))
    verdicts = bars(rows)
    for verdict, text in verdicts:
        print(f"{'met   ' if verdict else 'MISSED'}  {text}")
    return 0 if all(verdict for verdict, _ in verdicts) else 1


def _sizes(text: str) -> list[int]:
    return sorted(int(size) for size in text.split(","))


def _addresses(given: Sequence[str] | None) -> list[str]:
    if given:
        return list(given)
    return [str(SCALE)] if SCALE.exists() else ["aws:*", "google-discovery:*"]


def measure(size: int, addresses: list[str], out: Path) -> dict[str, Any]:
    """Build a snapshot of ``size`` tools, afresh, and probe it in a process of its own."""
    from inference import load_encoder
    from ingest.sources import read_catalog
    from services.build import build_snapshot

    tools = read_catalog(addresses).tools
    step = max(1, len(tools) // size)
    chosen = tools[::step][:size]
    out.mkdir(parents=True, exist_ok=True)
    table, store = out / f"{size}.jsonl", out / f"{size}.store"
    table.write_text("".join(tool.canonical_json() + "\n" for tool in chosen), encoding="utf-8")
    subprocess.run(["rm", "-rf", str(store)], check=True)
    started = time.perf_counter()
    report = build_snapshot(
        [str(table)], store, encoder=load_encoder("minilm-l6-int8.v1", workers=2), workers=2, cached=False
    )
    build_s = time.perf_counter() - started
    code = [sys.executable, "-m", "scripts.bench", "--probe", str(store)]
    probed = json.loads(subprocess.run(code, check=True, capture_output=True, cwd=ROOT, text=True).stdout)
    return {
        "tools": len(chosen),
        "nodes": report.graph.graph.number_of_nodes(),
        "edges": report.graph.graph.number_of_edges(),
        "build_s": build_s,
        "seconds": dict(report.seconds),
        **probed,
    }


def probe(store: Path) -> dict[str, Any]:
    """Measure one store: load, memory, latency by stage, recall of the index."""
    from services.threads import pin_threads

    pin_threads()
    import numpy as np

    from inference import load_encoder
    from ontology.names import noun_lemma
    from retrieval.retriever import Request
    from retrieval.snapshot import open_snapshot
    from retrieval.snapshot_engine import SnapshotEngine

    queries = [json.loads(line)["query"] for line in QUERIES.read_text(encoding="utf-8").splitlines()]
    encoder = load_encoder("minilm-l6-int8.v1")
    encoder.encode(queries)
    noun_lemma("words")
    __import__("faiss")
    models = _resident()
    started = time.perf_counter()
    snapshot = open_snapshot(store)
    load_s = time.perf_counter() - started
    engine = SnapshotEngine(snapshot, encoder)
    stages: dict[str, dict[str, list[float]]] = {}
    for preset in PRESETS:
        retriever = engine.retriever(preset)
        for place in range(_ROUNDS):
            for query in queries:
                response = retriever.retrieve(Request(query=query, k=10))
                if place:  # the first round warms up
                    for stage, spent in response.timings_ms.items():
                        stages.setdefault(preset, {}).setdefault(stage, []).append(spent)
    resident = _resident() - models
    found = total = 0
    vectors = np.load(snapshot.folder / "nodes.vectors.npy").astype(np.float32)
    for query_D in encoder.encode(queries):
        exact = np.lexsort((np.arange(len(vectors)), -(vectors @ query_D)))[:_RECALL_K]
        found += len(set(exact.tolist()) & set(snapshot.vectors.nearest(query_D, _RECALL_K)[0].tolist()))
        total += len(exact)
    return {
        "load_s": load_s,
        "models_bytes": models,
        "resident_bytes": resident,
        "recall": found / total,
        "snapshot_bytes": sum(path.stat().st_size for path in snapshot.folder.iterdir()),
        "median_ms": {
            preset: {stage: float(np.median(values)) for stage, values in by.items()} for preset, by in stages.items()
        },
        "p95_ms": {
            preset: {stage: float(np.percentile(values, 95)) for stage, values in by.items()}
            for preset, by in stages.items()
        },
    }


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def bars(rows: list[dict[str, Any]]) -> list[tuple[bool, str]]:
    """The bars that the figures are held to, each with whether it is met."""
    first, last = rows[0], rows[-1]
    encode = first["median_ms"]["paper"]["encode"]
    verdicts = []
    for row in rows:
        pipeline = sum(spent for stage, spent in row["seconds"].items() if stage != "encode")
        embedding = row["seconds"]["encode"]
        text = f"{row['tools']:,} tools: pipeline {pipeline:.1f} s, embedding {embedding:.1f} s (at most equal)"
        verdicts.append((pipeline <= embedding, text))
        verdicts.append(
            (row["recall"] >= 0.98, f"{row['tools']:,} tools: recall@{_RECALL_K} {row['recall']:.4f} (at least 0.98)")
        )
    for preset in PRESETS:
        for row, share in ((first, 0.5), (last, 1.0)):
            spent = _graph_ms(row, preset)
            text = f"{preset}, {row['tools']:,} tools: {spent:.2f} ms beside encoding and ranking (at most {share} x {encode:.2f} ms)"
            verdicts.append((spent <= share * encode, text))
    if last["tools"] > first["tools"]:
        growth = _graph_ms(last, "paper") / _graph_ms(first, "paper")
        more = last["tools"] / first["tools"]
        verdicts.append((growth < more, f"cost grew {growth:.1f} x for {more:.1f} x the tools (less than linear)"))
    if last["tools"] < _LARGE:
        return verdicts
    per_tool = last["resident_bytes"] / last["tools"]
    verdicts.append(
        (per_tool <= 8_000, f"{last['tools']:,} tools: {per_tool:,.0f} bytes of memory a tool (at most 8,000)")
    )
    verdicts.append((last["load_s"] <= 2.0, f"{last['tools']:,} tools: load {last['load_s']:.2f} s (at most 2)"))
    return verdicts


def _graph_ms(row: dict[str, Any], preset: str) -> float:
    """Median milliseconds of every stage but encoding the request and ranking the candidates."""
    stages: dict[str, float] = row["median_ms"][preset]
    return sum(spent for stage, spent in stages.items() if stage not in (*_TEXT_STAGES, "total"))


def markdown(rows: list[dict[str, Any]]) -> str:
    """The figures as Markdown tables."""
    lines = [
        "| tools | nodes | edges | build s | of it embedding | load s | MB in memory | MB on disk | index recall@10 |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['tools']:,} | {row['nodes']:,} | {row['edges']:,} | {row['build_s']:.0f} | {row['seconds']['encode']:.0f} | "
            f"{row['load_s']:.2f} | {row['resident_bytes'] / 1e6:.0f} | {row['snapshot_bytes'] / 1e6:.0f} | {row['recall']:.4f} |"
        )
    lines += [
        "",
        "| preset | tools | encode | entry | ego | rank | explain | total p50 ms | total p95 ms |",
        "|---|---:|" + "---:|" * 7,
    ]
    for preset in PRESETS:
        for row in rows:
            median = row["median_ms"][preset]
            stages = " | ".join(
                f"{median.get(stage, 0):.2f}" for stage in ("encode", "entry", "ego", "rank", "explain", "total")
            )
            lines.append(f"| {preset} | {row['tools']:,} | {stages} | {row['p95_ms'][preset]['total']:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
