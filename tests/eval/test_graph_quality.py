"""Planted graphs whose every figure was counted by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from eval.graph_quality import EdgePrecision, GoldKind, GraphQuality, graph_quality
from ingest.graph import build_graph
from ingest.linking.edges import DerivedEdge
from ontology import Dependency, Parameter, Provenance, Tool, Triple, load_ontology
from ontology.errors import DocumentError
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.eval.planted import written
from tests.retrieval.conftest import content_of, published

KEY = Parameter(name="supplier_id", type="key")
TOOLS = (
    Tool(id="a", name="approve_it", parameters=(KEY,)),
    Tool(id="b", name="find_supplier", parameters=(Parameter(name="name"),), returns=(KEY, Parameter(name="name"))),
    Tool(id="c", name="create_order", parameters=(KEY,), returns=(Parameter(name="order_id"),)),
    Tool(
        id="d",
        name="cancel_it",
        parameters=(Parameter(name="orderID"), Parameter(name="supplier_name")),
        depends_on=(Dependency(tool="b"),),
    ),
    Tool(id="e", name="list_region", returns=(Parameter(name="region"),)),
    Tool(id="f", name="ping"),
    Tool(id="g", name="pong"),
)
EVERYONE = [(tool.id, "has_entity", "thing", "business_object") for tool in TOOLS[:6]]
TRIPLES = (
    *EVERYONE,
    ("a", "has_entity", "supplier", "business_object"),
    ("f", "has_topic", "supplier", "topic"),
    ("f", "has_entity", "supplier", "business_object"),
    ("d", "depends_on", "b", "tool"),
)
DERIVED = (
    ("b", "supplies", "a", 0.5),  # a needs b: in the key
    ("a", "supplies", "b", 0.25),  # b needs a: the wrong way round
    ("c", "supplies", "d", 1.0),  # d needs c: in the key
    ("b", "supplies", "c", 0.75),  # c needs b: not in the key
    ("e", "supplies", "a", 0.5),  # the key does not speak of e
    ("a", "resolved_by", "b", 0.5),
)
DEPENDENCIES = (
    ("a", "b", "parameter:supplier_id"),
    ("d", "c", "parameter:orderID"),
    ("d", "b", "parameter:supplier_name"),  # found by no derived edge; declared to the builder
    ("b", "d", "order"),
    ("a", "nowhere", "order"),
)


def _snapshot(
    store: Path,
    tools: Sequence[Tool],
    triples: Sequence[tuple[str, str, str, str]] = (),
    derived: Sequence[tuple[str, str, str, float]] = (),
) -> Snapshot:
    read = [
        Triple(
            head=tool, head_type="tool", predicate=predicate, tail=name, tail_type=type_, confidence=1.0,
            provenance=Provenance(tool, "description", "rules.v1"),
        )
        for tool, predicate, name, type_ in triples
    ]  # fmt: skip
    edges = [
        DerivedEdge(
            source=source, predicate=predicate, target=target, parameter="p", output="", entity="x", field="id",
            confidence=confidence,
        )
        for source, predicate, target, confidence in derived
    ]  # fmt: skip
    graph = build_graph(tools, read, derived=edges)
    return open_snapshot(published(store, replace(content_of(tools, load_ontology()), graph=graph)))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return _snapshot(tmp_path_factory.mktemp("store"), TOOLS, TRIPLES, DERIVED)


@pytest.fixture(scope="module")
def quality(snapshot: Snapshot, tmp_path_factory: pytest.TempPathFactory) -> GraphQuality:
    rows = ({"from": one, "to": other, "kind": kind} for one, other, kind in DEPENDENCIES)
    key = written(tmp_path_factory.mktemp("key") / "dependencies.jsonl", *rows)
    return graph_quality(snapshot, gold_edges=[key])


def _edges(quality: GraphQuality) -> EdgePrecision:
    assert quality.edges is not None
    return quality.edges


def _counts(quality: GraphQuality, gold: str, edges: str) -> tuple[int, int, int, int]:
    """Hits and cases of precision, hits and cases of recall."""
    (row,) = [row for row in _edges(quality).scores if (row.gold, row.edges) == (gold, edges)]
    return row.precision.hits, row.precision.of, row.recall.hits, row.recall.of


def test_precision_and_recall_are_those_counted_by_hand(quality: GraphQuality) -> None:
    assert _counts(quality, "parameter", "supplies") == (2, 4, 2, 3)
    assert _counts(quality, "parameter", "resolved_by") == (1, 1, 1, 3)
    assert _counts(quality, "parameter", "together") == (2, 4, 2, 3)
    assert _counts(quality, "order", "supplies") == (0, 0, 0, 1)
    assert _counts(quality, "all kinds", "together") == (2, 4, 2, 4)
    assert _edges(quality).gold["parameter"] == GoldKind(pairs=3, ends=4, density=3 / 12)
    assert _edges(quality).unknown_gold_edges == 1


def test_the_statistics_count_what_was_planted(quality: GraphQuality) -> None:
    statistics = quality.statistics
    assert statistics.nodes == {"business_object": 2, "tool": 7, "topic": 1}
    assert statistics.edges == {"depends_on": 1, "has_entity": 8, "has_topic": 1, "resolved_by": 1, "supplies": 5}
    assert (statistics.tools_without_tool_edge, statistics.hubs) == (2, 1)


@pytest.mark.parametrize("line", ["no json", "[1]", '{"from": "a"}', "[" * 100_000])
def test_a_row_that_is_no_dependency_is_named(snapshot: Snapshot, tmp_path: Path, line: str) -> None:
    key = written(tmp_path / "key.jsonl", '{"from": "a", "to": "b"}', "", line)
    with pytest.raises(DocumentError, match=r"key.jsonl:3"):
        graph_quality(snapshot, gold_edges=[key])
    with pytest.raises(DocumentError, match="missing"):
        graph_quality(snapshot, gold_edges=[tmp_path / "missing.jsonl"])
