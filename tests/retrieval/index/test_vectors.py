"""Vector search over tools and other nodes, with and without filters, against brute force."""

from pathlib import Path

import numpy as np
import pytest

from inference import Floats2d
from inference.result_cache import ResultCache
from retrieval.index.vectors import NodeVectors, write_vectors

ROWS, TOOLS, K = 4_000, 1_500, 100


def _unit_rows(rows: int, *, seed: int) -> Floats2d:
    """Rows of 40 groups, as texts of like tools are."""
    draw = np.random.default_rng(seed)
    middles = np.random.default_rng(0).normal(size=(40, 48))
    made = middles[draw.integers(0, 40, size=rows)] + 0.6 * draw.normal(size=(rows, 48))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(scope="module")
def vectors() -> Floats2d:
    return _unit_rows(ROWS, seed=1)


@pytest.fixture(params=[(10_000, 0), (0, 6_000), (0, 0)], ids=["exact", "scan", "walk"])
def index(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: Floats2d
) -> NodeVectors:
    exact_limit, scan_factor = request.param
    monkeypatch.setattr("retrieval.index.vectors.EXACT_LIMIT", exact_limit)
    monkeypatch.setattr("retrieval.index.vectors.SCAN_FACTOR", scan_factor)
    write_vectors(tmp_path, "nodes", vectors, tool_count=TOOLS, exact_limit=exact_limit)
    assert len(list(tmp_path.glob("*.hnsw"))) == (0 if exact_limit else 2)
    return NodeVectors(tmp_path, "nodes", tool_count=TOOLS)


@pytest.mark.parametrize("tools_only", [True, False], ids=["tools", "nodes"])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.03])
def test_filters_lose_no_rows(index: NodeVectors, vectors: Floats2d, share: float, tools_only: bool) -> None:
    allowed = np.random.default_rng(2).random(ROWS) < share
    known = np.flatnonzero(allowed & (np.arange(ROWS) < (TOOLS if tools_only else ROWS)))
    search = index.nearest_tools if tools_only else index.nearest
    found = wanted = 0
    for query in _unit_rows(20, seed=3):
        rows, cosines = search(query, K, allowed=None if share == 1.0 else allowed)
        exact = known[np.lexsort((known, -(vectors[known] @ query)))[:K]]
        assert len(rows) == len(exact) == len(set(rows.tolist()))
        assert set(rows.tolist()) <= set(known.tolist())
        np.testing.assert_allclose(cosines, (vectors @ query)[rows], atol=2e-3)
        assert list(cosines) == sorted(cosines, reverse=True)
        found += len(set(rows.tolist()) & set(exact.tolist()))
        wanted += len(exact)
    assert found >= 0.97 * wanted


def test_of_equal_rows_the_first_are_returned(tmp_path: Path) -> None:
    rows = np.repeat(_unit_rows(2, seed=5), 20, axis=0)
    write_vectors(tmp_path, "nodes", rows, tool_count=30)
    index = NodeVectors(tmp_path, "nodes", tool_count=30)
    assert index.nearest_tools(rows[0], 5)[0].tolist() == [0, 1, 2, 3, 4]
    assert index.nearest(rows[-1], 15)[0].tolist() == list(range(20, 35))
    assert index.nearest_tools(rows[0], 0)[0].tolist() == []


def test_cosines_of_tools_and_of_others_are_those_of_the_stored_rows(index: NodeVectors, vectors: Floats2d) -> None:
    for rows in (np.array([3, 1_499]), np.array([1_500, 3_999]), np.array([7, 2_000])):
        np.testing.assert_allclose(index.similarities(vectors[9], rows), vectors[rows] @ vectors[9], atol=2e-3)
    assert len(index.similarities(vectors[9], np.empty(0, dtype=np.int64))) == 0


def test_an_index_from_the_cache_is_that_of_its_rows(tmp_path: Path) -> None:
    """The index of tools that are the same is taken from the cache, that of others is made again; each as without a cache."""
    rows, cache = _unit_rows(60, seed=6), ResultCache(None)
    changed = np.concatenate((rows[:30], _unit_rows(30, seed=7)))
    for number, vectors in enumerate((rows, rows, changed)):
        found, fresh = tmp_path / f"found{number}", tmp_path / f"fresh{number}"
        for folder, kept in ((found, cache), (fresh, None)):
            folder.mkdir()
            write_vectors(folder, "nodes", vectors, tool_count=30, exact_limit=10, cache=kept)
        assert {path.name: path.read_bytes() for path in found.iterdir()} == {
            path.name: path.read_bytes() for path in fresh.iterdir()
        }
