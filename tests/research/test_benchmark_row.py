"""The row of the paper's table: sizes of its classes from its percentages, and ours by counting."""

from __future__ import annotations

from research.benchmark_row import BENCHMARK, PAPER_REQUESTS, benchmark_row, class_size, paper_sizes


def test_the_size_of_a_class_by_hand() -> None:
    assert class_size(["33.33", "66.67"]) == 3
    assert class_size(["33.33", "50.00"]) == 6
    assert class_size(["12.34", "0.01"]) == 0, "no set of up to 400"


def test_the_classes_of_the_paper_add_up_to_its_set() -> None:
    assert sum(paper_sizes().values()) == PAPER_REQUESTS


def test_our_row_counts_what_the_files_have() -> None:
    row = benchmark_row(BENCHMARK)
    assert row["tools"] == len((BENCHMARK / "tools.jsonl").read_text(encoding="utf-8").splitlines())
    assert row["requests"] == sum(value for name, value in row.items() if name.startswith("requests, "))
    assert row["complex query types: classes"] == 6
