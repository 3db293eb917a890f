"""The peers beside egotools, one after the other on the same requests: ``make bench-peers``; the table is in ``docs/results.md``.

For every set, egotools builds its snapshot, and then each peer and each of egotools' systems answers the same requests in a fresh process,
on one core. A peer that crashes or is too slow is in the table as such. Peers are
baselines and not dependencies: each has an environment of its own, made from the lock beside its script.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import ROOT, current, run_command
from benchmarks.sets import BENCH, BenchSet, bench_sets, catalog_address, sampled
from eval.measured_set import MeasuredSet, Run, read_run, run_files, write_header, write_measured
from eval.queries import QuerySet, missing_gold, read_queries
from eval.summary import Summary, summarise
from ontology.errors import StorageError
from ontology.files import config_hash, write_file, write_rows
from ontology.tool import Tool

FOLDER = Path(__file__).resolve().parent
ENCODER = "egotools-minilm-int8.v1"
OURS = ("default", "paper", "rrf")
K = 30
_CUTOFFS = (3, 5, 10)
# A lock has all: a version that was taken back upstream must not be resolved again.
_INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r")
# One thread each, as for egotools; no model hub, no traces, and one hash seed, so that answers are reproducible.
_SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OTEL_SDK_DISABLED": "true",
    "PYTHONHASHSEED": "0",
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "RAYON")},
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A retriever of others.

    :param version: of the package that is measured.
    :param script: file beside this one with its ``build``; ``lock`` the packages of its environment, with hashes.
    :param encoder: the project's encoder where the peer embeds, so that a difference is the method's and not the model's; or empty.
    """

    name: str
    version: str
    script: str
    lock: str
    encoder: str = ""

    @property
    def config(self) -> Mapping[str, Any]:
        """All that its answers depend on beside catalogue and requests."""
        files = {"script_sha256": (self.script, "peer.py"), "lock_sha256": (self.lock,)}
        hashed = {
            name: hashlib.sha256(b"".join((FOLDER / file).read_bytes() for file in of)).hexdigest()
            for name, of in files.items()
        }
        return {"kind": "peer", "peer": self.name, "version": self.version, "encoder": self.encoder, **hashed}


