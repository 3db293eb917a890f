"""The shipped benchmark as a row of table 2 of the paper, and how many requests of each class the paper's own set has.

    python -m research.benchmark_row

The paper (arXiv 2508.05888) shows its class shares in figure 2, as a picture without numbers. Its table 3 has the percentages of each class with
two decimals: a class has the smallest number of requests of which all of its percentages are shares. The sum is the number of its table 2.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ontology.ontology import load_ontology
from scripts.run_command import run_command

__all__ = ["benchmark_row", "class_size", "paper_sizes"]

BENCHMARK = Path(__file__).resolve().parent.parent / "examples" / "enterprise" / "benchmark"
SETS = ("hand", "generated", "long_tasks", "unanswerable")
PAPER_REQUESTS = 503
"""The number of requests in the paper's table 2."""
_MOST = 400

PERCENTAGES: Mapping[str, tuple[str, ...]] = {
    "conditional-multi-step": (
        "42.50",
        "52.50",
        "67.50",
        "55.00",
        "83.75",
        "58.75",
        "76.25",
        "86.25",
        "72.50",
        "92.50",
    ),
    "explicit-multi-step": (
        "43.24",
        "58.56",
        "79.28",
        "71.17",
        "84.68",
        "93.69",
        "90.09",
        "95.50",
        "77.48",
        "85.59",
        "98.20",
    ),
    "implicit-multi-step": (
        "25.68",
        "36.49",
        "54.05",
        "43.24",
        "60.81",
        "32.43",
        "51.35",
        "67.57",
        "37.84",
        "47.30",
        "71.62",
    ),
    "ir-multi-intent": (
        "39.74",
        "57.69",
        "76.92",
        "47.44",
        "66.67",
        "83.33",
        "52.56",
        "74.36",
        "91.03",
        "62.82",
        "87.18",
    ),
    "multi-intent": ("63.53", "81.18", "90.59", "69.41", "87.06", "95.29", "85.88", "98.82", "94.12"),
    "single-intent": ("76.00", "82.67", "88.00", "84.00", "92.00", "85.33", "89.33", "90.67", "96.00", "98.67"),
}
"""Class → the different percentages of its row in table 3 of the paper."""


def class_size(percentages: Collection[str]) -> int:
    """The smallest number of requests of which all percentages are shares, rounded to two decimals; 0 where none up to 400 fits."""
    for size in range(1, _MOST + 1):
        shares = {f"{100 * hits / size:.2f}" for hits in range(size + 1)}
        if shares.issuperset(percentages):
            return size
    return 0


def paper_sizes() -> dict[str, int]:
    """Class → the number of requests of the paper's set."""
    return {name: class_size(percentages) for name, percentages in PERCENTAGES.items()}


def benchmark_row(folder: Path) -> dict[str, Any]:
    """What table 2 of the paper asks of a benchmark."""
    rows = {name: _rows(folder / f"{name}.jsonl") for name in SETS}
    ontology = load_ontology()
    answerable = [*rows["hand"], *rows["generated"]]
    tools = _rows(folder / "tools.jsonl")
    return {
        "tools": len(tools),
        "systems (all of business)": len({tool["id"].partition("/")[0] for tool in tools}),
        "requests": sum(map(len, rows.values())),
        **{f"requests, {name}": len(of_set) for name, of_set in rows.items()},
        "tool dependencies: different pairs on gold paths": len(_dependencies(answerable)),
        "KG schema: entity types, predicates": f"{len(ontology.entity_types)}, {len(ontology.predicates)}",
        "complex query types: classes": len({row["class"] for row in answerable}),
    }


def _dependencies(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """The pairs of tools of which one supplies an input of the other; similar inputs (P-P) are no dependency."""
    edges = (edge for row in rows for edge in row.get("edges", ()))
    return {(edge["source"], edge["target"]) for edge in edges if edge["kind"] == "R-P"}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Print both."""
    for name, value in benchmark_row(BENCHMARK).items():
        print(f"{name}: {value}")
    sizes = paper_sizes()
    total = sum(sizes.values())
    print(f"\nthe paper's set: {total} requests by its table 3, {PAPER_REQUESTS} by its table 2")
    ours = Counter(row["class"] for name in ("hand", "generated") for row in _rows(BENCHMARK / f"{name}.jsonl"))
    for name, size in sizes.items():
        print(f"{name}: {size} = {100 * size / total:.1f} %; here {100 * ours[name] / sum(ours.values()):.1f} %")


if __name__ == "__main__":
    run_command(main)
