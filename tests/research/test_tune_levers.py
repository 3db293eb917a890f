"""What tuning could learn beside weights: each lever moves the tools that its requests speak for, and kept requests stay what they were."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eval.queries import LabelledQuery
from inference import HashingEncoder
from ontology import load_ontology
from research.tune_levers.__main__ import TRIED, completed_at, held_out_ranks
from research.tune_levers.kept_requests import Catalogue, Kept, keep, read_kept, read_steps, write_kept
from research.tune_levers.levers import companions, mapped, prior, shares_of
from retrieval.graph_retriever import GraphRetriever
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import REQUESTS, TOOLS, content_of, published


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    store = tmp_path_factory.mktemp("store")
    published(store, content_of(TOOLS, load_ontology()))
    snapshot = open_snapshot(store)
    return Catalogue(snapshot=snapshot, snapshot_id="one", retriever=GraphRetriever(snapshot, HashingEncoder()))


def _kept(
    scores: Sequence[float], gold: Sequence[int], *, group: int = 0, steps: tuple[tuple[int, int], ...] = ()
) -> Kept:
    ranking = Ranking(tools=np.arange(len(scores)), scores=np.array(scores, dtype=np.float32), features={})
    slots = np.array(gold, dtype=np.int64)[:, None]
    nothing: Any = None
    return Kept(query=nothing, context=nothing, gold=slots, group=group, fused=ranking, completed=ranking, steps=steps)


def _without_edges(tools: int) -> Any:
    return SimpleNamespace(snapshot=SimpleNamespace(tool_count=tools, predicates=()))


def _labelled(snapshot: Snapshot, text: str, tool: int) -> LabelledQuery:
    return LabelledQuery(id=text, text=text, slots=((snapshot.tool_id(tool),),))


def test_a_tool_that_is_needed_more_often_than_its_scores_say_is_raised_by_the_prior() -> None:
    rows = [_kept([3, 2, 1, 0, -1], [0, 3], group=at) for at in range(20)]
    rows += [_kept([0, 3, 2, 1, -1], [1], group=20 + at) for at in range(20)]
    before = rows[0].completed
    after = prior(ridge=1.0, weight=1.0)(_without_edges(5), rows)(rows[0])
    raised = after.scores - before.scores
    assert raised[3] > 0 > raised[2]
    assert raised.argmax() == 3


def test_the_prior_of_steps_moves_only_tools_that_another_needs() -> None:
    rows = [_kept([3, 2, 1, 0, -1], [0, 3], group=at, steps=((3, 0),)) for at in range(20)]
    after = prior(ridge=1.0, weight=1.0, steps=True)(_without_edges(5), rows)(rows[0])
    assert (after.scores != rows[0].completed.scores).nonzero()[0].tolist() == [3]
    single = [_kept([3, 2, 1], [0])]
    assert prior(ridge=1.0, weight=1.0, steps=True)(_without_edges(3), single)(single[0]) is single[0].completed


def test_shares_count_a_path_once_and_are_shrunk_towards_the_edges() -> None:
    rows = [
        _kept([0, 0, 0], [0, 1], group=0, steps=((1, 0),)),
        _kept([0, 0, 0], [0, 1], group=0, steps=((1, 0),)),  # the same path in other words
        _kept([0, 0, 0], [0, 2], group=1),
        _kept([0, 0, 0], [0], group=2),
    ]
    shares = shares_of(rows, {(0, 1)}, 1.0, steps=False)
    assert shares[0] == {1: pytest.approx((1 + 0.5) / (3 + 1)), 2: pytest.approx(1 / (3 + 1))}
    assert shares[2] == {0: pytest.approx(1 / (1 + 1))}
    assert shares_of(rows, set(), 1.0, steps=True) == {0: {1: pytest.approx(1 / (3 + 1))}}


def test_a_companion_is_placed_below_the_tool_that_needs_it_and_never_falls() -> None:
    rows = [_kept([9, 1, 0, 5, -3], [0, 1, 3], group=at, steps=((1, 0), (3, 0))) for at in range(4)]
    ranking = rows[0].completed
    after = companions(pseudo=0.0, steps=True, cost=0.5)(_without_edges(5), rows)(rows[0])
    spread = float(ranking.scores.std())
    assert after.scores[1] == pytest.approx(9 - 0.5 * spread)
    assert after.scores[3] == pytest.approx(9 - 0.5 * spread)
    assert after.scores[[0, 2, 4]].tolist() == ranking.scores[[0, 2, 4]].tolist()
    far = companions(pseudo=0.0, steps=True, cost=50.0)(_without_edges(5), rows)(rows[0])
    assert far.scores.tolist() == ranking.scores.tolist()


def test_a_companion_that_was_no_candidate_joins_and_its_share_is_added() -> None:
    row = _kept([2, 1, 0], [0, 7], steps=((7, 0),))
    after = companions(pseudo=1.0, weight=1.0)(_without_edges(9), [row])(row)
    assert after.tools.tolist() == [0, 1, 2, 7]
    assert after.scores[3] == pytest.approx(0 + 0.5 * row.completed.scores.std())


def test_a_map_moves_a_request_towards_its_tool_and_a_strong_ridge_changes_nothing(catalogue: Catalogue) -> None:
    snapshot = catalogue.snapshot
    first = keep(catalogue, _labelled(snapshot, REQUESTS[0], 0), 0)
    last = int(first.completed.tools[first.completed.best(len(first.completed.tools))[-1]])
    row = keep(catalogue, _labelled(snapshot, REQUESTS[0], last), 0)
    for tools in (False, True):
        same = mapped(ridge=1e9, tools=tools)(catalogue, [row])(row)
        assert completed_at(same, row) == completed_at(row.completed, row)
        learned = mapped(ridge=1e-3, tools=tools)(catalogue, [row])(row)
        assert completed_at(learned, row) < completed_at(row.completed, row)


def test_kept_requests_are_read_as_they_were_found_with_the_snapshot_at_hand(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    rows = [keep(catalogue, _labelled(catalogue.snapshot, text, 1), at) for at, text in enumerate(REQUESTS)]
    file = tmp_path / "kept.pickle"
    write_kept(file, rows, catalogue.snapshot)
    read = read_kept(file, catalogue.snapshot)
    assert [one.query for one in read] == [one.query for one in rows]
    rank = mapped(ridge=10.0)(catalogue, read)
    for one, again in zip(rows, read, strict=True):
        assert again.context.snapshot is catalogue.snapshot
        assert rank(again).scores.tolist() == rank(one).scores.tolist()


def test_steps_are_edges_between_tools_that_the_snapshot_has(catalogue: Catalogue, tmp_path: Path) -> None:
    snapshot = catalogue.snapshot
    row = keep(catalogue, _labelled(snapshot, REQUESTS[0], 0), 0)
    edges = [{"source": snapshot.tool_id(1), "target": snapshot.tool_id(0)}, {"source": "gone", "target": "too"}]
    file = tmp_path / "queries.jsonl"
    file.write_text(json.dumps({"id": REQUESTS[0], "edges": edges}) + "\n", encoding="utf-8")
    read_steps(file, [row], snapshot)
    assert row.steps == ((1, 0),)


def test_a_held_out_request_is_ranked_with_what_was_learned_without_its_path() -> None:
    """Each path has a needed tool of its own, which no score speaks for: without the path it is the tool that is never needed."""
    rows = [_kept([5, *[0.0] * 10], [0, 1 + at // 2], group=at // 2) for at in range(20)]
    catalogue = _without_edges(11)
    catalogue.generated = rows
    lever = prior(ridge=0.1, weight=5.0)
    with_path = [completed_at(lever(catalogue, rows)(one), one) for one in rows]
    assert with_path[0] < 9
    assert min(held_out_ranks(catalogue, lever)) >= 9


def test_every_lever_that_was_tried_has_a_name_of_its_own() -> None:
    assert len(TRIED) == 8 + 8 + 8 + 5 + 3 + 5
