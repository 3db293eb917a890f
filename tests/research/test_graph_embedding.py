"""Embeddings of the tool graph: near nodes get near vectors, the feature moves the right tools, and weights are chosen without the set."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from research.graph_embedding import (
    EMBEDDINGS,
    adjacency_of,
    choose_without,
    spectral_vectors,
    table,
    walk_vectors,
    with_embedding,
)
from retrieval.query.context import EntryNode
from retrieval.ranking.ranking import Ranking


def _snapshot(edges: list[tuple[int, int, float]], size: int) -> Any:
    heads, tails, confidences = (np.array(column) for column in zip(*edges, strict=True))
    adjacency = SimpleNamespace(heads=heads, tails=tails, confidences=confidences)
    return SimpleNamespace(adjacency=adjacency, nodes=range(size), idf=lambda node: 1.0)


def _two_cliques() -> Any:
    """Nodes 0 to 4 and 5 to 9, all joined, one edge between the two; node 10 is alone."""
    inside = [(a, b, 1.0) for start in (0, 5) for a in range(start, start + 5) for b in range(a + 1, start + 5)]
    return _snapshot([*inside, (4, 5, 0.1)], 11)


def test_the_adjacency_is_symmetric_with_the_highest_confidence_and_no_loops() -> None:
    found = adjacency_of(_snapshot([(0, 1, 0.4), (1, 0, 0.9), (0, 1, 0.2), (2, 2, 1.0), (1, 2, 0.5)], 3))
    assert found.toarray().tolist() == [[0, 0.9, 0], [0.9, 0, 0.5], [0, 0.5, 0]]


@pytest.mark.parametrize("embed", [spectral_vectors, walk_vectors], ids=list(EMBEDDINGS))
def test_nodes_that_hang_together_are_near_and_a_seed_gives_the_same(embed: Callable[[Any, int], Any]) -> None:
    adjacency = adjacency_of(_two_cliques())
    vectors = embed(adjacency, 3)
    assert np.array_equal(vectors, embed(adjacency, 3))
    cosines = vectors @ vectors.T
    near = [cosines[a, b] for a in range(4) for b in range(a + 1, 4)]
    far = [cosines[a, b] for a in range(4) for b in range(6, 10)]
    assert min(near) > max(far) + 0.2
    assert np.allclose(np.linalg.norm(vectors[:10], axis=1), 1, atol=1e-5)


def test_a_walk_takes_edges_only() -> None:
    from research.graph_embedding import _walks

    walks = _walks(adjacency_of(_snapshot([(0, 1, 1.0), (1, 2, 0.5)], 4)), 0)
    assert set(map(tuple, np.stack([walks[:, :-1].ravel(), walks[:, 1:].ravel()], axis=1).tolist())) == {
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
        (3, 3),
    }


def _ranked(weight: float, entries: list[EntryNode]) -> list[float]:
    vectors = np.array([[1, 0], [0, 1], [0, 1], [0, 1]], dtype=np.float32)
    context: Any = SimpleNamespace(entries=entries, snapshot=SimpleNamespace(idf=lambda node: 2.0))
    scores = np.array([3.0, 2.0, 1.0], dtype=np.float32)
    ranking = with_embedding(context, Ranking(tools=np.array([0, 1, 2]), scores=scores, features={}), vectors, weight)
    return [round(float(score), 4) for score in ranking.scores]


def test_tools_near_the_entry_nodes_rise_by_the_weight_in_standard_deviations() -> None:
    entry = EntryNode(node=3, kind="semantic", text="", score=0.5)
    assert _ranked(0.0, [entry]) == _ranked(0.5, []) == [3, 2, 1]
    # Cosines 0, 1, 1 have the z-scores -1.4142, .7071, .7071; the scores have a standard deviation of .8165.
    expected = [3 - 0.5 * 0.8165 * 1.4142, 2 + 0.5 * 0.8165 * 0.7071, 1 + 0.5 * 0.8165 * 0.7071]
    assert _ranked(0.5, [entry]) == pytest.approx(expected, abs=1e-3)


def _ranks(best: str) -> dict[str, list[int]]:
    """A set on which one weight completes all requests first, and the others none."""
    return {weight: [1, 1] if weight == best else [11, 11] for weight in ("0.0", "0.1", "0.2", "0.4", "0.8")}


def test_a_weight_is_chosen_on_the_other_sets() -> None:
    found = {"a": _ranks("0.8"), "b": _ranks("0.2"), "c": _ranks("0.2")}
    assert choose_without(found, "a") == "0.2"
    assert choose_without({"a": _ranks("0.8"), "b": _ranks("0.0"), "c": _ranks("0.0")}, "a") == "0.0"
    lines = list(table("spectral", found))
    assert "| a | 2 | 0.0 / 0.0 / 0.0 | 0.2 | +0.0 / +0.0 / +0.0 |" in lines[3]
    assert "**+100.0** / **+100.0** / **+100.0**" in lines[3], "the gain at .8"
