"""Published tables are the rendering of their figures, and figures are those of the answers."""

import json
import shutil
from pathlib import Path

import pytest

from benchmarks import needs, quality
from benchmarks.command import replace_block
from benchmarks.gate import KNOWN_LOSSES
from benchmarks.planners.questions import shipped_questions
from benchmarks.reliability.__main__ import PAGE as RELIABILITY
from benchmarks.reliability.__main__ import RESULTS as ROWS_MEASURED
from benchmarks.reliability.__main__ import ROWS, table
from ontology.errors import DocumentError
from tests.conftest import ROOT


def test_pages_are_the_rendering_of_their_figures(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/results.md"):
        shutil.copy(ROOT / page, tmp_path / page)
    quality.render(quality.read_results(), tmp_path / "docs" / "results.md")
    needs.renew_needs(quality.read_results(needs.RESULTS), root=tmp_path)
    for page in ("README.md", "docs/results.md"):
        same = (ROOT / page).read_bytes() == (tmp_path / page).read_bytes()
        assert same, (
            f"{page} is not what the figures say: make bench-quality BENCH=--render, make bench-needs BENCH=--render"
        )


def test_the_note_on_reliability_has_the_figures_of_known_rows() -> None:
    measured = json.loads(ROWS_MEASURED.read_text(encoding="utf-8"))
    assert measured.keys() <= ROWS.keys()
    assert table(measured) in RELIABILITY.read_text(encoding="utf-8")


def test_default_is_below_the_flat_hybrid_only_where_that_is_known() -> None:
    lost = {
        ("rrf", one.set, f"CompleteRecall@{one.k}")
        for one in quality.read_results().results
        if (one.system, one.minus) == ("default", "rrf") and one.set and one.difference_high < 0
    }
    assert lost <= set(KNOWN_LOSSES)


@pytest.mark.parametrize(
    "content",
    [
        "none\n",
        "<!-- here -->\nold\n",
        "<!-- end -->\n<!-- here -->\n",
        "<!-- here -->\nold\n<!-- end -->\n<!-- here -->\nold\n<!-- end -->\n",
        "<!-- here -->\nold\n<!-- there -->\nother\n<!-- end -->\n",
    ],
    ids=["none", "no end", "end before it", "twice", "nested"],
)
def test_a_page_without_a_place_for_a_block_is_an_error_and_left_alone(content: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match="no place for the block 'here'"):
        replace_block(page, "here", "new")
    assert page.read_text(encoding="utf-8") == content


@pytest.mark.parametrize(("graph", "count"), [("ev", 25), ("tool_graph", 26), ("countries", 15)])
def test_the_shipped_questions_have_truths(graph: str, count: int) -> None:
    questions = shipped_questions(graph)
    assert len(questions) == count
    assert all(len(each.truth.parts) == len(each.truth.digests) for each in questions)
