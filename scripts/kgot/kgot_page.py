"""The tables of ``docs/kgot.md``, made of ``docs/kgot.json`` and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.account.account_tables import markdown_table, ratio_table, share
from scripts.bench_sets import ROOT
from scripts.document_blocks import replace_block
from scripts.kgot.tools_shown import ORACLE_TEXTS

__all__ = ["FIGURES", "PAGE", "page_blocks", "write_page"]

PAGE = ROOT / "docs" / "kgot.md"
FIGURES = ROOT / "docs" / "kgot.json"
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
        "tools-shown": _tools_shown,
        "speed": ratio_table,
    }
    sections = {name: figures.get("tools" if name == "tools-shown" else name) for name in makers}
    return {name: make(sections[name]) if sections[name] is not None else _NO_FIGURES for name, make in makers.items()}


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


def _complete_and_found(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return both shares; of texts that are made from templates without an interval."""
    pairs = (row["complete"], row["n"]), (row["found"], row["needed"])
    if row["requests"].startswith(ORACLE_TEXTS):
        return f"{pairs[0][0]} of {pairs[0][1]}", f"{pairs[1][0]} of {pairs[1][1]}"
    return share(*pairs[0]), share(*pairs[1])


def _tools_shown(section: Mapping[str, Any]) -> str:
    rows = section["rows"]
    head = (
        "requests",
        "search",
        "n",
        "tools shown, mean",
        "prompt tokens, mean",
        "against all",
        "every needed tool shown",
        "needed tools shown",
    )
    table = markdown_table(
        head,
        (
            (
                each["requests"],
                each["search"],
                each["n"],
                f"{each['shown']:.1f}",
                f"{each['tokens']:,.0f}",
                f"{100 * each['tokens'] / section['all_tokens']:.1f} %",
                *_complete_and_found(each),
            )
            for each in rows
        ),
    )
    return f"{table}\n\nAll {section['tools']} tools bound into a prompt: {section['all_tokens']:,} tokens ({section['counter']})."
