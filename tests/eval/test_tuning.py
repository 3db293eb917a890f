"""Tuning: requests are divided so that no gold set is on both sides, a planted truth is found, and chance is not published."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.queries import LabelledQuery
from eval.tuning import Case, collect, read_parts, tune
from inference import HashingEncoder
from ontology import load_ontology
from ontology.errors import DocumentError, EgotoolsError, InvalidArgumentError
from ontology.reporting import no_progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.fusion import FeatureMatrix
from retrieval.ranking.weights import BASELINE, SHIPPED, RankingWeights
from retrieval.snapshot.reader import open_snapshot
from tests.eval.planted import written
from tests.retrieval.conftest import REQUESTS, TOOLS, content_of, published

COUNT = 40


def planted(truth: str, *, seed: int = 7) -> list[Case]:
    """Sixty requests for two of forty tools; the feature ``truth`` is higher for those, if there is one, and the others say anything."""
    random = np.random.default_rng(seed)
    cases = []
    for _ in range(60):
        tools = sorted(random.choice(COUNT, size=2, replace=False).tolist())
        features = {name: random.normal(size=COUNT).astype(np.float32) for name in SHIPPED.features}
        if truth:
            features[truth][tools] += np.float32(3)
        clauses = np.empty((0, COUNT), dtype=np.float32)
        matrix = FeatureMatrix(tools=np.arange(COUNT), standardised=features, clauses_CT=clauses)
        cases.append(Case(matrix=matrix, gold=[[tool] for tool in tools], gold_set=tuple(map(str, tools))))
    return cases


@pytest.mark.parametrize("truth", ["bm25_params", "graph_support"])
def test_a_planted_truth_is_found_and_helps_on_requests_held_out(truth: str) -> None:
    cases = planted(truth)
    found = tune(cases[:30], cases[30:], k=10)
    assert found.reason == "" and found.p_value < 0.05
    assert found.recall_after > found.recall_before + 0.2
    proportions = {name: found.found[name] / SHIPPED[name] for name in SHIPPED.features}
    assert max(proportions, key=lambda name: proportions[name]) == truth
    again = tune(cases[:30], cases[30:], before=RankingWeights(**found.found), k=10)
    assert again.reason == "the weights that the snapshot has are the best that were found"


@pytest.mark.parametrize("seed", range(2))
def test_labels_of_noise_are_not_published(seed: int) -> None:
    cases = planted("", seed=seed)
    assert tune(cases[:30], cases[30:], k=10).reason


def test_requests_with_one_gold_set_are_one_witness() -> None:
    cases = planted("graph_support")
    alike = [Case(matrix=case.matrix, gold=case.gold, gold_set=("one",)) for case in cases[30:]]
    found = tune(cases[:30], alike, k=10)
    assert (found.gained, found.lost) == (1, 0) and "which may be chance" in found.reason


def test_a_case_is_complete_where_the_retriever_completes_the_request(tmp_path: Path) -> None:
    published(tmp_path, content_of(TOOLS, load_ontology()))
    snapshot = open_snapshot(tmp_path)
    tools = [snapshot.tool_id(number) for number in range(snapshot.tool_count)]
    queries = [
        LabelledQuery(id=text, text=text, slots=((tools[0],), (tools[3], tools[1], "gone"))) for text in REQUESTS
    ]
    cases = collect(GraphRetriever(snapshot, HashingEncoder()), snapshot, queries, no_progress)
    for weights in (SHIPPED, BASELINE, SHIPPED.replace(resolver_margin=2.0, graph_support=0.0)):
        retriever = GraphRetriever(snapshot, HashingEncoder(), weights=weights)
        for query, case in zip(queries, cases, strict=True):
            answer = [tool.id for tool in retriever.retrieve(Request(query=query.text, k=MAX_K)).tools]
            ranks = {tool: rank for rank, tool in enumerate(answer, start=1)}
            last = max(min(ranks.get(tool, MAX_K + 1) for tool in slot) for slot in query.slots)
            assert min(case.completed_at(weights), MAX_K + 1) == last


def rows(count: int, **others: Any) -> list[dict[str, Any]]:
    return [{"id": f"r{at}", "query": f"request {at}", "tools": [f"t{at // 2}"], **others} for at in range(count)]


def test_no_gold_set_is_on_both_sides_and_the_seed_decides(tmp_path: Path) -> None:
    folder = written(tmp_path / "queries.jsonl", *rows(40)).parent
    searched, held_out = read_parts(folder)
    assert read_parts(folder / "queries.jsonl") == (searched, held_out) != read_parts(folder, seed=1)
    assert len(searched) == len(held_out) == 20
    assert not {query.tools for query in searched} & {query.tools for query in held_out}


def test_test_requests_are_held_out_but_those_that_need_tools_searched_on(tmp_path: Path) -> None:
    test = [row | {"id": f"x{at}", "split": "test"} for at, row in enumerate(rows(42))]
    made = written(tmp_path / "queries.jsonl", *rows(20), *test)
    searched, held_out = read_parts(made)
    assert len(searched) == 20 and [query.id for query in held_out] == [f"x{at}" for at in range(20, 42)]


@pytest.mark.parametrize(
    ("made", "error", "told"),
    [
        (rows(38), InvalidArgumentError, "have 9 different gold sets"),
        (rows(40, split="test"), InvalidArgumentError, "search on have 0"),
        (rows(40, split="dvelop"), DocumentError, "'r0' has the split 'dvelop'"),
        (rows(40, generator="rules.v2"), InvalidArgumentError, "40 of 40 requests were generated"),
        (rows(40, tools=[]), DocumentError, "'tools': it is empty"),
        ([], DocumentError, "there is no request"),
    ],
)
def test_what_nothing_can_be_tuned_on_is_refused_in_words(
    tmp_path: Path, made: list[dict[str, Any]], error: type[EgotoolsError], told: str
) -> None:
    with pytest.raises(error, match=told) as refused:
        read_parts(written(tmp_path / "queries.jsonl", *made).parent)
    assert refused.value.remedy and str(tmp_path) in refused.value.subject
