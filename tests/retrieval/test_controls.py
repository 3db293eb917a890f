"""The controls: a rewired graph keeps every degree and no meaning; the n-gram index has no graph at all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from inference import HashingEncoder
from retrieval.config import DEPENDENCIES
from retrieval.controls import CONTROLS, make_control, ngram_index, rewired
from retrieval.index.analysis import ngrams
from retrieval.index.text_fields import whole_text
from retrieval.query.context import EntryNode, QueryContext
from retrieval.query.request import Request
from retrieval.ranking.features import compute_features
from retrieval.snapshot.reader import Snapshot

QUERY = "find the supplier and create a purchase order"


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


def test_a_seed_is_one_rewiring(snapshot: Snapshot) -> None:
    tails = [rewired(snapshot, seed=seed, tools=False).adjacency.tails.tolist() for seed in (1, 1, 2)]
    assert tails[0] == tails[1] != tails[2]


def test_the_ngram_index_supports_the_tools_whose_text_has_the_words(snapshot: Snapshot) -> None:
    view = ngram_index(snapshot)
    context = QueryContext.begin(Request(query=QUERY), view, HashingEncoder())
    wanted = ngrams((QUERY,), snapshot.abbreviations)
    texts = [set(ngrams((whole_text(tool),), snapshot.abbreviations)) for tool in snapshot.tools]
    context.entries = [
        EntryNode(int(node), "ngram", ngram, 0.0)
        for ngram, nodes in zip(wanted, view.ngrams.many(wanted), strict=True)
        for node in nodes
    ]
    support = compute_features(context, np.arange(len(texts)), ["graph_support"])["graph_support"]
    frequency = {ngram: sum(ngram in text for text in texts) for ngram in wanted}
    assert max(frequency.values()) > 0
    expected = [
        math.log1p(
            sum(
                math.log1p(len(texts) / (1 + frequency[ngram])) * 0.5 * (1 + ngram.count(" "))
                for ngram in wanted
                if ngram in text
            )
        )
        for text in texts
    ]
    np.testing.assert_allclose(support, expected, rtol=1e-5)


@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_answers_and_names_itself(snapshot: Snapshot, name: str) -> None:
    answer = make_control(name, snapshot, HashingEncoder()).retrieve(Request(query=QUERY, k=5, explain=False))
    assert answer.preset == name
    assert len(answer.tools) == 5
