"""The controls: a rewired graph keeps every degree and no meaning; the n-gram index has no graph at all."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.controls import CONTROLS, make_control, rewired
from inference import HashingEncoder
from ontology import load_ontology
from retrieval.query.request import Request
from retrieval.retriever import DEPENDENCIES
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import TOOLS, content_of, published

QUERY = "find the supplier and create a purchase order"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    store = tmp_path_factory.mktemp("store")
    published(store, content_of(TOOLS, load_ontology()))
    return open_snapshot(store)


def _between_tools(snapshot: Snapshot) -> list[bool]:
    return [snapshot.predicates[one] in DEPENDENCIES for one in snapshot.adjacency.predicates]


@pytest.mark.parametrize("tools", [True, False])
def test_rewiring_keeps_the_degrees_and_leads_edges_elsewhere(snapshot: Snapshot, tools: bool) -> None:
    before, after = snapshot.adjacency, rewired(snapshot, seed=1, tools=tools).adjacency
    moved = before.tails != after.tails
    between = np.array(_between_tools(snapshot))
    assert moved[between == tools].any()
    assert not moved[between != tools].any()
    assert np.array_equal(before.heads, after.heads)
    assert np.array_equal(before.confidences, after.confidences)
    for predicate in np.unique(before.predicates):
        edges = before.predicates == predicate
        assert sorted(before.tails[edges].tolist()) == sorted(after.tails[edges].tolist())
    count = snapshot.tool_count
    assert np.array_equal(before.tails < count, after.tails < count)
    node = int(after.tails[np.flatnonzero(moved)[0]])
    assert all(after.tail(int(edge)) == node for edge in after.in_edges(node))


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_answers_and_names_itself(snapshot: Snapshot, name: str) -> None:
    answer = make_control(name, snapshot, HashingEncoder()).retrieve(Request(query=QUERY, k=5, explain=False))
    assert answer.preset == name
    assert len(answer.tools) == 5
