"""The peers beside egotools, one after the other on the same requests: ``make bench-peers``.

For every set, egotools builds its snapshot from nothing, and then each peer and each of egotools' systems answers the same
requests in a fresh process of its own, on one core. What is there already, of the same code and data, is not measured
again. A peer that crashes or is too slow is in the tables as such.

The sets lie in ``../shared/bench`` beside the checkout; without them only the shipped catalogue is measured. Sets that end
in ``-given`` have the dependencies that their source declares in the catalogue; there only those are measured that make
something of them, and their averages are apart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.answers import write_run
from eval.measured_set import MeasuredSet, write_measured
from eval.queries import QuerySet, missing_gold, read_queries
from eval.run import Run, read_run, run_system
from eval.summary import Summary, SystemFacts, summarise, summary_to_json
from ontology.files import write_file
from ontology.tool import Tool
from research.peers import PEERS, Peer, measure_peer, peer_environment
from research.peers.peer import Memory
from research.peers.process import PeerTask
from scripts.bench_sets import BENCH, ROOT, BenchSet, bench_sets, catalog_address, sampled

OURS = ("default", "paper", "rrf")
K = 30
_ENCODER = "minilm-l6-int8.v1"
_REQUEST_S = 60.0
_SHOWN = (3, 5, 10)
_BUILDING = ("inference", "ingest", "ontology", "retrieval", "services")  # the code that a snapshot is made by


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A set in its folder, ready to be measured.

    :param folder: has ``tools.jsonl``, ``queries.jsonl`` and ``store/``, and will have ``runs/``.
    :param address: what egotools builds from.
    """

    given: bool
    folder: Path
    address: Path
    tools: tuple[Tool, ...]
    queries: QuerySet


