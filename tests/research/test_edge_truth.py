"""Draw, score and calibrate judged edges; recall of true dependencies."""

from __future__ import annotations

from ingest.linking.derive import derive_edges
from ontology import load_ontology
from research.edge_truth import draw_edges, fit_bins, found_dependencies, precision_by_bin
from tests.ingest.linking.test_rp_edges import tool

TOOLS = [
    tool("list_orders", "", "orders[].order_id", namespace="a"),
    tool("ship_order", "order_id", namespace="a"),
    tool("list_users", "", "users[].user_id", namespace="b"),
    tool("block_user", "user_id", namespace="b"),
]
EDGES = list(derive_edges(TOOLS, load_ontology()))


def test_the_draw_is_the_same_for_a_seed_and_spread_over_documents() -> None:
    one, other = draw_edges(TOOLS, EDGES, 2, 1), draw_edges(TOOLS, EDGES, 2, 1)
    assert one == other
    assert {row["document"] for row in one} == {"a", "b"}


def test_recall_asks_for_the_input_and_the_producer() -> None:
    rows = [
        {"id": "1", "consumer": "a/ship_order", "input": "order_id", "producer": "a/list_orders"},
        {"id": "2", "consumer": "a/ship_order", "input": "order_id", "producer": "b/list_users"},
    ]
    assert [row["id"] for row in found_dependencies(EDGES, rows)] == ["1"]


def test_bins_rise() -> None:
    rows = [{"score": score / 10, "true": true} for score, true in enumerate([0, 1, 0, 1, 1, 1, 0, 1, 1, 1])]
    points = fit_bins(rows)
    assert [point[1] for point in points] == sorted(point[1] for point in points)
    assert list(precision_by_bin([{"confidence": 0.85, "true": True}])) == [0.8]
