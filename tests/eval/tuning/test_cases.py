"""Cases: other weights are tried on what the retriever found once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eval.queries import LabelledQuery
from eval.tuning.cases import collect
from inference import HashingEncoder
from ontology import load_ontology
from ontology.progress import no_progress
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import MAX_K, Request
from retrieval.ranking.ranking import Ranking
from retrieval.ranking.weights import BASELINE, SHIPPED
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.eval.tuning.planted import without_clauses
from tests.retrieval.conftest import REQUESTS, TOOLS, content_of, published


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    store = tmp_path_factory.mktemp("store")
    published(store, content_of(TOOLS, load_ontology()))
    return open_snapshot(store)


def test_ranked_is_best_first_ties_by_number_and_completed_with_the_margin() -> None:
    tools = np.array([2, 4, 6, 9])
    case = without_clauses(tools, {"bm25_text": np.array([1.0, 3.0, 1.0, 2.0], dtype=np.float32)})
    assert case.ranked(BASELINE).tolist() == [4, 9, 2, 6]
    margins = []

    def complete(ranking: Ranking, *, margin: float) -> Ranking:
        margins.append(margin)
        scores = np.append(ranking.scores, np.float32(2.5))
        return Ranking(tools=np.append(ranking.tools, 11), scores=scores, features={})

    completed = replace(case, complete=complete)
    assert completed.ranked(BASELINE.replace(resolver_margin=0.25)).tolist() == [4, 11, 9, 2, 6]
    assert margins == [0.25]


def test_a_case_is_complete_where_the_retriever_completes_the_request(snapshot: Snapshot) -> None:
    everything = tuple(snapshot.tool_id(number) for number in range(snapshot.tool_count))
    queries = [
        LabelledQuery(id=str(row), text=text, slots=((tool,),))
        for row, text in enumerate(REQUESTS)
        for tool in everything
    ]
    queries.append(LabelledQuery(id="any", text=REQUESTS[0], slots=((everything[3], everything[0], "gone"),)))
    for weights in (SHIPPED, BASELINE, SHIPPED.replace(resolver_margin=2.0, graph_support=0.0)):
        cases = collect(GraphRetriever(snapshot, HashingEncoder()), snapshot, queries, no_progress)
        retriever = GraphRetriever(snapshot, HashingEncoder(), weights=weights)
        ranks = []
        for query in queries:
            answer = [tool.id for tool in retriever.retrieve(Request(query=query.text, k=MAX_K)).tools]
            ranks.append(min(answer.index(tool) for tool in query.tools if tool in answer) + 1)
        assert cases.completed_at(weights).tolist() == ranks
