"""The row of the paper's table: sizes of its classes from its percentages, and ours by counting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ontology.files import write_rows
from research.benchmark_row import PAPER_REQUESTS, SETS, benchmark_row, class_size, paper_sizes


def test_the_size_of_a_class_by_hand() -> None:
    assert class_size(["33.33", "66.67"]) == 3
    assert class_size(["33.33", "50.00"]) == 6
    assert class_size(["12.34", "0.01"]) == 0, "no set of up to 400"


def test_the_classes_of_the_paper_add_up_to_its_set() -> None:
    assert sum(paper_sizes().values()) == PAPER_REQUESTS


def test_our_row_by_hand(tmp_path: Path) -> None:
    def edge(kind: str, target: str, confidence: float) -> dict[str, Any]:
        return {"kind": kind, "source": "a/x", "target": target, "confidence": confidence}

    files: dict[str, list[dict[str, Any]]] = {name: [] for name in SETS}
    files |= {
        "tools": [{"id": "a/x"}, {"id": "a/y"}, {"id": "b/z"}],
        "hand": [{"class": "one", "edges": [edge("R-P", "a/y", 0.9), edge("P-P", "b/z", 0.8)]}],
        "generated": [{"class": "two", "edges": [edge("R-P", "a/y", 0.7)]}, {"class": "one"}],
        "long_tasks": [{"class": "long"}],
    }
    for name, rows in files.items():
        write_rows(tmp_path / f"{name}.jsonl", rows)
    row = benchmark_row(tmp_path)
    assert (row["tools"], row["systems (all of business)"]) == (3, 2)
    assert [row["requests"], *(row[f"requests, {name}"] for name in SETS)] == [4, 1, 2, 1, 0]
    assert row["tool dependencies: different pairs on gold paths"] == 1, "one pair, whatever its confidence"
    assert row["complex query types: classes"] == 2
