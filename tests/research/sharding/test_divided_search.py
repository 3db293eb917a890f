"""A divided catalogue answers as one node does, however its tools are divided."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import HashingEncoder
from research.sharding.divided_search import divided, shards_of
from retrieval.query.request import Request
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from services.jobs.build import build_snapshot
from tests.conftest import ROOT

_WORDS = "invoice supplier employee travel order approve list create overdue name id of for the and".split()
_NAMESPACES = ("hr", "finance", "support", "legal")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> SnapshotEngine:
    store = tmp_path_factory.mktemp("sharding") / "store"
    catalog = ROOT / "examples/enterprise/catalog"
    files = [next(catalog.glob(f"{name}.*")) for name in _NAMESPACES]
    build_snapshot(list(map(str, files)), store, encoder=HashingEncoder(), cached=False)
    return open_engine(store, encoder=HashingEncoder())


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.sampled_from(_WORDS), min_size=1, max_size=8),
    owners=st.lists(st.integers(0, 4), min_size=1, max_size=50),
    namespaces=st.lists(st.sampled_from(_NAMESPACES), max_size=2, unique=True),
)
def test_any_division_has_the_answer_of_one_node(
    engine: SnapshotEngine, words: list[str], owners: list[int], namespaces: list[str]
) -> None:
    """Tool N belongs to shard ``owners[N % len(owners)]``: finer than namespaces, and some shards are empty."""
    places = np.resize(np.asarray(owners), engine.snapshot.tool_count)
    shards = [places == number for number in range(5)]
    parted = SnapshotEngine(divided(engine.snapshot, shards), engine.encoder)
    request = Request(query=" ".join(words), filters={"namespace": namespaces} if namespaces else {})
    alone = engine.retriever().retrieve(request)
    found = parted.retriever().retrieve(request)
    assert [tool.id for tool in found.tools] == [tool.id for tool in alone.tools]
    assert [tool.score for tool in found.tools] == pytest.approx([tool.score for tool in alone.tools], abs=1e-4)
    assert found.answerable_probability == pytest.approx(alone.answerable_probability, abs=1e-4)


def test_every_tool_is_in_one_shard_with_its_namespace(engine: SnapshotEngine) -> None:
    shards = shards_of(engine.snapshot, 3)
    assert (np.sum(shards, axis=0) == 1).all()
    owners: dict[str, set[int]] = {}
    for number in range(engine.snapshot.tool_count):
        owner = next(place for place, shard in enumerate(shards) if shard[number])
        owners.setdefault(engine.snapshot.tool_id(number).partition("/")[0], set()).add(owner)
    assert len(owners) == len(_NAMESPACES)
    assert all(len(found) == 1 for found in owners.values())
