"""The peers beside egotools, one after the other on the same requests: ``make bench-peers``.

For every set, egotools builds its snapshot from nothing, and then each peer and each of egotools' systems answers the same
requests in a fresh process of its own, on one core. What was measured with the same code and data is not measured again. A
peer that crashes or is too slow is in the tables as such.

The sets are in ``../shared/bench`` beside the checkout; without them only the shipped catalogue is measured. Sets that end
in ``-given`` have the dependencies that their source declares in the catalogue; there only systems that use these are
measured, and their averages are apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from eval.answers import Run, read_run
from eval.measured_set import MeasuredSet, write_measured
from eval.queries import QuerySet, missing_gold, read_queries
from eval.report import make_table, number_columns, table_to_markdown, text_columns
from eval.summary import Summary, SystemFacts, summarise, summary_to_json
from ontology.files import code_digest, write_file, write_rows
from ontology.tool import Tool
from research.peers import PEERS, Peer, PeerTask, measure_peer, peer_environment
from research.peers.peer_baseline import ENCODER
from scripts.bench_sets import BENCH, ROOT, BenchSet, bench_sets, catalog_address, sampled
from scripts.provenance import current
from scripts.run_command import run_command

OURS = ("default", "paper", "rrf")
K = 30
_CUTOFFS = (3, 5, 10)
_BUILDING = ("inference", "ingest", "ontology", "retrieval", "services")  # the packages that build a snapshot


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


def main(
    sets: Annotated[str, typer.Option(help="Names of sets, with commas; all by default.")] = "",
    bench: Annotated[Path, typer.Option(help="Folder of the sets.")] = BENCH,
    ours: Annotated[str, typer.Option(help="egotools' systems; differences are to the first.")] = ",".join(OURS),
    peers: Annotated[str, typer.Option(help="Names of peers, with commas.")] = ",".join(PEERS),
    limit: Annotated[int, typer.Option(help="Requests of each set at most; 0 for all.")] = 100,
    limit_s: Annotated[float, typer.Option(help="Seconds for a system on a set at most.")] = 900.0,
    again: Annotated[bool, typer.Option("--again", help="Measure again what crashed or was too slow.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of snapshots, answers and summaries.")] = ROOT
    / "out"
    / "bench-peers",
) -> None:
    """Measure, print the tables, and write ``summary.json``."""
    pythons = {name: peer_environment(PEERS[name], ROOT / "out" / "peers") for name in _names(peers)}
    measured: dict[bool, list[MeasuredSet]] = {False: [], True: []}
    for bench_set in bench_sets(_names(sets), bench=bench):
        prepared = prepare(bench_set, out.resolve() / bench_set.name, limit)
        measured[prepared.given].append(_measure(prepared, _names(ours), pythons, limit_s, again))
    for given, parts in measured.items():
        if parts:
            _report(parts, _names(ours)[0], out.resolve() / ("summary-given.json" if given else "summary.json"))
    if (sets, peers, ours) == ("", ",".join(PEERS), ",".join(OURS)):
        raise typer.Exit(_publish([*measured[False], *measured[True]]))


def _publish(measured: Sequence[MeasuredSet]) -> int:
    """Put the peers into the published results, and renew the documents."""
    from scripts.published_results import DOCS, read_results, with_peers, write_results
    from scripts.results_page import renew_documents

    if not (DOCS / "results.json").exists() or len(measured) == 1:
        _say("docs/results.md stays as it was: it takes the peers once make bench-quality has measured every set")
        return 1
    results = with_peers(read_results(), measured)
    write_results(replace(results, measured={**results.measured, "peers": current(ENCODER)}))
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
    rows = sampled(bench_set, limit)
    write_rows(folder / "queries.jsonl", rows)
    queries = read_queries([folder / "queries.jsonl"], name=bench_set.name)
    given = bench_set.declared is not None
    return Prepared(given=given, folder=folder, address=address, tools=tuple(tools), queries=queries)


def peers_of(prepared: Prepared, peers: Sequence[Peer]) -> list[Peer]:
    """The peers that are measured on a set: where dependencies are given, those that use them."""
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
        _fresh("ask", system, str(prepared.folder), str(K))
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
    file = prepared.folder / "build.json"
    tools = hashlib.sha256((prepared.folder / "tools.jsonl").read_bytes()).hexdigest()
    made_from = [tools, code_digest(*_BUILDING)]
    if file.exists():
        built: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if built["made_from"] == made_from:
            return built
    shutil.rmtree(prepared.folder / "store", ignore_errors=True)
    built = json.loads(_fresh("build", str(prepared.address), str(prepared.folder / "store")))
    built["made_from"] = made_from
    write_file(file, json.dumps(built) + "\n")
    return built


def _fresh(*arguments: str) -> str:
    """Run a command of :mod:`research.peers.peer_baseline` in a fresh process; returns its output."""
    from services.threads import pin_threads

    environ = dict(os.environ)
    pin_threads(environ)
    command = [sys.executable, "-m", "research.peers.peer_baseline", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, stdout=subprocess.PIPE, text=True).stdout


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

    def recall(group: str, system: str) -> Iterator[str]:
        return (f"{100 * values[group, system, f'CompleteRecall@{k}']:.1f}" for k in _CUTOFFS)

    costs = ("p50 ms", "p95 ms", "build s", "first request s", "peak MB", "MB after imports", "unanswered")
    rows = [
        (facts.set_name, facts.system, *recall(facts.set_name, facts.system), *_costs(facts), facts.failure)
        for facts in summary.facts
    ]
    averaged = dict.fromkeys(figure.system for figure in summary.figures if figure.scope == "macro")
    for system in averaged if len(summary.sets) > 1 else ():
        blank = [""] * (len(costs) + 1)
        rows.append((f"mean of {len(summary.sets)}", system, *recall("", system), *blank))
    columns = (
        *text_columns("set", "system"),
        *number_columns(*(f"CR@{k}" for k in _CUTOFFS), *costs),
        *text_columns("failure"),
    )
    return table_to_markdown(make_table(columns, rows))


def _costs(facts: SystemFacts) -> Iterator[str]:
    yield from (f"{ms:.2f}" for ms in facts.stages_ms.get("total", (float("nan"), float("nan"))))
    for name in ("build_s", "warm_up_s"):
        yield f"{facts.resources[name]:.2f}" if name in facts.resources else "–"
    for name in ("peak_bytes", "resident_bytes"):
        yield f"{facts.resources[name] / 1e6:.0f}" if name in facts.resources else "–"
    yield str(facts.unanswered)


if __name__ == "__main__":
    run_command(main)
