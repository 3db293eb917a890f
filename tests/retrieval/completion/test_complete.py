"""Completion: where supporting tools end in a ranking, what they never do, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import HashingEncoder
from retrieval.completion.complete import Completion, place_supporting, pulling_tools
from retrieval.completion.needs import RESOLVED_BY, SUPPLIES
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.context import QueryContext, SupportingTool
from retrieval.query.request import Request
from retrieval.ranking.ranking import Ranking
from retrieval.retriever import DEFAULT
from retrieval.snapshot.reader import Snapshot


def _ranking(scores: dict[int, float]) -> Ranking:
    values = np.asarray(list(scores.values()), dtype=np.float32)
    return Ranking(tools=np.asarray(list(scores), dtype=np.int64), scores=values, features={"bm25_text": values})


def _supporting(
    tool: int, answers: int, cost: float = 0.1, predicate: str = SUPPLIES, **others: object
) -> SupportingTool:
    reason = SupportingTool(
        tool=tool,
        answers=answers,
        consumer=answers,
        parameter="order_id",
        output="id",
        predicate=predicate,
        required=True,
        confidence=0.9,
        cost=cost,
        steps=1,
    )
    return replace(reason, **others)  # type: ignore[arg-type]


def _placed(ranking: Ranking, supporting: list[SupportingTool], *, highest: float) -> Ranking:
    spread = float(ranking.scores.std()) or 1.0
    return place_supporting(ranking, supporting, highest=highest, spread=spread)


def _order(ranking: Ranking) -> list[int]:
    return [int(tool) for tool in ranking.tools[ranking.best(99)]]


def test_a_supporting_tool_ends_just_below_the_tool_that_it_serves_candidate_or_not() -> None:
    placed = _placed(_ranking({2: 0, 5: 3, 6: 1}), [_supporting(9, 5, 0.1), _supporting(2, 5, 0.2)], highest=3.0)
    assert _order(placed) == [5, 9, 2, 6]
    assert placed.features["bm25_text"].tolist() == [0, 3, 1, 0]
    assert placed.scores.dtype == np.float32


_scores = st.dictionaries(st.integers(0, 12), st.floats(-3, 3, width=32), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None)
@given(
    _scores,
    st.lists(st.tuples(st.integers(0, 15), st.integers(0, 7), st.floats(0.01, 4)), max_size=6),
    st.floats(-3, 3),
)
def test_no_score_falls_and_none_that_rises_passes_the_tool_it_serves(
    scores: dict[int, float], steps: list[tuple[int, int, float]], highest: float
) -> None:
    ranking = _ranking(dict(sorted(scores.items())))
    supporting = [_supporting(tool, int(ranking.tools[at % len(ranking.tools)]), cost) for tool, at, cost in steps]
    placed = _placed(ranking, supporting, highest=highest)
    before = ranking.with_tools(placed.tools)
    assert placed.tools.tolist() == sorted({*scores, *(each.tool for each in supporting)})
    assert (placed.scores >= before.scores).all()
    rose = placed.scores > before.scores
    assert (placed.scores[rose] < highest).all()
    best = {
        each.tool: max(s for t, s in scores.items() if t in {o.answers for o in supporting if o.tool == each.tool})
        for each in supporting
    }
    for tool, score, is_up in zip(placed.tools.tolist(), placed.scores.tolist(), rose.tolist(), strict=True):
        assert not is_up or score < best[tool]


@pytest.fixture
def context(snapshot: Snapshot) -> QueryContext:
    """Two clauses."""
    retriever = GraphRetriever(snapshot, HashingEncoder())
    request = Request(query="give a spot award to the best employee, then create a purchase order with the supplier")
    return retriever.find_candidates(request)


def test_the_best_tool_of_each_clause_pulls_and_is_a_direct_answer(snapshot: Snapshot, context: QueryContext) -> None:
    ranking = Ranking(tools=context.candidates, scores=np.zeros(len(context.candidates), dtype=np.float32), features={})
    pulling = pulling_tools(context, ranking)
    direct = {snapshot.tool_id(int(ranking.tools[each.place])): each.parts for each in pulling if each.direct}
    assert {"hr/give_spot_award", "procurement/create_purchase_order"} <= set(direct)
    assert [part.text for part in direct["hr/give_spot_award"]] == [context.query.clauses[0].text]


def _complete(snapshot: Snapshot, context: QueryContext, scores: dict[str, float]) -> Ranking:
    numbers = {snapshot.tool_number(tool_id): score for tool_id, score in scores.items()}
    return Completion(snapshot, DEFAULT).complete(context, _ranking(dict(sorted(numbers.items()))), margin=0.5)


def test_a_resolver_that_was_no_candidate_enters_and_the_reason_is_kept(
    snapshot: Snapshot, context: QueryContext
) -> None:
    scores = {"hr/give_spot_award": 3.0, "procurement/query_purchase_order_items": 0.0}
    completed = _complete(snapshot, context, scores)
    search = snapshot.tool_number("hr/search_employees")
    assert _order(completed)[1] == search
    [reason] = [each for each in context.supporting if each.tool == search]
    assert snapshot.tool_id(reason.consumer) == snapshot.tool_id(reason.answers) == "hr/give_spot_award"
    assert (reason.parameter, reason.output, reason.predicate) == ("employee_id", "employee_id", RESOLVED_BY)


def test_a_tool_that_the_request_may_not_see_neither_enters_nor_leads_on(
    snapshot: Snapshot, context: QueryContext
) -> None:
    context.allowed = np.ones(len(snapshot.nodes), dtype=bool)
    context.allowed[snapshot.tool_number("hr/search_employees")] = False
    completed = _complete(snapshot, context, {"hr/give_spot_award": 3.0, "procurement/search_suppliers": 0.0})
    assert snapshot.tool_number("hr/search_employees") not in completed.tools
    assert all(context.allowed[each.tool] for each in context.supporting)
