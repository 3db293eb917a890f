"""Measure the rows of docs/reliability.md: ``python -m scripts.reliability chaos|load|soak [KEY …] [--fast]``.

Each module of a kind, ``chaos_*.py``, ``load_*.py`` or ``soak_*.py``, has its rows in ``ROWS``. Results are kept in
``docs/reliability.json``, from which the table of ``docs/reliability.md`` is written.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import scripts.reliability
from scripts.provenance import current
from scripts.reliability.row import Figure, Row
from services.threads import pin_threads

__all__ = ["main", "rows_of", "table"]

KINDS = ("chaos", "load", "soak")
_DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS, PAGE = _DOCS / "reliability.json", _DOCS / "reliability.md"
_BEGIN, _END = "<!-- rows -->", "<!-- end of rows -->"


def rows_of(kind: str) -> list[Row]:
    """The rows of one kind, in the order of the modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(scripts.reliability.__path__))
    modules = [
        importlib.import_module(f"scripts.reliability.{name}") for name in names if name.partition("_")[0] == kind
    ]
    return [row for module in modules for row in module.ROWS]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and keep the figures; return 1 if one did not hold."""
    parser = argparse.ArgumentParser(description="Measure rows of docs/reliability.md.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("keys", nargs="*", help="only these rows")
    parser.add_argument("--fast", action="store_true", help="only the rows that take less than about 30 s")
    parser.add_argument("--keep", action="store_true", help="keep the figures in docs/reliability.json and .md")
    chosen = parser.parse_args(arguments)
    found = [row for row in rows_of(chosen.kind) if row.fast or not chosen.fast]
    unknown = set(chosen.keys) - {row.key for row in found}
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; known: {', '.join(row.key for row in found)}")
    held = True
    for row in found:
        if chosen.keys and row.key not in chosen.keys:
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="egotools-reliability-") as folder:
            figure = row.measure(Path(folder))
        held &= figure.held
        seconds = time.monotonic() - started
        print(f"{'held' if figure.held else 'FELL SHORT'}  {row.key}: {figure.text} (bar: {row.bar}; {seconds:.0f} s)")
        if chosen.keep:
            _keep(chosen.kind, row, figure)
    return 0 if held else 1


def _keep(kind: str, row: Row, figure: Figure) -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    said = {"kind": kind, "item": row.item, "bar": row.bar, "figure": figure.text, "measured": str(current())}
    results[row.key] = {**said, "held": figure.held}
    RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n", encoding="utf-8")
    if PAGE.exists():
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
        after = rest.partition(_END)[2]
        PAGE.write_text(f"{before}{_BEGIN}\n{table(results)}\n{_END}{after}", encoding="utf-8")


def table(results: dict[str, dict[str, Any]]) -> str:
    """The table of the page: a row for each result, and with which commits they were measured."""
    held, measured = {True: "yes", False: "**no**", None: "not run"}, defaultdict(list)
    lines = ["| what | bar | measured | held | command |", "|---|---|---|---|---|"]
    for key, row in sorted(results.items()):
        command = f"`python -m scripts.reliability {row['kind']} {key}`"
        lines.append(f"| {row['item']} | {row['bar']} | {row['figure']} | {held[row['held']]} | {command} |")
        if row.get("measured"):
            measured[row["measured"]].append(key)
    told = (f"{commit}: {', '.join(keys)}" for commit, keys in sorted(measured.items()))
    lines += ["", f"Measured with {'; '.join(told)}."]
    return "\n".join(lines)


if __name__ == "__main__":
    pin_threads()  # as a server does, before anything numeric is imported: threads that wait in a busy loop double the times
    sys.exit(main())
