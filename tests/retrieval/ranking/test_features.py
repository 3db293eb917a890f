"""The fields of a tool and the features made of them, each against the field's own text."""

from __future__ import annotations

import numpy as np
import pytest

from inference import HashingEncoder
from ontology.names import words
from ontology.tool import tool_text
from retrieval.index.bm25 import FIELDS, coverage_scores
from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.request import Request
from retrieval.ranking.features import FEATURES, TEXT_FEATURES, bm25, compute_features
from retrieval.ranking.weights import BASELINE, SHIPPED, RankingWeights
from retrieval.snapshot.reader import Snapshot

TEXT = "items of pending purchase orders and the employee with this award id"


def test_signals_are_those_of_their_fields_for_the_tools_that_are_asked_for(snapshot: Snapshot) -> None:
    context = QueryContext.begin(Request(query=TEXT), snapshot, HashingEncoder())
    query = context.query
    assert query.vector_D is not None
    tools = np.array([1, 2, 4])
    found = compute_features(context, tools, TEXT_FEATURES)
    assert list(found) == [name for name in TEXT_FEATURES if name != "bm25_phrases"]  # this catalogue has none
    whole = bm25("whole")(context, query, tools)
    assert whole is not None
    found["bm25_whole"] = whole
    for name, values in found.items():
        assert values.shape == (3,) and values.dtype == np.float32, name
    for field in FIELDS:
        assert found[f"bm25_{field}"].tolist() == snapshot.fields[field].scores(query.terms)[tools].tolist()
    assert found["name_coverage"].tolist() == coverage_scores(snapshot.names_index, query.terms)[tools].tolist()
    texts = [tool_text(snapshot.tool(int(number))) for number in tools]
    titles = [" ".join(words(snapshot.tool(int(number)).title)) for number in tools]
    for name, said in (("cosine_text", texts), ("cosine_name", titles)):
        np.testing.assert_allclose(found[name], HashingEncoder().encode(said) @ query.vector_D, atol=2e-3)


def test_graph_support_is_what_the_entry_nodes_add_to_the_tools_around_them(snapshot: Snapshot) -> None:
    context = QueryContext.begin(Request(query=TEXT), snapshot, None)
    tools = np.arange(snapshot.tool_count)
    nothing = compute_features(context, tools, ("graph_support",))["graph_support"]
    assert nothing.tolist() == [0.0] * snapshot.tool_count
    node = snapshot.find_node("parameter:supplier id")
    assert node is not None
    context.entries = [EntryNode(node, "semantic", "", 0.25), EntryNode(node, "ngram", "supplier id", 9.0)]
    found = compute_features(context, tools, ("graph_support",))["graph_support"]
    around = snapshot.ego_tools(node).tolist()
    expected = [np.log1p(snapshot.idf(node)) if tool in around else 0.0 for tool in tools.tolist()]
    assert 0 < len(around) < snapshot.tool_count
    assert found == pytest.approx(expected), "the stronger of its two matches, a bigram's, counts"


def test_the_weights_follow_the_table() -> None:
    names = [feature.name for feature in FEATURES]
    assert len(set(names)) == len(names)
    assert list(SHIPPED) == [*names, "clause_fusion", "system_coherence", "resolver_margin"]
    assert SHIPPED.features == {feature.name: feature.weight for feature in FEATURES}
    assert BASELINE.features == {feature.name: feature.baseline_weight for feature in FEATURES}
    assert {name for name, weight in BASELINE.items() if weight} == {
        "bm25_text",
        "bm25_params",
        "cosine_text",
        "cosine_name",
        "resolver_margin",
    }
    assert RankingWeights(**SHIPPED) == SHIPPED != BASELINE
    assert hash(RankingWeights(**SHIPPED)) == hash(SHIPPED)