def main() -> int:
    """Measure, print the tables, and write ``summary.json``; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="", help="names of sets, comma-separated; all by default")
    parser.add_argument("--bench", type=Path, default=BENCH, help="folder of the sets")
    parser.add_argument("--ours", default=",".join(OURS), help="egotools' systems; differences are against the first")
    parser.add_argument("--peers", default=",".join(PEERS), help="names of peers, comma-separated")
    parser.add_argument("--limit", type=int, default=100, help="requests a set at most; 0 for all")
    parser.add_argument("--limit-s", type=float, default=900, help="seconds a system on a set at most")
    parser.add_argument("--again", action="store_true", help="measure anew what crashed or was too slow")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench-peers")
    parser.add_argument("--build", nargs=2, help=argparse.SUPPRESS)  # internal: address and store
    parser.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)  # internal: system and folder
    options = parser.parse_args()
    if options.build:
        print(json.dumps(build(options.build[0], Path(options.build[1]))))
        return 0
    if options.ask:
        ask(options.ask[0], Path(options.ask[1]))
        return 0
    peers = [PEERS[name] for name in _names(options.peers)]
    pythons = {peer.name: peer_environment(peer, ROOT / "out" / "peers") for peer in peers}
    ours, out = _names(options.ours), options.out.resolve()
    measured: dict[bool, list[MeasuredSet]] = {False: [], True: []}
    for bench_set in bench_sets(_names(options.sets), bench=options.bench):
        prepared = prepare(bench_set, out / bench_set.name, options.limit)
        measured[prepared.given].append(_measure(prepared, ours, pythons, options.limit_s, options.again))
    for given, sets in measured.items():
        if sets:
            _report(sets, ours[0], out / ("summary-given.json" if given else "summary.json"))
    if (options.sets, options.peers, options.ours) == ("", ",".join(PEERS), ",".join(OURS)):
        return _publish([*measured[False], *measured[True]])
    return 0


def _publish(measured: Sequence[MeasuredSet]) -> int:
    """Put the peers into the published results, and renew the documents."""
    from scripts.published_results import DOCS, read_results, with_peers, write_results
    from scripts.results_page import renew_documents

    if not (DOCS / "results.json").exists() or len(measured) == 1:
        _say("docs/results.md stays as it was: it takes the peers once make bench-quality has measured every set")
        return 1
    write_results(with_peers(read_results(), measured))
    renew_documents(read_results())
    _say("docs/results.md is renewed")
    return 0


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def prepare(bench_set: BenchSet, folder: Path, limit: int) -> Prepared:
    """Write catalogue and requests of a set in the one form that all are measured on.

    :param limit: requests at most, chosen by the hash of their ids; 0 for all.
    """
    from ingest.sources import read_catalog

    address = catalog_address(bench_set, folder / "given")
    tools = read_catalog([str(address)]).tools
    write_file(folder / "tools.jsonl", "".join(tool.canonical_json() + "\n" for tool in tools))
    rows = sampled(bench_set.queries, limit)
    write_file(folder / "queries.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    queries = read_queries([folder / "queries.jsonl"], name=bench_set.name)
    given = bench_set.declared is not None
    return Prepared(given=given, folder=folder, address=address, tools=tuple(tools), queries=queries)


def peers_of(prepared: Prepared, peers: Sequence[Peer]) -> list[Peer]:
    """The peers that a set says something about: on a catalogue given dependencies, those that make something of them."""
    declared = any(tool.depends_on for tool in prepared.tools)
    if prepared.given:
        return [peer for peer in peers if peer.dependencies != "ignored"]
    return [peer for peer in peers if peer.dependencies != "needed" or declared]


def _measure(
    prepared: Prepared, ours: Sequence[str], pythons: dict[str, Path], limit_s: float, again: bool
) -> MeasuredSet:
    name = prepared.queries.name
    _say(f"{name}: {len(prepared.tools):,} tools, {len(prepared.queries.queries):,} requests; building")
    snapshot_id = _build_ours(prepared)["snapshot_id"]
    task = PeerTask(
        folder=prepared.folder,
        tools=prepared.folder / "tools.jsonl",
        queries=prepared.folder / "queries.jsonl",
        queries_sha256=prepared.queries.sha256,
        snapshot_id=snapshot_id,
        k=K,
        limit_s=limit_s,
    )
    runs: list[Run] = []
    for system in ours:
        _say(f"{name}: {system}")
        _fresh("--ask", system, str(prepared.folder))
        runs.append(read_run(prepared.folder, system))
    for peer in peers_of(prepared, [PEERS[peer] for peer in pythons]):
        _say(f"{name}: {peer.name}")
        runs.append(measure_peer(peer, pythons[peer.name], task, again=again))
        if runs[-1].failure:
            _say(f"{name}: {peer.name} failed: {runs[-1].failure}")
    ids = {tool.id for tool in prepared.tools}
    measured = MeasuredSet(
        queries=prepared.queries,
        runs=tuple(runs),
        tools=len(ids),
        snapshot_id=snapshot_id,
        missing_gold=missing_gold(prepared.queries, ids),
    )
    write_measured(prepared.folder, measured)
    return measured


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _build_ours(prepared: Prepared) -> dict[str, Any]:
    """Build the snapshot in a fresh process from nothing, unless this code has built it from these tools before."""
    said = prepared.folder / "build.json"
    made_from = _digest([prepared.folder / "tools.jsonl", *_code()])
    if said.exists():
        built: dict[str, Any] = json.loads(said.read_text(encoding="utf-8"))
        if built["made_from"] == made_from:
            return built
    shutil.rmtree(prepared.folder / "store", ignore_errors=True)
    built = json.loads(_fresh("--build", str(prepared.address), str(prepared.folder / "store")))
    built["made_from"] = made_from
    write_file(said, json.dumps(built) + "\n")
    return built


def _code() -> list[Path]:
    return [file for package in _BUILDING for file in sorted((ROOT / package).rglob("*.py"))]


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _fresh(*arguments: str) -> str:
    """Run this script in a fresh process with these arguments; returns what it printed."""
    from services.threads import pin_threads

    environ = dict(os.environ)
    pin_threads(environ)
    command = [sys.executable, "-m", "research.peers.bench_peers", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, stdout=subprocess.PIPE, text=True).stdout


def build(address: str, store: Path) -> dict[str, Any]:
    """Build a snapshot on one core; returns its id and what it cost."""
    from inference import load_encoder
    from services.jobs.build import build_snapshot

    memory = Memory.now()
    encoder = load_encoder(_ENCODER)
    started = time.perf_counter()
    report = build_snapshot([address], store, encoder=encoder, cached=False)
    build_s = round(time.perf_counter() - started, 3)
    return {
        "snapshot_id": report.snapshot_id,
        "build_s": build_s,
        "build_peak_bytes": memory.grown()["peak_bytes"],
    }


def ask(system: str, folder: Path) -> None:
    """Answer every request of a prepared folder with one of egotools' systems; peers' measures, measured alike."""
    started = time.perf_counter()
    from eval.systems import make_systems
    from retrieval.snapshot_engine import open_engine

    memory = Memory.now()
    engine = open_engine(folder / "store")
    (asked,) = make_systems([system], engine.snapshot, engine.encoder)
    load_s = round(time.perf_counter() - started, 3)
    built = json.loads((folder / "build.json").read_text(encoding="utf-8"))
    cost = {"load_s": load_s, **{name: built[name] for name in ("build_s", "build_peak_bytes")}}
    run = run_system(
        asked,
        read_queries([folder / "queries.jsonl"]),
        folder,
        snapshot_id=engine.snapshot.id,
        k=K,
        timeout_s=_REQUEST_S,
        resources=cost,
    )
    if "peak_bytes" not in run.resources:  # else it had all its answers before, and this process says nothing of it
        write_run(folder, replace(run, resources={**run.resources, **memory.grown()}))


def _report(sets: Sequence[MeasuredSet], baseline: str, path: Path) -> None:
    summary = summarise(sets, baseline=baseline)
    write_file(path, json.dumps(summary_to_json(summary), indent=1) + "\n")
    print(markdown(summary))
    print(f"\n{path}\n")


def markdown(summary: Summary) -> str:
    """Quality and cost of every system on every set, and the mean over the sets, as one table."""
    values = {
        (figure.group, figure.system, figure.measure): figure.value
        for figure in summary.figures
        if figure.scope in ("set", "macro")
    }
    lines = [
        "| set | system |" + "".join(f" CR@{k} |" for k in _SHOWN) + " p50 ms | p95 ms | build s | first request s |"
        " MB at most | of it after imports | unanswered | failure |",
        "|---|---|" + "---:|" * (len(_SHOWN) + 7) + "---|",
    ]
    for facts in summary.facts:
        shown = _recall(values, facts.set_name, facts.system)
        lines.append(f"| {facts.set_name} | {facts.system} | {shown} | {_cost(facts)} | {facts.failure} |")
    averaged = dict.fromkeys(figure.system for figure in summary.figures if figure.scope == "macro")
    for system in averaged if len(summary.sets) > 1 else ():
        lines.append(f"| **mean of {len(summary.sets)}** | {system} | {_recall(values, '', system)} |" + " |" * 8)
    return "\n".join(lines)


def _recall(values: dict[tuple[str, str, str], float], group: str, system: str) -> str:
    return " | ".join(f"{100 * values[group, system, f'CompleteRecall@{k}']:.1f}" for k in _SHOWN)


def _cost(facts: SystemFacts) -> str:
    p50, p95 = facts.stages_ms.get("total", (float("nan"), float("nan")))
    cost = facts.resources
    seconds = " | ".join(_shown(cost.get(name), 1) for name in ("build_s", "warm_up_s"))
    sizes = " | ".join(_shown(cost.get(name), 1e6) for name in ("peak_bytes", "resident_bytes"))
    return f"{p50:.2f} | {p95:.2f} | {seconds} | {sizes} | {facts.unanswered}"


def _shown(value: float | None, unit: float) -> str:
    if value is None:
        return "–"
    return f"{value / unit:.0f}" if unit > 1 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
