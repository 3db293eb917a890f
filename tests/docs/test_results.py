"""Every published figure comes from ``docs/results.json``: the documents are its rendering and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from eval.measured_set import MeasuredSet
from ontology.errors import DocumentError, InvalidArgumentError
from scripts.bench_needs import TokenCost, read_needs_results, renew_needs, write_needs_results
from scripts.bench_needs import collect as collect_needs
from scripts.bench_sets import MACRO_SETS
from scripts.document_blocks import replace_block
from scripts.graph_gain import SetGroups, leave_one_out, mean_over_sets, set_differences, share_of, sign_flip_p
from scripts.provenance import Provenance
from scripts.published_results import (
    Results,
    collect,
    read_results,
    with_halves,
    with_peers,
    with_sets,
    with_system,
    write_results,
)
from scripts.quality_gate import KNOWN_LOSSES
from scripts.result_blocks import graph_blocks, provenance_lines
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
    pages = ("README.md", "docs/serving.md")
    (tmp_path / "docs").mkdir()
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
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("<!-- needs -->\n<!-- end -->\n", encoding="utf-8")
    (tmp_path / "docs" / "serving.md").write_text("<!-- needs-by-set -->\n<!-- end -->\n", encoding="utf-8")
    renew_needs(results, root=tmp_path)
    first = (tmp_path / "README.md").read_text(encoding="utf-8")
    half, whole = "50.0 / 50.0", "100.0 / 100.0"
    assert f"| **`default`** | {half} | {whole} | {half} | {whole} | {half} | {whole} |" in first
    assert "+50.0 [0.0, +100.0] / +50.0 [0.0, +100.0]" in first
    assert "real documents: 12 of needs" in first and "not 80,000 of all 40" in first and "commit `b2`" in first
    by_set = (tmp_path / "docs" / "serving.md").read_text(encoding="utf-8")
    assert f"| *mean of the 2 open sets* | 4 | {half} | {half} | {half} | {half} | {whole} |" in by_set


def test_default_is_below_the_flat_hybrid_only_where_that_is_known(published: Results) -> None:
    lost = {
        ("rrf", figure.group, figure.measure)
        for figure in published.everything.figures
        if (figure.scope, figure.system) == ("set", "default") and (figure.difference_high or 0.0) < 0
    }
    assert published.everything.baseline == "rrf"
    assert lost <= set(KNOWN_LOSSES)


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    measured = [_measured(name) for name in (*MACRO_SETS, "enterprise", "taskbench-given")]
    collected = collect(measured)
    results = with_peers(collected, measured)
    write_results(results, docs=tmp_path)
    again = read_results(tmp_path)
    assert again.nine.sets == results.nine.sets
    figure = next(one for one in again.nine.figures if (one.scope, one.system) == ("macro", "default"))
    assert figure in results.nine.figures
    assert again == results
    write_results(collected, docs=tmp_path)
    assert read_results(tmp_path).peers == again.peers  # peers stay when the rest is measured again


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


@cache
def _collected() -> Results:
    """The results of the sets of the mean and of the shipped one, for the tests that begin with them."""
    return collect([_measured(name) for name in (*MACRO_SETS, "enterprise")])


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


def test_figures_say_with_which_commit_and_encoder_they_were_measured(tmp_path: Path) -> None:
    measured = [_measured(name) for name in (*MACRO_SETS, "enterprise", "taskbench-given")]
    now = Provenance(commit="b2", date="2026-01-02", encoder="hashing.v1")
    results = replace(with_peers(collect(measured), measured), measured={"everything": now, "peers": now})
    assert next(provenance_lines(results)) == "Measured with commit `b2`, 2026-01-02, encoder `hashing.v1`."
    write_results(replace(results, measured={**results.measured, "peers": replace(now, commit="a1")}), docs=tmp_path)
    assert "peers: commit `a1`" in next(provenance_lines(read_results(tmp_path)))
    write_results(replace(results, peers={}, measured={"everything": now}), docs=tmp_path)
    assert "peers: commit `a1`" in next(provenance_lines(read_results(tmp_path)))  # not measured again


def test_the_halves_of_the_shipped_requests_are_measured_apart() -> None:
    results = _collected()
    values = {
        (one.group, one.system): one.value for one in results.halves.figures if one.measure == "CompleteRecall@10"
    }
    assert values["enterprise-dev", "rrf"] == values["enterprise-test", "default"] == 1
    assert values["enterprise-test", "rrf"] == 0
    again = with_halves(results, _measured("enterprise", right=()))
    assert again.nine == results.nine
    assert {one.value for one in again.halves.figures if one.group == "enterprise-test"} == {0}
    pair = set_differences(results.pairs["graph_against_none"], "CompleteRecall@10")
    assert (pair["enterprise-test"].difference, pair["enterprise-dev"].difference) == (1, 0)
    assert set_differences(again.pairs["graph_against_none"], "CompleteRecall@10")["enterprise-test"].difference == 0


def test_a_set_outside_the_mean_is_added_without_a_change_of_the_others() -> None:
    results = _collected()
    again = with_sets(results, [_measured("workbench")])
    assert list(again.everything.sets) == [*MACRO_SETS, "workbench", "enterprise"]
    assert (again.nine, again.ablations, again.halves) == (results.nine, results.ablations, results.halves)
    assert set(results.everything.figures) < set(again.everything.figures)
    assert "workbench" in set_differences(again.pairs["graph_against_none"], "CompleteRecall@10")
    assert with_sets(again, [_measured("workbench")]) == again
    with pytest.raises(InvalidArgumentError, match="bfcl"):
        with_sets(results, [_measured("bfcl")])


def test_one_ablation_measured_again_replaces_its_figures_alone() -> None:
    ablation = "default-no-support"
    results = collect([_measured(name, systems=(*SYSTEMS, ablation)) for name in (*MACRO_SETS, "enterprise")])
    part = ("rrf", "default", ablation)
    fresh = [_measured(name, systems=part, right=("default", ablation)) for name in MACRO_SETS]
    again = with_system(results, fresh, ablation)
    for before, after in ((results.nine, again.nine), (results.ablations, again.ablations)):
        changed = {one.system for one, other in zip(before.figures, after.figures, strict=True) if one != other}
        assert changed == {ablation}
    assert {one.difference for one in again.ablations.figures if one.system == ablation} == {0}
    other = [_measured(name, systems=part, right=(ablation,)) for name in MACRO_SETS]
    with pytest.raises(InvalidArgumentError, match=r"default was published with 1\.0"):
        with_system(results, other, ablation)


def test_the_sign_flip_test_by_hand() -> None:
    assert sign_flip_p([1.0, 1.0, 1.0]) == 2 / 8
    assert sign_flip_p([1.0, 2.0, -3.0]) == 1
    assert sign_flip_p([3.0, 1.0]) == 0.5
    assert sign_flip_p([3.0, -1.0]) == 1  # both of 3 - 1 and 3 + 1 are as far from 0


def test_the_gain_of_the_graph_is_counted_apart_for_sets_that_a_rule_was_written_on(published: Results) -> None:
    groups = SetGroups.of(("apibank", "bfcl", "toollinkos", "toollinkos-given", "enterprise", "enterprise-generated"))
    assert groups.no_rule == ("bfcl",)
    assert groups.rules == ("apibank", "toollinkos", "enterprise")
    assert groups.in_no_mean == ("toollinkos-given", "enterprise-generated")
    assert groups.published == ("bfcl", "apibank")
    assert groups.published_without_rule == ("bfcl",)
    halved = SetGroups.of(("bfcl", "enterprise", "enterprise-dev", "enterprise-test"))
    assert (halved.no_rule, halved.rules) == (("bfcl",), ("enterprise-test",))
    assert halved.in_no_mean == ("enterprise-dev",)
    differences = set_differences(published.pairs["graph_against_none"], "CompleteRecall@10")
    assert mean_over_sets(differences, MACRO_SETS).value == pytest.approx(
        sum(differences[name].difference or 0 for name in MACRO_SETS) / 9
    )
    lowest, highest = leave_one_out(differences, MACRO_SETS)
    best = max(MACRO_SETS, key=lambda name: differences[name].difference or 0)
    assert lowest == pytest.approx(mean_over_sets(differences, [one for one in MACRO_SETS if one != best]).value)
    assert lowest < mean_over_sets(differences, MACRO_SETS).value < highest
    two = ("apibank", "restbench")
    others = [name for name in MACRO_SETS if name not in two]
    assert share_of(differences, two, MACRO_SETS) + share_of(differences, others, MACRO_SETS) == pytest.approx(1)


def test_only_a_block_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- here -->\nold\n<!-- end -->\nafter <!-- end -->\n", encoding="utf-8")
    replace_block(page, "here", "new")
    replace_block(page, "here", "newer")
    assert page.read_text(encoding="utf-8") == "before\n<!-- here -->\nnewer\n<!-- end -->\nafter <!-- end -->\n"


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


def test_no_figure_is_cut_off_from_its_identity() -> None:
    said = json.loads((ROOT / "docs" / "results.json").read_text(encoding="utf-8"))
    for name in ("everything", "nine", "paper_against_hybrid"):
        assert all(re.fullmatch(r"[0-9a-f]{16}", known["snapshot_id"]) for known in said[name]["sets"].values())
    facts = {(fact["set_name"], fact["system"]): fact for fact in said["everything"]["facts"]}
    shown = {(figure[1], figure[2]) for figure in said["everything"]["figures"] if figure[0] == "set"}
    assert said["everything"]["figure_columns"][:3] == ["scope", "group", "system"]
    assert shown == set(facts)
    assert all(re.fullmatch(r"[0-9a-f]{12}", fact["config_hash"]) for fact in facts.values())
