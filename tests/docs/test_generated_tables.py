"""Tables of pages that programs write are what their kept figures give. (docs/results.md and README: test_results.py.)"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from research.readings.__main__ import PAGE as READINGS_PAGE
from research.readings.__main__ import by_catalogue, long_readings, read_rounds, tables, unanswerable_table
from scripts.document_blocks import replace_block
from scripts.kgot import kgot_page
from scripts.reliability.__main__ import KINDS, PAGE, RESULTS, rows_of
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("page", "figures", "blocks"),
    [
        (kgot_page.PAGE, kgot_page.FIGURES, kgot_page.page_blocks),
    ],
    ids=["kgot"],
)
def test_a_page_is_what_its_figures_give(
    page: Path, figures: Path, blocks: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    copy = tmp_path / page.name
    copy.write_bytes(page.read_bytes())
    for name, text in blocks(json.loads(figures.read_text(encoding="utf-8"))).items():
        replace_block(copy, name, text)
    assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_the_datagen_page_has_the_figures_of_its_readings() -> None:
    page = READINGS_PAGE.read_text(encoding="utf-8")
    for lines in (tables(read_rounds()), unanswerable_table(), by_catalogue({"long": long_readings()})):
        assert "\n".join(lines).strip() in page


def test_the_reliability_page_has_each_kept_figure_and_pages_name_measured_rows_only() -> None:
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))
    known = {row.key for kind in KINDS for row in rows_of(kind)}
    page = PAGE.read_text(encoding="utf-8")
    assert measured.keys() <= known
    assert [key for key, row in measured.items() if row["figure"] not in page] == []
    for name in ("cluster", "scale", "operate", "reliability"):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert {key for key in re.findall(r"`([a-z][a-z0-9-]+)`", text) if key in known} <= measured.keys()
