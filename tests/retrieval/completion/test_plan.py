"""Plans are the cheapest ways to call a tool: held against every way, tried one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, Need, Supplier
from retrieval.completion.plan import Costs, OpenNeeds, plan

Needs = Mapping[int, Sequence[Need]]
_WIDE = Costs(alternatives=99, alternative=0.0, standing=0.0, tools=99, further=0.0)


def _need(parameter: str, *suppliers: Supplier, required: bool = True) -> Need:
    return Need(parameter=parameter, required=required, suppliers=suppliers, entity=parameter, field="id")


def _first(tool: int, position: int = 0) -> Need:
    return _need("", Supplier(tool, DEPENDS_ON, "", 1.0, position))


def _of(needs: Needs) -> OpenNeeds:
    return lambda tool: needs.get(tool, ())


def _tools(needs: Needs, tool: int = 1, costs: Costs = Costs()) -> list[int]:
    return [each.tool for each in plan(tool, _of(needs), costs)]


def test_a_step_says_which_input_of_which_tool_it_fills_and_for_whom() -> None:
    found = plan(
        1,
        _of(
            {1: [_need("order", Supplier(2, SUPPLIES, "id", 0.9))], 2: [_need("user", Supplier(3, RESOLVED_BY, "key"))]}
        ),
        Costs(),
    )
    assert [(each.tool, each.consumer, each.parameter, each.output, each.steps) for each in found] == [
        (2, 1, "order", "id", 1),
        (3, 2, "user", "key", 2),
    ]
    assert {each.answers for each in found} == {1}
    assert found[0].cost == pytest.approx(1.0 - 0.3 * math.log(0.9))
    assert found[1].cost == pytest.approx(found[0].cost + 0.5 * 1.5)


def test_the_more_certain_edge_and_the_resolver_are_cheaper() -> None:
    sure, unsure = Supplier(2, SUPPLIES, "", 0.9), Supplier(3, SUPPLIES, "", 0.4)
    assert _tools({1: [_need("order", unsure, sure)]}) == [2, 3]
    assert _tools({1: [_need("order", sure, Supplier(4, RESOLVED_BY))]}) == [4, 2]


def test_two_alternatives_are_followed_and_the_one_that_the_request_matches_first() -> None:
    needs = {1: [_need("order", *(Supplier(tool, SUPPLIES) for tool in (2, 3, 4)))]}
    assert _tools(needs) == [2, 3]
    assert [each.tool for each in plan(1, _of(needs), Costs(), float)] == [4, 3]


def test_an_optional_input_costs_more() -> None:
    needs = {1: [_need("a", Supplier(2, SUPPLIES), required=False), _need("b", Supplier(3, SUPPLIES))]}
    found = {each.tool: each for each in plan(1, _of(needs), Costs())}
    assert found[2].cost - found[3].cost == pytest.approx(Costs().optional)
    assert (found[2].required, found[3].required) == (False, True)


def test_declared_dependencies_keep_the_order_of_their_author_and_go_before_theirs() -> None:
    own = {1: [_first(2), _first(3, 4)], 2: [_first(4, 4)], 3: [_first(5)]}
    assert _tools(own) == [2, 3, 5, 4]


def test_a_circle_ends_and_what_two_need_is_in_the_plan_once() -> None:
    circle = {1: [_first(2), _first(3, 1)], 2: [_first(1), _first(3)], 3: [_first(2)]}
    assert _tools(circle) == [2, 3]


def test_a_long_way_ends_after_fifteen() -> None:
    endless: OpenNeeds = lambda tool: [_first(tool + 1)]  # noqa: E731
    assert [each.tool for each in plan(0, endless, Costs())] == list(range(1, 16))
    assert [each.tool for each in plan(0, endless, Costs(depth=2))] == [1, 2]


_suppliers = st.builds(
    Supplier,
    st.integers(0, 5),
    st.sampled_from([DEPENDS_ON, RESOLVED_BY, SUPPLIES]),
    st.just(""),
    st.sampled_from([0.3, 0.6, 1.0]),
    st.integers(0, 2),
)
_graphs = st.dictionaries(
    st.integers(0, 5),
    st.lists(
        st.builds(
            Need,
            parameter=st.sampled_from("ab"),
            required=st.booleans(),
            suppliers=st.lists(_suppliers, min_size=1, max_size=3).map(tuple),
            entity=st.just("e"),
            field=st.just("id"),
        ),
        max_size=2,
    ),
)


def _every_way(needs: Needs, costs: Costs) -> dict[int, float]:
    """The least cost of each tool over every simple path from tool 0."""
    best: dict[int, float] = {}
    tools = range(6)
    for length in range(1, 6):
        for path in itertools.permutations([tool for tool in tools if tool != 0], length):
            total = 0.0
            for steps, (consumer, supplier) in enumerate(itertools.pairwise((0, *path))):
                ways = [
                    costs.of(each) + (0.0 if need.required else costs.optional)
                    for need in needs.get(consumer, ())
                    for each in need.suppliers
                    if each.tool == supplier
                ]
                total += min(ways, default=math.inf) * (1 + costs.further * steps)
            best[path[-1]] = min(best.get(path[-1], math.inf), total)
    return {tool: cost for tool, cost in best.items() if cost < math.inf}


@settings(max_examples=150, deadline=None)
@given(_graphs)
def test_each_tool_is_reached_on_the_cheapest_of_all_ways(needs: dict[int, list[Need]]) -> None:
    found = plan(0, _of(needs), _WIDE)
    assert {each.tool: pytest.approx(each.cost) for each in found} == _every_way(needs, _WIDE)


@settings(max_examples=150, deadline=None)
@given(_graphs)
def test_a_plan_is_a_tree_with_costs_that_grow_from_the_tool_that_answers(needs: dict[int, list[Need]]) -> None:
    found = plan(0, _of(needs), Costs())
    assert [each.cost for each in found] == sorted(each.cost for each in found)
    known = {0: (0.0, 0)}
    for each in found:
        cost, steps = known[each.consumer]
        assert each.cost > cost
        assert each.steps == steps + 1
        assert each.tool not in known
        known[each.tool] = (each.cost, each.steps)
        suppliers = [
            supplier for need in needs[each.consumer] if need.parameter == each.parameter for supplier in need.suppliers
        ]
        assert any((one.tool, one.predicate) == (each.tool, each.predicate) for one in suppliers)
