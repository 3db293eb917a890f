"""The P-P graph: planted likeness, and blocks against comparing all with all."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datagen.paths.blocking import blocks_of, compared_pairs
from datagen.paths.pp_graph import build_pp_graph
from inference import HashingEncoder
from tests.datagen.catalogues import catalogue_of, tool


def test_tools_with_alike_inputs_are_joined_by_the_most_alike() -> None:
    catalogue = catalogue_of(
        [
            tool("book_flight", "departure_city arrival_city departure_date"),
            tool("book_train", "departure_city arrival_city departure_date"),
            tool("pay_invoice", "invoice_number amount"),
        ]
    )
    (edge,) = build_pp_graph(catalogue, HashingEncoder()).links
    assert (edge.source, edge.target, edge.kind) == ("shop/book_flight", "shop/book_train", "P-P")
    assert edge.output == edge.parameter and edge.confidence == 1.0


def test_without_inputs_nothing_is_alike() -> None:
    for tools in ([], [tool("one")], [tool("ping"), tool("pong")], [tool("single", "city")]):
        graph = build_pp_graph(catalogue_of(tools), HashingEncoder())
        assert not graph.links and graph.threshold.reason and sum(graph.distribution.counts) == graph.compared == 0


@given(st.lists(st.frozensets(st.sampled_from("city date amount order item price".split()), max_size=4), max_size=12))
def test_blocks_compare_exactly_the_pairs_that_share_a_word(words: list[frozenset[str]]) -> None:
    random = np.random.default_rng(len(words))
    vectors = random.normal(size=(len(words), 8)).astype(np.float32)
    pairs, cosines = compared_pairs(blocks_of(words, [""] * len(words)), vectors)
    expected = [pair for pair in combinations(range(len(words)), 2) if words[pair[0]] & words[pair[1]]]
    assert [tuple(pair) for pair in pairs.tolist()] == expected
    np.testing.assert_allclose(
        cosines, [vectors[one] @ vectors[other] for one, other in expected], rtol=1e-4, atol=1e-5
    )
