"""Every published figure comes from ``docs/results.json``: the documents are its rendering and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from eval.measured_set import MeasuredSet
from ontology.errors import DocumentError
from scripts.bench_needs import TokenCost, read_needs_results, renew_needs, write_needs_results
from scripts.bench_needs import collect as collect_needs
from scripts.bench_sets import MACRO_SETS
from scripts.document_blocks import replace_block
from scripts.graph_gain import sign_flip_p
from scripts.provenance import Provenance
from scripts.published_results import (
    Results,
    collect,
    read_results,
)
from scripts.quality_gate import KNOWN_LOSSES
from scripts.result_blocks import graph_blocks
from scripts.results_page import renew_documents
from tests.conftest import ROOT
from tests.eval.planted import GRAPH, query_set, run_of

SYSTEMS = (
    "bm25-regex-title",
    "semantic",
    "hybrid",
    "paper",
    "bm25",
    "rrf",
    "fusion",
    "default",
    "default-no-graph",
)
_PAGES = ("docs/results.md", "docs/does-the-graph-help.md")


@pytest.fixture(scope="module")
def published() -> Results:
    return read_results()


def _copy(folder: Path) -> Path:
    (folder / "docs").mkdir()
    for page in (*_PAGES, "docs/results.json"):
        shutil.copy(ROOT / page, folder / page)
    return folder


def test_the_documents_are_the_rendering_of_the_results(published: Results, tmp_path: Path) -> None:
    renew_documents(published, root=_copy(tmp_path))
    for page in _PAGES:
        said, rendered = ((root / page).read_text(encoding="utf-8") for root in (ROOT, tmp_path))
        assert said == rendered, f"{page} is not what docs/results.json says: python -m scripts.results_page"


def test_the_tables_of_needs_are_the_rendering_of_their_results(tmp_path: Path) -> None:
    pages = ("README.md", "benchmarks/notes/needs.md")
    (tmp_path / "benchmarks" / "notes").mkdir(parents=True)
    for page in pages:
        shutil.copy(ROOT / page, tmp_path / page)
    renew_needs(read_needs_results(), root=tmp_path)
    for page in pages:
        said, rendered = ((root / page).read_text(encoding="utf-8") for root in (ROOT, tmp_path))
        assert said == rendered, f"{page} is not what docs/needs.json says: python -m scripts.bench_needs --render"


def test_needs_and_whole_requests_stand_side_by_side(tmp_path: Path) -> None:
    systems = ("bm25", "rrf", "paper", "default-no-graph", "default")
    asked = [f"{system}{way}" for system in systems for way in ("", "@needs")]
    measured = [
        _measured(name, systems=(*asked, "default@needs-alone"), right=("default@needs",))
        for name in ("enterprise-test", "real", "apibank", "bfcl")
    ]
    cost = {"real": TokenCost(needs=12.4, schemas=2_000, all_schemas=80_000)}
    results = collect_needs(measured, cost, Provenance(commit="b2", date="2026-01-02", encoder="hashing.v1"))
    write_needs_results(results, docs=tmp_path)
    assert read_needs_results(tmp_path) == results
    notes = tmp_path / "benchmarks" / "notes"
    notes.mkdir(parents=True)
    (tmp_path / "README.md").write_text("<!-- needs -->\n<!-- end -->\n", encoding="utf-8")
    (notes / "needs.md").write_text("<!-- needs-by-set -->\n<!-- end -->\n", encoding="utf-8")
    renew_needs(results, root=tmp_path)
    first = (tmp_path / "README.md").read_text(encoding="utf-8")
    half, whole = "50.0 / 50.0", "100.0 / 100.0"
    assert f"| **`default`** | {half} | {whole} | {half} | {whole} | {half} | {whole} |" in first
    assert "+50.0 [0.0, +100.0] / +50.0 [0.0, +100.0]" in first
    assert "real documents: 12 of needs" in first and "not 80,000 of all 40" in first and "commit `b2`" in first
    by_set = (notes / "needs.md").read_text(encoding="utf-8")
    assert f"| *mean of the 2 open sets* | 4 | {half} | {half} | {half} | {half} | {whole} |" in by_set


def test_default_is_below_the_flat_hybrid_only_where_that_is_known(published: Results) -> None:
    lost = {
        ("rrf", figure.group, figure.measure)
        for figure in published.everything.figures
        if (figure.scope, figure.system) == ("set", "default") and (figure.difference_high or 0.0) < 0
    }
    assert published.everything.baseline == "rrf"
    assert lost <= set(KNOWN_LOSSES)


def _measured(name: str, *, systems: Sequence[str] = SYSTEMS, right: Collection[str] = ("default",)) -> MeasuredSet:
    """Two requests; every system completes the first, and those that are ``right`` the second too."""
    queries = query_set({"q1": ["a"], "q2": ["b"]}, name=name, classes=("one", "two"))
    halved = tuple(replace(query, split=split) for query, split in zip(queries.queries, ("dev", "test"), strict=True))
    queries = replace(queries, queries=halved)
    runs = tuple(
        run_of(queries, {"q1": ["a"], "q2": ["a", "b"] if system in right else ["c"]}, system=system)
        for system in systems
    )
    return MeasuredSet(queries=queries, runs=runs, tools=40, snapshot_id="s1", graph=GRAPH)


def test_the_graph_page_shows_what_was_measured() -> None:
    measured = [_measured(name) for name in (*MACRO_SETS, "enterprise", "toollinkos-given")]
    results = collect(measured)
    rows = graph_blocks(results)["graph-against-none"].splitlines()
    difference = "+50.0 [0.0, +100.0] | +50.0 [0.0, +100.0] | +50.0 [0.0, +100.0] |"
    assert rows[2] == f"| bfcl |  | 2 | {difference}"
    mean = "+50.0, p 0.004 | +50.0, p 0.004 | +50.0, p 0.004 |"
    assert f"| *mean of the 9 published sets* |  | 18 | {mean}" in rows
    assert f"| toollinkos-given | in no mean | 2 | {difference}" in rows
    assert "| enterprise-test | a rule was found on it | 1 | **+100.0** [+100.0, +100.0] |" in "\n".join(rows)
    assert "| *mean of the other 6* |  | 12 |" in "\n".join(rows)


def test_the_sign_flip_test_by_hand() -> None:
    assert sign_flip_p([1.0, 1.0, 1.0]) == 2 / 8
    assert sign_flip_p([1.0, 2.0, -3.0]) == 1
    assert sign_flip_p([3.0, 1.0]) == 0.5
    assert sign_flip_p([3.0, -1.0]) == 1  # both of 3 - 1 and 3 + 1 are as far from 0


@pytest.mark.parametrize(
    "content",
    [
        "none\n",
        "<!-- here -->\nold\n",
        "<!-- end -->\n<!-- here -->\n",
        "<!-- here -->\nold\n<!-- here -->\nold\n<!-- end -->\n",
        "<!-- here -->\nold\n<!-- end -->\n<!-- here -->\nold\n<!-- end -->\n",
        "<!-- here -->\nold\n<!-- there -->\nother\n<!-- end -->\n",
    ],
    ids=["none", "no end", "end before it", "doubled", "twice", "nested"],
)
def test_a_page_without_a_place_for_a_block_is_an_error_and_left_alone(content: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match="no place for the block 'here'"):
        replace_block(page, "here", "new")
    assert page.read_text(encoding="utf-8") == content
