"""Every row of docs/reliability.md that a page names has a figure there."""

from __future__ import annotations

import json
import re

import pytest

from scripts.reliability.__main__ import KINDS, PAGE, RESULTS, rows_of, table
from tests.conftest import ROOT

KNOWN = {row.key for kind in KINDS for row in rows_of(kind)}
MEASURED = json.loads(RESULTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", ["cluster", "scale", "operate", "reliability"])
def test_a_row_that_is_named_was_measured(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert {key for key in re.findall(r"`([a-z][a-z0-9-]+)`", text) if key in KNOWN} <= MEASURED.keys()


def test_each_figure_that_is_kept_stands_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert MEASURED.keys() <= KNOWN
    assert [key for key, row in MEASURED.items() if row["figure"] not in page] == []


def test_a_row_that_was_not_run_is_not_called_held_and_each_says_its_commit() -> None:
    row = {"kind": "load", "item": "a", "bar": "b", "figure": "c"}
    made = table({"x": {**row, "held": None}, "y": {**row, "held": True, "measured": "commit `a1`, 2026-01-02"}})
    assert "| c | not run |" in made and "| c | yes |" in made
    assert made.endswith("\nMeasured with commit `a1`, 2026-01-02: y.")
