"""The calls of a plan, and supporting tools in a ranking: what is nearest, where they end, what they never do."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference import HashingEncoder
from retrieval.completion.complete import Completion, place_supporting
from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, Need, Supplier
from retrieval.completion.plan import CallChoices, chosen_calls
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.context import QueryContext, SupportingTool
from retrieval.query.request import Request
from retrieval.ranking.ranking import Ranking
from retrieval.retriever import DEFAULT
from retrieval.snapshot.reader import Snapshot

Needs = Mapping[int, Sequence[Need]]
_TOOLS = 5


def _need(parameter: str, *suppliers: Supplier, required: bool = True) -> Need:
    return Need(parameter=parameter, required=required, suppliers=suppliers)


def _plan(needs: Needs, *goals: int) -> CallChoices:
    return chosen_calls(goals or (0,), lambda tool: needs.get(tool, ()))


def test_a_need_takes_its_nearest_supplier_and_an_optional_one_what_is_called_anyway() -> None:
    customer = _need("customer", Supplier(1, SUPPLIES, "", 0.9), Supplier(2, RESOLVED_BY, "", 0.9))
    optional = _need("note", Supplier(3, DEPENDS_ON), Supplier(2, SUPPLIES, "", 0.5), required=False)
    plan = _plan({0: [customer, optional]})
    assert plan.order == (2, 0)
    assert [choice.supplier and choice.supplier.tool for choice in plan.choices[0]] == [2, 2]


def test_three_calls_back_and_fifteen_in_all() -> None:
    chain = {tool: [_need("x", Supplier(tool + 1, SUPPLIES))] for tool in range(9)}
    assert _plan(chain).order == (3, 2, 1, 0)
    wide = {0: [_need(f"p{at}", Supplier(at + 1, RESOLVED_BY)) for at in range(20)]}
    assert len(_plan(wide).order) == 16


_supplier = st.builds(
    Supplier,
    st.integers(1, _TOOLS - 1),
    st.sampled_from([DEPENDS_ON, RESOLVED_BY, SUPPLIES]),
    st.just(""),
    st.sampled_from([0.2, 0.6, 1.0]),
)
_needs_of = st.lists(
    st.tuples(st.booleans(), st.lists(_supplier, min_size=1, max_size=2, unique_by=lambda each: each.tool)), max_size=2
).map(lambda rows: [_need("ab"[at], *suppliers, required=required) for at, (required, suppliers) in enumerate(rows)])


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.integers(0, _TOOLS - 1), _needs_of),
    st.lists(st.integers(0, _TOOLS - 1), min_size=1, max_size=2, unique=True),
)
def test_every_need_is_met_before_its_tool_is_called_or_said_to_be_open(needs: Needs, goals: list[int]) -> None:
    """Also over catalogues whose tools supply themselves through others."""
    plan = _plan(needs, *goals)
    called = {tool: number for number, tool in enumerate(plan.order)}
    assert set(goals) <= set(called) and len(called) == len(plan.order)
    used = set(goals)
    for tool in plan.order:
        choices = plan.choices.get(tool, ())
        assert [choice.need for choice in choices] == list(needs.get(tool, ()))
        for choice in choices:
            if choice.supplier is not None:
                assert choice.supplier in choice.need.suppliers
                assert called[choice.supplier.tool] < called[tool]
                used.add(choice.supplier.tool)
    assert used == set(called), "a call of which nothing is used"


# -- supporting tools in a ranking -------------------------------------------------------------------------------------


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
