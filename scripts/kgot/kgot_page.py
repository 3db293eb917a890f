"""The tables of ``benchmarks/notes/kgot.md``, made of ``kgot.json`` beside it and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.account.account_tables import markdown_table, ratio_table, share
from scripts.bench_sets import ROOT
from scripts.document_blocks import replace_block

__all__ = ["FIGURES", "PAGE", "page_blocks", "write_page"]

PAGE = ROOT / "benchmarks" / "notes" / "kgot.md"
FIGURES = ROOT / "benchmarks" / "notes" / "kgot.json"
_NO_FIGURES = "Not measured yet."


def write_page(figures: Path = FIGURES, page: Path = PAGE) -> None:
    """Write every block of the page anew."""
    for name, text in page_blocks(json.loads(figures.read_text(encoding="utf-8"))).items():
        replace_block(page, name, text)


def page_blocks(figures: Mapping[str, Any]) -> dict[str, str]:
    """Return the blocks by name."""
    makers: Mapping[str, Callable[[Any], str]] = {
        "oracle": _oracle,
        "faults": _faults,
        "speed": ratio_table,
    }
    return {name: make(figures[name]) if figures.get(name) else _NO_FIGURES for name, make in makers.items()}


def _oracle(rows: Sequence[Mapping[str, Any]]) -> str:
    head = ("store", "retrieval", "solved", "answer in the graph")
    all_ = max((each["tasks"] for each in rows), default=0)

    def counted(row: Mapping[str, Any], what: str) -> str:
        said = f"{row[what]} of {row['tasks']}"
        return said if row["tasks"] == all_ else f"{said} run, of {all_}"

    return markdown_table(
        head,
        ((each["store"], each["retrieve"], counted(each, "solved"), counted(each, "in_graph")) for each in rows),
    )


def _faults(rows: Sequence[Mapping[str, Any]]) -> str:
    rates = sorted({each["rate"] for each in rows})
    layers = list(dict.fromkeys(each["layers"] for each in rows))
    found = {(each["layers"], each["rate"]): each for each in rows}
    return markdown_table(
        ("containment", *(f"{100 * rate:.0f} % faults" for rate in rates)),
        (
            (
                name,
                *(share(one["solved"], one["tasks"]) if (one := found.get((name, rate))) else "–" for rate in rates),
            )
            for name in layers
        ),
    )
