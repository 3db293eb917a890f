"""The tables of ``docs/kgot.md``, made of ``docs/kgot.json`` and of nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from scripts.account.account_tables import markdown_table, paired_difference, ratio_table, share
from scripts.bench_sets import ROOT
from scripts.document_blocks import replace_block
from scripts.kgot.tools_shown import ORACLE_TEXTS

__all__ = ["FIGURES", "PAGE", "page_blocks", "write_page"]

PAGE = ROOT / "docs" / "kgot.md"
FIGURES = ROOT / "docs" / "kgot.json"
_SYSTEMS = {
    "kgot": "task graph",
    "no graph": "the same, no graph",
    "nearest chunks": "the same, nearest chunks (simple RAG)",
    "tool calling": "plain tool calling",
    "zero-shot": "the model alone",
}
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
        "real": _real,
        "real-runs": _real_runs,
        "speed": ratio_table,
    }
    sections = {"real-runs": "real", "tools-shown": "tools"}
    return {
        name: make(figures[sections.get(name, name)]) if sections.get(name, name) in figures else _NO_FIGURES
        for name, make in makers.items()
    }


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


def _real(section: Mapping[str, Any]) -> str:
    rows = [each for each in section["rows"] if each["run"] == 0]
    systems = _complete(rows)
    by_system = {name: {each["task"]: each for each in rows if each["system"] == name} for name in systems}
    tasks = sorted(set.intersection(*(set(each) for each in by_system.values()))) if by_system else []
    if not tasks:
        return _NO_FIGURES
    head = (
        "system",
        "solved",
        "wrong",
        "not attempted",
        "prompt tokens",
        "completion tokens",
        "seconds",
        "solved against the task graph",
    )
    lines = []
    for name, label in _SYSTEMS.items():
        if name not in by_system:
            continue
        ours = [by_system[name][task] for task in tasks]
        verdicts = Counter(each["verdict"] for each in ours)
        lines.append(
            (
                label,
                share(verdicts["solved"], len(ours)),
                verdicts["wrong"],
                verdicts["not attempted"],
                *(
                    f"{fmean(each[key] for each in ours):,.0f}"
                    for key in ("prompt_tokens", "completion_tokens", "seconds")
                ),
                ""
                if name == "kgot"
                else paired_difference(_solved(by_system[name], tasks), _solved(by_system["kgot"], tasks), "kgot"),
            )
        )
    kinds = Counter(by_system[systems[0]][task]["kind"] for task in tasks)
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    said = f"{len(tasks)} of {section['planned']} planned tasks were run by all systems ({counted}); means a task."
    return f"{said}\n\n{markdown_table(head, lines)}"


def _complete(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    found = {each["system"] for each in rows}
    return [name for name in _SYSTEMS if name in found]


def _solved(rows: Mapping[str, Any], tasks: Sequence[str]) -> dict[str, float]:
    return {task: float(rows[task]["verdict"] == "solved") for task in tasks}


def _real_runs(section: Mapping[str, Any]) -> str:
    rows = section["rows"]
    runs = 1 + max((each["run"] for each in rows), default=0)
    if runs < 2:
        return "One run of each task so far, so several runs of a system cannot be compared yet."
    lines = []
    for name in _complete(rows):
        by_task: dict[str, dict[int, str]] = {}
        for each in rows:
            if each["system"] == name:
                by_task.setdefault(each["task"], {})[each["run"]] = each["verdict"]
        whole = [list(each.values()) for each in by_task.values() if len(each) == runs]
        solved = sum("solved" in each for each in whole)
        most = sum(2 * each.count("solved") > len(each) for each in whole)
        lines.append((_SYSTEMS[name], len(whole), share(solved, len(whole)), share(most, len(whole))))
    return markdown_table(("system", "tasks", f"solved by any of {runs} runs", f"solved by most of {runs}"), lines)
