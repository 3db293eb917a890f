"""The indexes against boring oracles: rank-bm25, numpy brute force, dictionaries, networkx."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from ontology.errors import SnapshotCorruptError
from retrieval.index.adjacency import make_adjacency, read_adjacency, write_adjacency
from retrieval.index.bm25 import Bm25Index, make_postings, read_postings, write_postings
from retrieval.index.records import Records, write_records

relaxed = settings(max_examples=60)
word = st.sampled_from(["order", "item", "supplier", "date", "ü", "订单", "list", "get"])


@relaxed
@given(documents=st.lists(st.lists(word, max_size=12), min_size=1, max_size=12), query=st.lists(word, max_size=6))
def test_bm25_is_rank_bm25_but_for_its_idf(tmp_path: Path, documents: list[list[str]], query: list[str]) -> None:
    write_postings(tmp_path, "text", make_postings(documents))
    scores = Bm25Index(read_postings(tmp_path, "text"), len(documents)).scores(query)
    assert scores.shape == (len(documents),)
    assert scores.dtype == np.float32
    if not any(documents):
        assert not scores.any()
        return
    oracle = BM25Okapi(documents, k1=1.5, b=0.75)
    count = len(documents)
    for term in oracle.idf:  # theirs may be negative and is then floored; ours is the non-negative form
        holding = sum(term in document for document in documents)
        oracle.idf[term] = np.log(1 + (count - holding + 0.5) / (holding + 0.5))
    np.testing.assert_allclose(scores, oracle.get_scores(query), rtol=1e-4, atol=1e-5)


@relaxed
@given(
    documents=st.lists(st.lists(word, max_size=6), min_size=1, max_size=40),
    query=st.lists(word, max_size=6),
    count=st.integers(1, 45),
    seed=st.integers(0, 9),
)
def test_bm25_of_some_tools_and_of_the_best_agrees_with_the_scores_of_all(
    documents: list[list[str]], query: list[str], count: int, seed: int
) -> None:
    index = Bm25Index(make_postings(documents), len(documents))
    scores, draw = index.scores(query), np.random.default_rng(seed)
    some = np.flatnonzero(draw.random(len(documents)) < 0.5)
    with pytest.MonkeyPatch.context() as patch:
        for sparse_from in (0, 1_000):  # looked up in the postings, and taken from the scores of all
            patch.setattr("retrieval.index.bm25.SPARSE_FROM", sparse_from)
            assert index.scores_of(some, query).tolist() == scores[some].tolist()
    for allowed in (None, draw.random(len(documents)) < 0.5):
        may = [number for number in np.flatnonzero(scores) if allowed is None or allowed[number]]
        best = sorted(may, key=lambda number: (-scores[number], number))[:count]
        assert index.best(query, count, allowed=allowed).tolist() == sorted(best)


@relaxed
@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_adjacency_agrees_with_networkx(tmp_path: Path, edges: list[tuple[int, int]]) -> None:
    rows = sorted((head, tail, place % 3, 0.5) for place, (head, tail) in enumerate(edges))
    heads, tails, predicates = np.asarray([row[:3] for row in rows], dtype=np.int32).reshape(-1, 3).T
    confidences = np.full(len(rows), 0.5, dtype=np.float32)
    made = make_adjacency(10, heads=heads, tails=tails, predicates=predicates.astype(np.uint8), confidences=confidences)
    write_adjacency(tmp_path, made)
    adjacency = read_adjacency(tmp_path)
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from(range(10))
    graph.add_edges_from((head, tail) for head, tail, *_ in rows)
    assert len(adjacency.heads) == graph.number_of_edges()
    degrees = adjacency.tool_degrees(4, 10)
    mask = np.arange(10) % 3 == 0
    around = {other for node in range(0, 10, 3) for other in (node, *nx.all_neighbors(graph, node))}
    assert set(np.flatnonzero(adjacency.with_neighbours(mask)).tolist()) == around
    for node in range(10):
        assert sorted(adjacency.tail(int(edge)) for edge in adjacency.out_edges(node)) == sorted(
            tail for _, tail in graph.out_edges(node)
        )
        assert sorted(adjacency.head(int(edge)) for edge in adjacency.in_edges_of(node)) == sorted(
            head for head, _ in graph.in_edges(node)
        )
        assert set(adjacency.neighbours(node).tolist()) == set(nx.all_neighbors(graph, node))
        assert adjacency.degree(node) == graph.degree(node)
        touching = sum(tail < 4 for _, tail in graph.out_edges(node)) + sum(
            head < 4 for head, _ in graph.in_edges(node)
        )
        assert degrees[node] == touching


@relaxed
@given(rows=st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=3), max_size=20))
def test_records_give_back_what_was_written(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    write_records(tmp_path / "rows", rows)
    records = Records(tmp_path / "rows", dict)
    assert list(records) == rows
    assert [records[place] for place in reversed(range(len(rows)))] == rows[::-1]
    with pytest.raises(SnapshotCorruptError):
        records[len(rows)]
    turned = records.subset(np.arange(len(rows))[::-1])
    assert list(turned) == rows[::-1]
    assert list(turned.subset(np.arange(len(rows))[:1])) == rows[-1:]
