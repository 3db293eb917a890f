"""The tables say what was measured, checked by hand; the page keeps what is not theirs."""

from __future__ import annotations

import re

import pytest

from scripts.bench import page_block
from scripts.speed.speed_results import SpeedResults
from scripts.speed.speed_tables import markdown, one_run
from tests.conftest import ROOT
from tests.scripts.speed.made_up import figures, made_up, results_of

_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def lines(results: SpeedResults) -> list[str]:
    return markdown(results).splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "| `00000000000003e8` | 1,000 | 3,000 | 9,000 | 30 | 10 | 0.50 | 5 | 7 | 0.9900 |",
        "| default | 44,000 | 4.00 | 0.75 | 0.38 | 1.00 | 0.75 | 8.00 | 8.00 |",
        "| paper | 1,000 | 4.00 | 0.50 | 0.25 | 1.00 | 0.50 | 0.25 | 1.75 | 10.00 | 20.00 | 1.25 | 8.00 |",
        "| paper | 44,000 | 4 | 200.0 | 20.00 | 40.00 | 60.00 | 12.00 | 0.50 | 2% |",
        "| default | 1,000 | 50% | 100.0 | 99.5 | 12.00 | 24.00 | 36.00 | 1.50 | 2% | 0 |",
        "| default | 1,000 | 150% | 300.0 | 190.0 | 170 | 340 | 510 | 1.50 | 2% | 500 RESOURCE_EXHAUSTED |",
        "| 10 | 200 | 200 | 0 | 0 | 180 | 160 | 201 |",
        "| 44,000 | 464 | 200 | 44 | 220 | 444 | 160 | 465 |",
        "| a round trip takes at most 1.5 x the retrieval, one caller | paper 1,000 1.25; paper 44,000 1.25; "
        "default 1,000 1.25; default 44,000 1.25 | yes |",
    ],
)
def test_a_line_of_each_table_by_hand(line: str) -> None:
    assert line in lines(made_up())


def test_what_has_no_figure_is_a_dash_and_what_was_not_measured_says_so() -> None:
    made = figures()
    for size in made["sizes"]:
        for preset, points in size["serving"]["points"].items():
            size["serving"]["points"][preset] = [point for point in points if point["loop"] == "closed"]
    made["sizes"][0]["serving"]["points"]["paper"][1]["p99_ms"] = None
    said = markdown(results_of(made))
    assert "| paper | 1,000 | 4 | 200.0 | 20.00 | 40.00 | – | 8.00 | 0.50 | 2% |" in said
    assert "Not measured." in said


def test_every_row_has_as_many_cells_as_its_head() -> None:
    well_formed(markdown(made_up()), tables=7)


def well_formed(text: str, *, tables: int) -> None:
    found = [part.splitlines() for part in re.findall(r"(?:^\|.*\|\n?)+", text, re.MULTILINE)]
    assert len(found) == tables
    for head, rule, *body in found:
        assert re.fullmatch(r"\|(---:?\|)+", rule)
        assert body
        assert {line.count("|") for line in (head, rule, *body)} == {head.count("|")}


def test_the_run_says_where_it_ran_what_was_reused_and_that_it_was_not_alone() -> None:
    made = figures()
    assert one_run(results_of(made)) == (
        "All figures come from one run, on 2 processors that client and server share, with 48 different requests "
        "(36 of `examples/enterprise`, 12 of 2 open sets) and 5 s a load."
    )
    made["sizes"][0]["build"]["reused"] = True
    made["sizes"][1]["serving"]["points"]["paper"][0]["others"] = 0.42
    made["queries"] = {"enterprise": 36}
    assert one_run(results_of(made)) == (
        "All figures come from one run, on 2 processors that client and server share, with 36 different requests "
        "(36 of `examples/enterprise`) and 5 s a load. Taken from an earlier run: the snapshots of 1,000 tools, and "
        "what building them took. The machine was shared: other programs took up to 42% of its processors meanwhile."
    )


def test_the_block_of_the_page_is_one_that_the_benchmark_writes() -> None:
    said = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    (measured,) = re.findall(r"<!-- measured -->\n(.*?)<!-- end -->", said, re.DOTALL)
    well_formed(measured, tables=7)
    heads = re.findall(r"^### .*$", measured, re.MULTILINE)
    assert heads == re.findall(r"^### .*$", page_block(made_up()), re.MULTILINE)
    for size in ("1,000", "10,000", "44,435"):
        assert len(re.findall(rf"^\|.* {size} \|", measured, re.MULTILINE)) >= 20, size
    assert "All figures come from one run" in measured
    assert "![" in measured and "(speed.png)" in measured
    assert not re.search(r"(?<![\w.])/(work|home|root|tmp|Users)/", said)
    assert _ROW.search(measured)
