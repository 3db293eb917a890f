"""Published tables are the rendering of their figures, and figures are those of the answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from benchmarks import needs, quality
from benchmarks.command import Provenance, replace_block
from benchmarks.gate import KNOWN_LOSSES
from benchmarks.planners.questions import Answer, Truth, score_answer, shipped_questions
from benchmarks.readings import Reading, is_wrong, kappa, report
from benchmarks.reliability.__main__ import PAGE as RELIABILITY
from benchmarks.reliability.__main__ import RESULTS as ROWS_MEASURED
from benchmarks.reliability.__main__ import ROWS, table
from benchmarks.sets import MACRO_SETS
from eval.measured_set import MeasuredSet
from eval.metrics import completed_ranks
from ontology.errors import DocumentError
from tests.conftest import ROOT
from tests.eval.planted import GRAPH, query_set, run_of

NOW = Provenance(commit="b2", date="2026-01-02", encoder="hashing.v1")


def _measured(name: str, systems: Sequence[str], right: Collection[str]) -> MeasuredSet:
    """Two requests; every system completes the first, and those that are ``right`` the second too."""
    queries = query_set({"q1": ["a"], "q2": ["b"]}, name=name)
    runs = tuple(
        run_of(queries, {"q1": ["a"], "q2": ["a", "b"] if system in right else ["c"]}, system=system)
        for system in systems
    )
    return MeasuredSet(queries=queries, runs=runs, tools=40, snapshot_id="s1", graph=GRAPH)


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


def test_figures_of_a_run_with_its_mean_and_ranks(tmp_path: Path) -> None:
    measured = [_measured(name, quality.SYSTEMS, ("default",)) for name in MACRO_SETS]
    results = quality.collect(measured, NOW)
    quality.write_results(results, tmp_path / "results.json")
    assert quality.read_results(tmp_path / "results.json") == results
    page = tmp_path / "page.md"
    page.write_text("<!-- mean-of-nine -->\n<!-- end -->\n<!-- set-by-set -->\n<!-- end -->\n", encoding="utf-8")
    quality.render(results, page)
    text = page.read_text(encoding="utf-8")
    assert "| 100.0/100.0/100.0 | **+50.0**/**+50.0**/**+50.0** |" in text and "commit `b2`" in text
    assert "| bfcl | 40 | 2 | 50.0/50.0 | 50.0/50.0 | 50.0/50.0 | 50.0/50.0 | 50.0/50.0 | 100.0/100.0 | +50.0 |" in text
    ranks = completed_ranks(measured[0])
    assert (ranks["default"], ranks["rrf"]) == ({"q1": 1, "q2": 2}, {"q1": 1, "q2": 0})


def test_needs_and_whole_requests_stand_side_by_side(tmp_path: Path) -> None:
    systems = ("bm25", "rrf", "paper", "default-no-graph", "default")
    asked = [*(f"{system}{way}" for system in systems for way in ("", "@needs")), "default@needs-alone"]
    names = ("enterprise-test", "real", "apibank", "bfcl")
    measured = [_measured(name, asked, ("default@needs",)) for name in names]
    cost = {"real": quality.TokenCost(needs=12.4, schemas=2_000, all_schemas=80_000)}
    results = needs.collect(measured, cost, NOW)
    quality.write_results(results, tmp_path / "needs.json")
    assert quality.read_results(tmp_path / "needs.json") == results
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("<!-- needs -->\n<!-- end -->\n", encoding="utf-8")
    (tmp_path / "docs" / "results.md").write_text(
        "<!-- needs-differences -->\n<!-- end -->\n<!-- needs-by-set -->\n<!-- end -->\n", encoding="utf-8"
    )
    needs.renew_needs(results, root=tmp_path)
    first, by_set = ((tmp_path / page).read_text(encoding="utf-8") for page in ("README.md", "docs/results.md"))
    half, whole = "50.0 / 50.0", "100.0 / 100.0"
    assert f"| **`default`** | {half} | {whole} | {half} | {whole} | {half} | {whole} |" in first
    assert "real documents: 12 of needs" in by_set and "not 80,000 of all 40" in by_set
    assert "| *mean of the 2 open sets* | 4 | 50.0/50.0 | 50.0/50.0 | 50.0/50.0 | 50.0/50.0 | 100.0/100.0 |" in by_set


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


def _reading(*slots: Sequence[str], unserved: bool = False) -> Reading:
    return Reading(slots=tuple(map(tuple, slots)), unserved=unserved, typeable=True)


@pytest.mark.parametrize(
    ("gold", "reading", "wrong"),
    [
        ([("a",)], _reading(["a", "b"]), False),
        ([("a", "b")], _reading(["a"]), True),  # an alternative would not do
        ([("a",), ("b",)], _reading(["b"], ["a"]), False),
        ([("a",), ("b",)], _reading(["a", "b"], ["c"]), True),
        ([("a",)], _reading(["a"], unserved=True), True),
        ([], _reading(), False),
    ],
)
def test_when_a_label_is_wrong(gold: list[tuple[str, ...]], reading: Reading, wrong: bool) -> None:
    assert is_wrong(gold, reading) == wrong


def test_readers_are_compared() -> None:
    assert kappa([True, False, True, False], [True, False, False, False]) == pytest.approx(0.5)
    assert kappa([True, True], [True, True]) is None
    gold = {"r1": (("a",),), "r2": (("b",),)}
    readers = {"one": {"r1": _reading(["a"]), "r2": _reading(["c"])}, "two": dict.fromkeys(gold, _reading(["a"]))}
    lines = "\n".join(report({"r1": "do a", "r2": "do b"}, gold, readers))
    assert "| one | 1/2 = 50.0 %" in lines and "kappa of labels 1.00" in lines
    assert "r2 'do b'; gold b\n  two: needs a" in lines


NUMBER = Truth(kind="number", parts=((3.0,),), digests=("",))
NAMES = Truth(kind="names", parts=(("Ann", "Bob"),), digests=("",))
RANKING = Truth(kind="ranking", parts=(("Ann", "Bob"),), digests=("",))
PAIRS = Truth(kind="pairs", parts=(("Ann", 2.0, "Bob", 1.0),), digests=("",))
NOBODY = Truth(kind="names", parts=((),), digests=("",))


@pytest.mark.parametrize(
    ("truth", "answer", "paper", "whole"),
    [
        (NUMBER, Answer(text="There are 3."), True, True),
        (NUMBER, Answer(text="There are 4."), False, False),
        (NUMBER, Answer(tables=[{"n": [3, 4]}]), True, False),
        (NAMES, Answer(text="Only Bob"), True, False),
        (NAMES, Answer(tables=[{"name": ["Bob", "Ann"]}]), True, True),
        (NAMES, Answer(tables=[{"name": ["Bob", "Ann", "Cid"]}]), True, False),
        (RANKING, Answer(text="first Ann, then Bob"), True, True),
        (RANKING, Answer(text="first Bob, then Ann"), True, False),
        (PAIRS, Answer(tables=[{"name": ["Bob", "Ann"], "n": [1, 2]}]), True, True),
        (NOBODY, Answer(tables=[{"name": []}]), True, True),
        (NOBODY, Answer(), False, False),
    ],
)
def test_answers_are_scored_by_both_rules(truth: Truth, answer: Answer, paper: bool, whole: bool) -> None:
    score = score_answer(truth, answer)
    assert (score.paper, score.whole) == (paper, whole)


@pytest.mark.parametrize(("graph", "count"), [("ev", 25), ("tool_graph", 26), ("countries", 15)])
def test_the_shipped_questions_have_truths(graph: str, count: int) -> None:
    questions = shipped_questions(graph)
    assert len(questions) == count
    assert all(len(each.truth.parts) == len(each.truth.digests) for each in questions)
