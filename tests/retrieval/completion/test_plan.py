"""Plans are the cheapest ways to call a tool: held against every way, tried one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, Need, Supplier
from retrieval.completion.plan import Costs, OpenNeeds, plan

Needs = Mapping[int, Sequence[Need]]
_DEFAULT = Costs()


def _need(parameter: str, *suppliers: Supplier, required: bool = True) -> Need:
    return Need(parameter=parameter, required=required, suppliers=suppliers, entity=parameter, field="id")


def _first(tool: int, position: int = 0) -> Need:
    return _need("", Supplier(tool, DEPENDS_ON, "", 1.0, position))


def _of(needs: Needs) -> OpenNeeds:
    return lambda tool: needs.get(tool, ())


def _tools(needs: Needs, tool: int = 1, costs: Costs = _DEFAULT) -> list[int]:
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


def test_two_alternatives_are_followed_and_the_one_that_the_request_matches_first() -> None:
    needs = {1: [_need("order", *(Supplier(tool, SUPPLIES) for tool in (2, 3, 4)))]}
    assert _tools(needs) == [2, 3]
    assert [each.tool for each in plan(1, _of(needs), Costs(), float)] == [4, 3]


def test_declared_dependencies_keep_the_order_of_their_author_and_go_before_theirs() -> None:
    own = {1: [_first(2), _first(3, 4)], 2: [_first(4, 4)], 3: [_first(5)]}
    assert _tools(own) == [2, 3, 5, 4]


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
