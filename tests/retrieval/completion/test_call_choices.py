"""The choices of a plan are the cheapest: held against all combinations of choices, made one by one."""

import graphlib
import itertools
import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, Need, Supplier
from retrieval.completion.plan import CallChoices, CallCosts, cheapest_choices

Needs = Mapping[int, Sequence[Need]]
_COSTS = CallCosts()
_TOOLS = 5


def _need(parameter: str, *suppliers: Supplier, required: bool = True) -> Need:
    return Need(parameter=parameter, required=required, suppliers=suppliers)


def _plan(needs: Needs, *goals: int, costs: CallCosts = _COSTS) -> CallChoices:
    return cheapest_choices(goals or (0,), lambda tool: needs.get(tool, ()), costs)


def test_one_call_that_fills_two_inputs_is_cheaper_than_the_two_best_suppliers() -> None:
    needs = {
        0: [
            _need("customer", Supplier(1, SUPPLIES, "", 0.9), Supplier(3, SUPPLIES, "", 0.7)),
            _need("order", Supplier(2, SUPPLIES, "", 0.9), Supplier(3, SUPPLIES, "", 0.7)),
        ]
    }
    plan = _plan(needs)
    assert plan.order == (3, 0)
    assert plan.cost == pytest.approx(1 + 2 * (0.5 - 0.3 * math.log(0.7)))


def test_a_chain_that_is_longer_than_an_answer_is_worth_is_asked_for() -> None:
    chain = {tool: [_need("x", Supplier(tool + 1, SUPPLIES))] for tool in range(9)}
    assert _plan(chain).order == (0,)
    assert _plan({0: chain[0], 1: chain[1]}).order == (2, 1, 0)


def test_the_limit_of_tools_holds_and_so_does_that_of_the_search() -> None:
    wide = {0: [_need(f"p{at}", *(Supplier(20 * at + one, RESOLVED_BY) for one in range(1, 5))) for at in range(12)]}
    assert len(_plan(wide, costs=CallCosts(tools=3)).order) == 4
    stopped = _plan(wide, costs=CallCosts(tried=20))
    assert not stopped.is_cheapest and len(stopped.order) == 13
    assert _plan(wide) == _plan(wide)


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
_catalogues = st.dictionaries(st.integers(0, _TOOLS - 1), _needs_of)


def _acyclic(needs: Needs) -> Needs:
    """The catalogue in which a tool is supplied by tools of higher numbers only."""
    kept = {
        tool: [(need, tuple(each for each in need.suppliers if each.tool > tool)) for need in its]
        for tool, its in needs.items()
    }
    return {
        tool: [_need(need.parameter, *above, required=need.required) for need, above in its if above]
        for tool, its in kept.items()
    }


def _least_cost(needs: Needs, goals: Sequence[int], costs: CallCosts) -> float:
    """The least cost over every choice for every need of every tool, those of tools that are not called ignored."""
    places = [(tool, at) for tool, its in sorted(needs.items()) for at in range(len(its))]
    best = math.inf
    for options in itertools.product(*((None, *needs[tool][at].suppliers) for tool, at in places)):
        chosen = dict(zip(places, options, strict=True))
        called, waiting, total = set(goals), list(goals), 0.0
        after: dict[int, set[int]] = {}
        while waiting:
            tool = waiting.pop()
            for at, need in enumerate(needs.get(tool, ())):
                supplier = chosen[tool, at]
                total += costs.of_choice(need, supplier)
                if supplier is not None:
                    after.setdefault(tool, set()).add(supplier.tool)
                    if supplier.tool not in called:
                        called.add(supplier.tool)
                        waiting.append(supplier.tool)
                        total += costs.of_call()
        try:
            graphlib.TopologicalSorter(after).prepare()
        except graphlib.CycleError:
            continue
        best = min(best, total)
    return best


def _check(needs: Needs, goals: Sequence[int]) -> None:
    plan = _plan(needs, *goals)
    assert plan.is_cheapest
    assert plan.cost == pytest.approx(_least_cost(needs, goals, _COSTS))
    called = {tool: number for number, tool in enumerate(plan.order)}
    assert set(goals) <= set(called) and len(called) == len(plan.order)
    used = set(goals)
    for tool in plan.order:
        choices = plan.choices.get(tool, ())
        assert [choice.need for choice in choices] == list(needs.get(tool, ())), "every need is met or said to be open"
        for choice in choices:
            if choice.supplier is not None:
                assert choice.supplier in choice.need.suppliers
                assert called[choice.supplier.tool] < called[tool]
                used.add(choice.supplier.tool)
    assert used == set(called), "a call of which nothing is used"
    steps = sum(costs for tool in called if tool not in goals for costs in [_COSTS.of_call()])
    chosen = sum(_COSTS.of_choice(one.need, one.supplier) for tool in called for one in plan.choices.get(tool, ()))
    assert plan.cost == pytest.approx(steps + chosen)


@settings(max_examples=60, deadline=None)
@given(_catalogues.map(_acyclic), st.lists(st.integers(0, _TOOLS - 1), min_size=1, max_size=2, unique=True))
def test_a_plan_over_an_acyclic_catalogue_costs_what_the_best_of_all_costs(needs: Needs, goals: list[int]) -> None:
    _check(needs, goals)


@settings(max_examples=60, deadline=None)
@given(_catalogues, st.just([0]))
def test_so_does_one_over_a_catalogue_with_circles(needs: Needs, goals: list[int]) -> None:
    """Tools supply themselves through others."""
    _check({tool: its for tool, its in needs.items()}, goals)
