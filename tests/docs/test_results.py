"""Every published figure comes from ``docs/results.json``: the documents are its rendering and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from eval.measured_set import MeasuredSet
from scripts.bench_sets import MACRO_SETS
from scripts.published_results import Results, collect, read_results, replace_block, with_peers, write_results
from scripts.results_page import graph_blocks, readme_block, renew_documents
from tests.conftest import ROOT
from tests.eval.planted import GRAPH, query_set, run_of

_PAGES = ("README.md", "docs/results.md", "docs/does-the-graph-help.md")


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


def test_the_readme_names_the_number_of_requests_of_the_nine_sets(published: Results) -> None:
    requests = sum(known.queries for known in published.nine.sets.values())
    assert set(published.nine.sets) == set(MACRO_SETS)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"{requests:,} development requests" in readme


def test_default_is_below_the_flat_hybrid_on_no_set(published: Results) -> None:
    lost = [
        (figure.group, figure.measure)
        for figure in published.everything.figures
        if (figure.scope, figure.system) == ("set", "default") and (figure.difference_high or 0.0) < 0
    ]
    assert published.everything.baseline == "rrf"
    assert lost == []


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    measured = [_measured(name) for name in (*MACRO_SETS, "enterprise", "taskbench-given")]
    results = with_peers(collect(measured), measured)
    write_results(results, docs=tmp_path)
    again = read_results(tmp_path)
    assert again.nine.sets == results.nine.sets
    figure = next(one for one in again.nine.figures if (one.scope, one.system) == ("macro", "default"))
    assert figure in results.nine.figures
    write_results(collect(measured), docs=tmp_path)
    assert read_results(tmp_path).peers == again.peers  # peers stay when the rest is measured again


def _measured(name: str) -> MeasuredSet:
    queries = query_set({"q1": ["a"], "q2": ["b"]}, name=name, classes=("one", "two"))
    systems = ("bm25-regex-title", "semantic", "hybrid", "paper", "rrf", "fusion", "default", "default-no-graph")
    runs = tuple(
        run_of(queries, {"q1": ["a"], "q2": ["a", "b"] if system == "default" else ["c"]}, system=system)
        for system in systems
    )
    return MeasuredSet(queries=queries, runs=runs, tools=40, snapshot_id="s1", graph=GRAPH)


def test_the_readme_block_and_the_graph_page_say_what_was_measured() -> None:
    measured = [_measured(name) for name in (*MACRO_SETS, "enterprise")]
    results = collect(measured)
    assert "| **egotools (`default`)** | 100.0 | 100.0 | 100.0 |" in readme_block(results)
    assert "| the paper's hybrid, reranked | 50.0 | 50.0 | 50.0 |" in readme_block(results)
    rows = graph_blocks(results)["graph-against-none"].splitlines()
    assert rows[2] == "| apibank | 2 | +50.0 [0.0, +100.0] | +50.0 [0.0, +100.0] | +50.0 [0.0, +100.0] |"
    assert rows[-1].startswith("| mean of these rows | 20 | **+50.0** [")


def test_a_block_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- here -->\nold\n<!-- end -->\n", encoding="utf-8")
    replace_block(page, "here", "new")
    assert page.read_text(encoding="utf-8") == "<!-- here -->\nnew\n<!-- end -->\n"
    with pytest.raises(ValueError, match="there"):
        replace_block(page, "there", "new")


def test_no_figure_is_cut_off_from_its_identity() -> None:
    said = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))
    for name in ("everything", "nine", "paper_against_hybrid"):
        assert all(re.fullmatch(r"[0-9a-f]{16}", known["snapshot_id"]) for known in said[name]["sets"].values())
    facts = {(fact["set_name"], fact["system"]): fact for fact in said["everything"]["facts"]}
    shown = {(figure[1], figure[2]) for figure in said["everything"]["figures"] if figure[0] == "set"}
    assert said["everything"]["figure_columns"][:3] == ["scope", "group", "system"]
    assert shown == set(facts)
    assert all(re.fullmatch(r"[0-9a-f]{12}", fact["config_hash"]) for fact in facts.values())
