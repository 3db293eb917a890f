"""The fields of a tool and the features made of them, each against the field's own text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inference import HashingEncoder
from ontology import Parameter, Tool
from ontology.names import words
from ontology.tool_text import tool_text
from retrieval.index.analysis import terms
from retrieval.index.bm25 import Bm25Index, make_postings
from retrieval.index.name_coverage import coverage_scores
from retrieval.index.text_fields import FIELDS, NAMES, params_text
from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.request import Request
from retrieval.ranking.features import FEATURES, TEXT_FEATURES, bm25, compute_features
from retrieval.ranking.weights import BASELINE, SHIPPED, RankingWeights
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.retrieval.conftest import published

TEXT = "items of pending purchase orders and the employee with this award id"
TOOL = Tool(
    id="po/query_items",
    name="query_items",
    description="List items of purchase orders.",
    parameters=(
        Parameter(name="status", description="Status of the item", enum=("open", "pending", "3")),
        Parameter(name="supplier_id"),
    ),
    returns=(Parameter(name="item_number", description="Position in the order" + " so" * 200), Parameter(name="unit")),
)


def test_each_field_has_its_own_part_of_the_document() -> None:
    said = {field: text_of(TOOL) for field, text_of in FIELDS.items()}
    assert said["text"] == "query_items. List items of purchase orders."
    assert said["values"] == "open pending 3"
    assert said["params"].split() == ["status", "Status", "of", "the", "item", "supplier_id", "item_number", "unit"]
    assert said["returns"].startswith("item_number Position in the order so so")
    assert said["returns"].split()[-1] == "unit" and len(said["returns"]) < 230, "a long description is cut"
    assert said["whole"] == f"{tool_text(TOOL)} {params_text(TOOL)}"
    bare = replace(TOOL, parameters=(), returns=())
    assert not FIELDS["values"](bare) and not FIELDS["returns"](bare) and not FIELDS["params"](bare).strip()


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_snapshot_has_an_index_of_every_field(snapshot: Snapshot, field: str) -> None:
    tools = [snapshot.tool(number) for number in range(snapshot.tool_count)]
    made = Bm25Index(make_postings(terms(FIELDS[field](tool)) for tool in tools), len(tools))
    found = snapshot.fields[field].scores(terms(TEXT))
    np.testing.assert_allclose(found, made.scores(terms(TEXT)), atol=1e-6)
    assert found.any(), "the request speaks of something in every field"


def test_the_indexes_lie_where_the_layout_says(tmp_path: Path, content: SnapshotContent) -> None:
    folder = published(tmp_path, content)
    indexes = {path.name.split(".")[1] for path in folder.glob("bm25.*")}
    assert indexes == {*FIELDS, NAMES}
    assert set(open_snapshot(tmp_path).manifest.files) >= {path.name for path in folder.glob("bm25.*")}


def test_signals_are_those_of_their_fields_for_the_tools_that_are_asked_for(snapshot: Snapshot) -> None:
    context = QueryContext.begin(Request(query=TEXT), snapshot, HashingEncoder())
    query = context.query
    assert query.vector_D is not None
    tools = np.array([1, 2, 4])
    found = compute_features(context, tools, TEXT_FEATURES)
    assert list(found) == list(TEXT_FEATURES)
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


def test_only_what_is_named_is_looked_at_in_that_order_and_no_cosine_without_a_vector(snapshot: Snapshot) -> None:
    context = QueryContext.begin(Request(query=TEXT), snapshot, None)
    tools = np.arange(snapshot.tool_count)
    assert list(compute_features(context, tools, ("name_coverage", "bm25_text"))) == ["name_coverage", "bm25_text"]
    assert list(compute_features(context, tools, ("cosine_text", "bm25_values", "cosine_name"))) == ["bm25_values"]


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
