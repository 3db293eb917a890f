"""What everyday phrases are worth: the table of docs/building.md, ``python -m benchmarks.phrases FOLDER``.

The folder has ``NAME/phrases.jsonl`` for each set, as ``egotools build --phrases-file`` reads it. Each set is built with its phrases, and ``default`` is asked with them and without, on the same snapshot.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import ROOT, run_command
from benchmarks.measure import measure
from benchmarks.sets import bench_sets
from eval.summary import Summary, summarise

_OUT = ROOT / "out" / "phrases"
_MEASURES = ("CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10")
_WITHOUT = "default-no-phrases"


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of the phrases.")],
    out: Annotated[Path, typer.Option(help="Folder of snapshots and answers.")] = _OUT,
) -> None:
    """Measure the sets that have phrases, and print the table."""
    measured = []
    for one in (
        each for each in bench_sets() if each.declared is None and (folder / each.name / "phrases.jsonl").is_file()
    ):
        file = folder / one.name / "phrases.jsonl"
        measured.append(
            measure(one, out / one.name, ("default", _WITHOUT), report=False, needs=one.needs is not None, phrases=file)
        )
        print(f"{one.name}: {len(measured[-1].queries.queries):,} requests", flush=True)
    print("\n".join(_table(summarise(measured, baseline=_WITHOUT), "")))
    asked = [one for one in measured if any(run.system.endswith("@needs") for run in one.runs)]
    if asked:
        print("\n".join(_table(summarise(asked, baseline=f"{_WITHOUT}@needs"), "@needs")))


def _table(summary: Summary, way: str) -> list[str]:
    figures = {(one.group, one.system, one.measure): one for one in summary.figures}
    rows = [f"| set{f' ({way[1:]})' if way else ''} | without | with | difference |", "|---|---:|---:|---:|"]
    for group in (*summary.sets, ""):
        cells = [
            " / ".join(f"{figures[group, f'{name}{way}', each].value * 100:.1f}" for each in _MEASURES)
            for name in (_WITHOUT, "default")
        ]
        gains = " / ".join(_gain(figures[group, f"default{way}", each]) for each in _MEASURES)
        rows.append(f"| {group or '**mean**'} | {' | '.join(cells)} | {gains} |")
    return rows


def _gain(one: object) -> str:
    ends = [(getattr(one, name) or 0.0) * 100 for name in ("difference", "difference_low", "difference_high")]
    return "{:+.1f} [{:+.1f}, {:+.1f}]".format(*ends)


if __name__ == "__main__":
    run_command(main)
