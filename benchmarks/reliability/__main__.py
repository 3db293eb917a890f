"""Faults, swaps and attacks against a store and a server: ``make chaos ROWS="KEY …"``, ``python -m benchmarks.reliability [KEY …] [--fast]``.

``--keep`` writes the figures into ``results.json`` beside this file, and the table into ``benchmarks/notes/reliability.md``.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command import ROOT, current, replace_block, run_command
from benchmarks.reliability import attack_rows, server_rows, store_rows
from benchmarks.reliability.harness import Row
from services.threads import pin_threads

RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "benchmarks" / "notes" / "reliability.md"
ROWS: dict[str, Row] = {row.key: row for module in (store_rows, server_rows, attack_rows) for row in module.ROWS}


def main(
    keys: Annotated[list[str] | None, typer.Argument(help="Only these rows.")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Only the rows that take less than about 30 s.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the figures, and write the table of the note.")] = False,
) -> None:
    """Measure and print; exit code 1 if a row did not hold."""
    unknown = set(keys or ()) - ROWS.keys()
    if unknown:
        raise typer.BadParameter(f"no row {', '.join(sorted(unknown))}; known: {', '.join(ROWS)}")
    pin_threads()  # as a server does, before anything numeric is imported
    all_held, measured = True, str(current())  # before figures are kept: they change the checkout
    for row in ROWS.values():
        if (keys and row.key not in keys) or (fast and not row.fast):
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="egotools-reliability-") as folder:
            figure = row.measure(Path(folder))
        all_held &= figure.held
        said = "held" if figure.held else "FELL SHORT"
        print(f"{said}  {row.key}: {figure.text} (bar: {row.bar}; {time.monotonic() - started:.0f} s)", flush=True)
        if keep:
            results = json.loads(RESULTS.read_text(encoding="utf-8"))
            results[row.key] = {
                "item": row.item,
                "bar": row.bar,
                "figure": figure.text,
                "measured": measured,
                "held": figure.held,
            }
            RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n", encoding="utf-8")
            replace_block(PAGE, "rows", table(results))
    if not all_held:
        raise typer.Exit(1)


def table(results: dict[str, dict[str, Any]]) -> str:
    """The table of the note: a line for each row, and with which commits they were measured."""
    held, measured = {True: "yes", False: "**no**"}, defaultdict(list)
    lines = ["| row | what | bar | measured | held |", "|---|---|---|---|---|"]
    for key, row in results.items():
        lines.append(f"| `{key}` | {row['item']} | {row['bar']} | {row['figure']} | {held[row['held']]} |")
        measured[row["measured"]].append(key)
    told = (f"{commit}: {', '.join(keys)}" for commit, keys in sorted(measured.items()))
    return "\n".join([*lines, "", f"Measured with {'; '.join(told)}."])


if __name__ == "__main__":
    run_command(main)
