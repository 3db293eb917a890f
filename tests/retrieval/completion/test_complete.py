"""Completion: where supporting tools end in a ranking, what they never do, and what is said of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import HashingEncoder
from retrieval.completion.complete import Completion, place_supporting
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


def _order(ranking: Ranking) -> list[int]:
    return [int(tool) for tool in ranking.tools[ranking.best(99)]]


@pytest.fixture
def context(snapshot: Snapshot) -> QueryContext:
    """Two clauses."""
    retriever = GraphRetriever(snapshot, HashingEncoder())
    request = Request(query="give a spot award to the best employee, then create a purchase order with the supplier")
    return retriever.find_candidates(request)


def _complete(snapshot: Snapshot, context: QueryContext, scores: dict[str, float]) -> Ranking:
    numbers = {snapshot.tool_number(tool_id): score for tool_id, score in scores.items()}
    return Completion(snapshot, DEFAULT).complete(context, _ranking(dict(sorted(numbers.items()))), margin=0.5)


def _supporting(tool: int, answers: int, cost: float) -> SupportingTool:
    return SupportingTool(
        tool=tool,
        answers=answers,
        consumer=answers,
        parameter="order_id",
        output="id",
        predicate=SUPPLIES,
        required=True,
        confidence=0.9,
        cost=cost,
        steps=1,
    )


_scores = st.dictionaries(st.integers(0, 12), st.floats(-3, 3, width=32), min_size=1, max_size=8)
_steps = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 7), st.floats(0.01, 4)), max_size=6)


@settings(max_examples=60, deadline=None)
@given(_scores, _steps, st.floats(-3, 3))
def test_no_score_falls_and_none_that_rises_passes_the_tool_it_serves(
    scores: dict[int, float], steps: list[tuple[int, int, float]], highest: float
) -> None:
    ranking = _ranking(dict(sorted(scores.items())))
    supporting = [_supporting(tool, int(ranking.tools[at % len(ranking.tools)]), cost) for tool, at, cost in steps]
    placed = place_supporting(ranking, supporting, highest=highest, spread=float(ranking.scores.std()) or 1.0)
    before = ranking.with_tools(placed.tools)
    assert placed.tools.tolist() == sorted({*scores, *(each.tool for each in supporting)})
    assert (placed.scores >= before.scores).all()
    rose = placed.scores > before.scores
    assert (placed.scores[rose] < highest).all()
    served: dict[int, list[float]] = {}
    for each in supporting:
        served.setdefault(each.tool, []).append(scores.get(each.answers, -np.inf))
    for tool, score in zip(placed.tools[rose].tolist(), placed.scores[rose].tolist(), strict=True):
        assert score < max(served[tool])


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
