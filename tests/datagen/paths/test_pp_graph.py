"""The P-P graph: planted likeness, and blocks against comparing all with all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datagen.paths.blocking import MAX_BLOCK, blocks_of, compared_pairs
from datagen.paths.pp_graph import MAX_NEIGHBOURS, build_pp_graph, choose_threshold
from inference import HashingEncoder
from inference.arrays import Floats2d
from tests.datagen.catalogues import catalogue_of, tool


class _Counting(HashingEncoder):
    """Remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats2d:
        self.given.extend(texts)
        return super().encode(texts)


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


def test_each_distinct_input_is_encoded_once() -> None:
    encoder = _Counting()
    build_pp_graph(
        catalogue_of(tool(f"t{number}", "city date amount" if number % 2 else "city") for number in range(9)), encoder
    )
    assert sorted(encoder.given) == ["amount", "city", "date"]


def test_tools_that_are_all_alike_keep_few_neighbours() -> None:
    count = 3 * MAX_NEIGHBOURS
    graph = build_pp_graph(catalogue_of(tool(f"t{number}", "city date") for number in range(count)), HashingEncoder())
    assert 0 < len(graph.links) <= count * MAX_NEIGHBOURS // 2
    for number in range(count):
        tool_id = f"shop/t{number}"
        assert len(graph.links.out_of(tool_id)) + len(graph.links.into(tool_id)) <= MAX_NEIGHBOURS


def test_without_inputs_nothing_is_alike() -> None:
    for tools in ([], [tool("one")], [tool("ping"), tool("pong")], [tool("single", "city")]):
        graph = build_pp_graph(catalogue_of(tools), HashingEncoder())
        assert not graph.links and graph.threshold.reason and sum(graph.distribution.counts) == graph.compared == 0


def test_the_threshold_lies_above_the_run_of_the_pairs() -> None:
    spread = np.concatenate([np.full(500, 0.35), np.full(400, 0.45), np.full(20, 0.9)]).astype(np.float32)
    threshold, reason = choose_threshold(spread)
    assert 0.45 < threshold < 0.9 and "standard deviations" in reason
    assert choose_threshold(np.zeros(5, dtype=np.float32))[0] == 0.6
    assert choose_threshold(np.ones(5, dtype=np.float32))[0] == 0.95


def test_the_distribution_is_of_all_pairs_compared() -> None:
    catalogue = catalogue_of(tool(f"t{number}", f"city extra_{number}") for number in range(6))
    graph = build_pp_graph(catalogue, HashingEncoder())
    assert sum(graph.distribution.counts) == graph.compared == 15
    assert len(graph.distribution.edges) == len(graph.distribution.counts) + 1


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


def test_large_blocks_are_cut_with_tools_of_one_entity_side_by_side() -> None:
    count = 3 * MAX_BLOCK
    entities = ["order" if number % 3 == 0 else "invoice" for number in range(count)]
    blocks = list(blocks_of([["city"]] * count, entities))
    assert max(map(len, blocks)) <= MAX_BLOCK
    assert sorted(number for block in blocks for number in block.tolist()) == list(range(count))
    assert sum(len({entities[number] for number in block}) > 1 for block in blocks) <= 1
