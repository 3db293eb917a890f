"""Builds over real documents: processor time of each stage, rebuilds and memory, compared with the bars. A part of ``make bench``.

    python -m examples.real.fetch out/real
    python -m scripts.bench_builds

The documents are those of ``examples/real`` (``out/real``, or the folder that EGOTOOLS_REAL names) and, where they lie beside the
checkout, ``../shared/specs``. They are built three times into one store, each time in a process of its own with one worker: first,
unchanged, and after one description changed. The last is also built without a cache, and its snapshot must be the same. Processor time
is counted, not elapsed time, so other programs on the machine disturb it little. The exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from scripts.bench_sets import ROOT
from scripts.run_command import run_command

__all__ = ["Bar", "MeasuredBuild", "bars", "build_once", "change_one_description", "document_folders"]

_ENCODER = "egotools-minilm-int8.v1"
_REBUILD, _UNCHANGED, _PEAK_MB, _MANY = 0.05, 0.02, 1024, 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBuild:
    """One build: tools, seconds of processor time by stage and in all, peak memory in MB."""

    snapshot_id: str
    tools: int
    seconds: dict[str, float]
    processor_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar, what was measured, and whether it is met."""

    bar: str
    measured: str
    met: bool


def main(
    out: Annotated[Path, typer.Option(help="folder for the documents, the stores and results.json")] = ROOT
    / "out"
    / "bench_builds",
    encoder: Annotated[str, typer.Option(help="sentence encoder")] = _ENCODER,
    fresh: Annotated[bool, typer.Option(help="also build the changed documents without a cache, and compare")] = True,
    once: Annotated[Path | None, typer.Option(hidden=True, help="measure one build into this store")] = None,
    cached: Annotated[bool, typer.Option(hidden=True)] = True,
) -> None:
    """Run the benchmark."""
    documents = out / "documents"
    if once is not None:
        print(json.dumps(asdict(build_once(documents, once, encoder=encoder, cached=cached))))
        return
    folders = document_folders()
    if not folders:
        print("No real documents are here. Fetch them: python -m examples.real.fetch out/real")
        return
    shutil.rmtree(out, ignore_errors=True)
    for folder in folders:
        shutil.copytree(folder, documents / folder.parent.name, copy_function=shutil.copyfile)
    builds = {name: _measured(out, encoder, out / "store") for name in ("first", "unchanged")}
    print(f"changed: {change_one_description(documents)}")
    builds["changed"] = _measured(out, encoder, out / "store")
    if fresh:
        builds["fresh"] = _measured(out, encoder, out / "fresh", "--no-cached")
    (out / "results.json").write_text(json.dumps({name: asdict(build) for name, build in builds.items()}, indent=1))
    for name, build in builds.items():
        stages = ", ".join(f"{stage} {spent:.1f}" for stage, spent in build.seconds.items())
        print(f"{name}: {build.tools:,} tools, {build.processor_s:.1f} s ({stages}), peak {build.peak_mb:,.0f} MB")
    found = bars(builds)
    for bar in found:
        print(f"{'met   ' if bar.met else 'MISSED'}  {bar.bar}: {bar.measured}")
    if not all(bar.met for bar in found):
        raise typer.Exit(1)


def document_folders() -> list[Path]:
    """The folders of real documents on this machine."""
    real = Path(os.environ.get("EGOTOOLS_REAL", ROOT / "out" / "real")) / "documents"
    return [folder for folder in (real, ROOT.parent / "shared" / "specs") if folder.is_dir()]


def change_one_description(documents: Path) -> Path:
    """Change the description of one operation in the first document that has one; return the document.

    :raises LookupError: when no document has an operation with a description.
    """
    for path in sorted(documents.rglob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        pending = [data]
        while pending:
            node = pending.pop()
            if isinstance(node, dict) and "description" in node and ("operationId" in node or "httpMethod" in node):
                node["description"] = "Does what its name says, and returns the result."
                path.write_text(json.dumps(data), encoding="utf-8")
                return path
            pending += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    raise LookupError("no document has an operation with a description")


def build_once(documents: Path, store: Path, *, encoder: str, cached: bool = True) -> MeasuredBuild:
    """Build in this process, and count its processor time and peak memory."""
    from inference import load_encoder
    from ontology.reporting import stage_clock
    from services.jobs.build import build_snapshot

    loaded = load_encoder(encoder, workers=1)
    started = _processor_time()
    with stage_clock(_processor_time):
        report = build_snapshot([str(documents)], store, encoder=loaded, workers=1, cached=cached)
    return MeasuredBuild(
        snapshot_id=report.snapshot_id,
        tools=report.tools,
        seconds=report.seconds,
        processor_s=_processor_time() - started,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def bars(builds: dict[str, MeasuredBuild]) -> list[Bar]:
    """Each bar over the builds ``first``, ``unchanged``, ``changed`` and, where it was made, ``fresh``."""
    first, changed, unchanged = builds["first"], builds["changed"], builds["unchanged"]
    encoding = first.seconds["encode"]
    rest = first.processor_s - encoding
    # An unchanged rebuild holds code and encoder, but no tools: what is beyond it grows with the tools.
    grown = (first.peak_mb - unchanged.peak_mb) * max(1.0, _MANY / first.tools)
    peak = first.peak_mb if first.tools >= _MANY else unchanged.peak_mb + grown
    shown = "" if first.tools >= _MANY else f", concluded from {first.peak_mb:,.0f} MB with {first.tools:,} tools"
    found = [
        Bar(bar="all other stages ≤ encoding", measured=f"{rest:.1f} and {encoding:.1f} s", met=rest <= encoding),
        _share("a rebuild of unchanged documents", unchanged, first, _UNCHANGED),
        _share("a rebuild after one changed description", changed, first, _REBUILD),
        Bar(bar=f"memory at {_MANY:,} tools ≤ 1 GiB", measured=f"{peak:,.0f} MB{shown}", met=peak <= _PEAK_MB),
    ]
    if "fresh" in builds:
        same = builds["fresh"].snapshot_id == changed.snapshot_id
        found.append(Bar(bar="a rebuild equals a fresh build", measured="equal" if same else "other bytes", met=same))
    return found


def _share(what: str, build: MeasuredBuild, first: MeasuredBuild, most: float) -> Bar:
    share = build.processor_s / first.processor_s
    return Bar(bar=f"{what} ≤ {most:.0%} of the first", measured=f"{share:.1%}", met=share <= most)


def _measured(out: Path, encoder: str, store: Path, *options: str) -> MeasuredBuild:
    command = [sys.executable, "-m", "scripts.bench_builds", "--out", str(out), "--encoder", encoder]
    run = subprocess.run([*command, "--once", str(store), *options], cwd=ROOT, check=True, capture_output=True)
    return MeasuredBuild(**json.loads(run.stdout.splitlines()[-1]))


def _processor_time() -> float:
    """Seconds of this process and of its finished children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    run_command(main)