_PEERS = (
    Peer(name="graph-tool-call", version="0.47.0", script="graphtoolcall.py", lock="graph-tool-call.txt"),
    Peer(
        name="graph-tool-call-minilm",
        version="0.47.0",
        script="graphtoolcall.py",
        lock="graph-tool-call.txt",
        encoder=ENCODER,
    ),
    Peer(name="langgraph-bigtool", version="0.0.3", script="bigtool.py", lock="langgraph-bigtool.txt", encoder=ENCODER),
    Peer(name="fastmcp-search", version="4.1.2", script="fastmcp_search.py", lock="fastmcp.txt"),
    Peer(name="ratel-ai", version="0.12.0", script="ratel.py", lock="ratel-ai.txt"),
)
PEERS: Mapping[str, Peer] = {peer.name: peer for peer in _PEERS}


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A set in its folder: ``tools.jsonl``, ``queries.jsonl`` and ``store/``, and ``runs/`` later; ``address`` is what egotools builds from."""

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
    out: Annotated[Path, typer.Option(help="Folder of snapshots and answers.")] = ROOT / "out" / "bench-peers",
) -> None:
    """Measure, and print the table."""
    names = [name for name in sets.split(",") if name]
    pythons = {name: _environment(PEERS[name], ROOT / "out" / "peers") for name in peers.split(",") if name}
    measured = []
    for bench_set in bench_sets(names, bench=bench):
        if bench_set.declared is None:
            prepared = prepare(bench_set, out.resolve() / bench_set.name, limit)
            measured.append(_measure(prepared, ours.split(","), pythons, limit_s))
    print("\n".join(table(summarise(measured, baseline=ours.split(",")[0]))))
    print(f"\nMeasured with {current(ENCODER)}.")


def prepare(bench_set: BenchSet, folder: Path, limit: int) -> Prepared:
    """Write catalogue and requests of a set in the one form that all are measured on.

    :param limit: requests at most, chosen by the hash of their ids; 0 for all.
    """
    from ingest.sources import read_catalog

    address = catalog_address(bench_set, folder / "given")
    tools = read_catalog([str(address)]).tools
    write_file(folder / "tools.jsonl", "".join(tool.canonical_json() + "\n" for tool in tools))
    write_rows(folder / "queries.jsonl", sampled(bench_set, limit))
    queries = read_queries([folder / "queries.jsonl"], name=bench_set.name)
    return Prepared(folder=folder, address=address, tools=tuple(tools), queries=queries)


def _measure(prepared: Prepared, ours: Sequence[str], pythons: Mapping[str, Path], limit_s: float) -> MeasuredSet:
    name = prepared.queries.name
    print(f"{name}: {len(prepared.tools):,} tools, {len(prepared.queries.queries):,} requests", file=sys.stderr)
    snapshot_id = _ours("build", str(prepared.address), str(prepared.folder / "store"))
    runs: list[Run] = []
    for system in ours:
        _ours("ask", system, str(prepared.folder), str(K))
        runs.append(read_run(prepared.folder, system))
    for peer, python in pythons.items():
        runs.append(measure_peer(PEERS[peer], python, prepared, snapshot_id, limit_s))
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


def _ours(*arguments: str) -> str:
    """Run a command of :mod:`benchmarks.peers.ours` in a fresh process; returns its output."""
    from services.threads import pin_threads

    environ = dict(os.environ)
    pin_threads(environ)
    command = [sys.executable, "-m", "benchmarks.peers.ours", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _environment(peer: Peer, folder: Path) -> Path:
    """The Python of the peer's virtual environment in ``folder``, which is made again when the lock has changed.

    :raises StorageError: when it cannot be made, with the last line of the installer.
    """
    lock = FOLDER / peer.lock
    venv = folder / lock.stem / "venv"
    python, made_from = venv / "bin" / "python", venv / "lock.sha256"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if made_from.exists() and made_from.read_text(encoding="ascii") == digest:
        return python
    make = ["-m", "venv", "--clear", "--without-pip", str(venv)]
    try:
        for command in (make, ["-m", "pip", "--python", str(python), *_INSTALL, str(lock)]):
            subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        output = _last_line(getattr(error, "stderr", "") or str(error))
        raise StorageError(f"the environment of a peer cannot be made ({output})", subject=peer.name) from error
    made_from.write_text(digest, encoding="ascii")
    return python


def measure_peer(peer: Peer, python: Path, prepared: Prepared, snapshot_id: str, limit_s: float) -> Run:
    """Measure a peer in a fresh process.

    A peer that crashes or takes too long is a result: the run has the ``failure`` and the answers until then.
    """
    header, rows = run_files(prepared.folder, peer.name)
    fresh = Run(
        system=peer.name,
        config=peer.config,
        config_hash=config_hash(peer.config),
        snapshot_id=snapshot_id,
        queries_sha256=prepared.queries.sha256,
        k=K,
        answers={},
    )
    rows.unlink(missing_ok=True)
    write_header(header, fresh)
    job = {
        "script": str(FOLDER / peer.script),
        "encoder": peer.encoder,
        "tools": str(prepared.folder / "tools.jsonl"),
        "queries": str(prepared.folder / "queries.jsonl"),
        "run": {key: value for key, value in fresh.__dict__.items() if key != "answers"},
        "rows": str(rows),
        "header": str(header),
    }
    failure = _run(python, job, prepared.folder / f"{peer.name}.job.json", limit_s)
    if failure:
        write_header(header, replace(fresh, failure=failure))
        print(f"{prepared.queries.name}: {peer.name} failed: {failure}", file=sys.stderr)
    return read_run(prepared.folder, peer.name)


def _run(python: Path, job: Mapping[str, Any], file: Path, limit_s: float) -> str:
    """Run the process; returns why it failed, or an empty text."""
    write_file(file, json.dumps(job, indent=1))
    command = [str(python), "-P", str(FOLDER / "peer.py"), str(file)]
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environ = {**kept, **_SETTINGS, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            command, cwd=file.parent, env=environ, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it was ended after {limit_s:g} s"
    finally:
        file.unlink()
    return f"exit code {done.returncode}: {_last_line(done.stderr)}" if done.returncode else ""


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "without a message"


def table(summary: Summary) -> list[str]:
    """CompleteRecall of every system on every set and over the sets, and its median time."""
    found = {
        (one.group, one.system, one.measure): one.value for one in summary.figures if one.scope in ("set", "macro")
    }
    times = {(fact.set_name, fact.system): fact for fact in summary.facts}
    lines = [
        f"| set | system | {' | '.join(f'@{k}' for k in _CUTOFFS)} | p50 ms | failure |",
        "|---|---|" + "---:|" * 5,
    ]
    for group, system in dict.fromkeys((group, system) for group, system, _ in found):
        fact = times.get((group, system))
        cells = [f"{100 * found[group, system, f'CompleteRecall@{k}']:.1f}" for k in _CUTOFFS]
        p50 = f"{fact.stages_ms['total'][0]:.2f}" if fact is not None and "total" in fact.stages_ms else ""
        told = " | ".join(cells)
        lines.append(f"| {group or 'mean'} | {system} | {told} | {p50} | {fact.failure if fact else ''} |")
    return lines


if __name__ == "__main__":
    run_command(main)
