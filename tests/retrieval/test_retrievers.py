"""Every preset through one suite, and algorithm 2 against networkx and brute force."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import Floats1d, HashingEncoder
from ontology.errors import InvalidArgumentError, ModelError
from ontology.tool import CONTEXT_PARAMETERS
from retrieval.engine import Engine, open_engine
from retrieval.index.bm25 import name_key, ngrams
from retrieval.presets import make_presets
from retrieval.query.request import MAX_K, Request
from retrieval.snapshot.graph_views import snapshot_graph
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.harness.graphs import as_networkx
from tests.retrieval.conftest import EngineOf

PRESETS = ("default", "fast", "paper", "semantic", "hybrid", "rrf", "fusion", "bm25")
QUERY = "find the supplier and create a purchase order for an amount of 500"


def test_the_suite_covers_every_preset(engine: Engine) -> None:
    assert set(engine.catalog().presets) == set(PRESETS)


def _algorithm_2(snapshot: Snapshot, query: str) -> set[str]:
    """The paper's algorithm 2, lines 3 to 11, over networkx and brute force: the candidate tools."""
    graph = snapshot_graph(snapshot)
    keys = list(graph)
    encoder = HashingEncoder()
    vectors = encoder.encode([graph.nodes[key]["text"] for key in keys]).astype(np.float16).astype(np.float32)
    similar = vectors @ encoder.encode([query])[0]
    entries = {keys[place] for place in np.lexsort((np.arange(len(keys)), -similar))[:10]}
    asked = set(ngrams([query], snapshot.abbreviations))
    for key in keys:
        kind, _, name = key.partition(":")
        text = graph.nodes[key]["name"] if kind == "tool" else name
        if name_key(text) in asked:
            entries.add(key)
    tools = set()
    for entry in entries:
        ego = nx.ego_graph(graph.to_undirected(), entry, radius=1)
        tools |= {key.removeprefix("tool:") for key in ego if key.startswith("tool:")}
    return tools


@settings(max_examples=25)
@given(
    words=st.lists(
        st.sampled_from("purchase orders items supplier employee id manager give award HR amount for the of".split()),
        min_size=1,
        max_size=7,
    )
)
def test_the_candidates_of_paper_are_those_of_algorithm_2(engine: Engine, words: list[str]) -> None:
    query = " ".join(words)
    response = engine.retriever("paper").retrieve(Request(query=query, k=MAX_K))
    assert {tool.id for tool in response.tools} == _algorithm_2(engine.snapshot, query)


def test_a_context_parameter_is_bound_to_no_tool(engine_of: EngineOf, content: SnapshotContent) -> None:
    tools = [
        replace(tool, metadata={**tool.metadata, CONTEXT_PARAMETERS: ["employee_id"]})
        if tool.id == "hr/give_spot_award"
        else tool
        for tool in content.tools
    ]
    response = (
        engine_of(tools).retriever("default").retrieve(Request(query="give a spot award to an employee by name", k=6))
    )
    award = next(tool for tool in response.tools if tool.id == "hr/give_spot_award")
    bound = {binding.parameter: binding for binding in award.reasons.bindings}
    assert (bound["employee_id"].kind, bound["employee_id"].supplier) == ("context", "")
    assert bound["amount"].kind == ""


class _DeadReranker:
    name = "dead"

    def score(self, query: str, documents: Sequence[str]) -> Floats1d:
        raise ModelError("the endpoint does not answer", subject="http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        ("default", ("no reranking: the endpoint does not answer",)),
        ("fast", ()),
        ("paper", ("reranked by fusion.v2: the endpoint does not answer",)),
        ("hybrid", ("reranked by fusion.v1: the endpoint does not answer",)),
    ],
)
def test_a_dead_reranker_takes_nothing_else_away_and_the_answer_says_so(
    snapshot: Snapshot, preset: str, said: tuple[str, ...]
) -> None:
    plain = make_presets(snapshot, HashingEncoder())[preset].retrieve(Request(query=QUERY, k=3))
    response = make_presets(snapshot, HashingEncoder(), _DeadReranker())[preset].retrieve(Request(query=QUERY, k=3))
    assert response.tools == plain.tools
    assert response.fallbacks == said


def test_neighbors_are_the_ego_graph_of_networkx(engine: Engine, content: SnapshotContent) -> None:
    graph = as_networkx(content.graph)
    for key in list(graph)[::3]:
        ego = engine.neighbors(key, limit=10_000)
        expected = {(h, d["predicate"], t) for h, t, d in graph.edges(data=True) if key in (h, t)}
        assert {(edge.head, edge.predicate, edge.tail) for edge in ego.edges} == expected
        assert ego.center.degree == graph.degree(key)
        assert {node.key for node in ego.nodes} == set(nx.all_neighbors(graph, key)) - {key}
        assert not ego.truncated


def test_a_snapshot_is_only_served_with_the_encoder_that_made_it(store: Path) -> None:
    class Other(HashingEncoder):
        digest = "0" * 64

    with pytest.raises(InvalidArgumentError, match=r"hashing\.v1"):
        open_engine(store, encoder=Other())
    assert open_engine(store).snapshot_id == open_engine(store, encoder=HashingEncoder()).snapshot_id
