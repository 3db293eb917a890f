"""The calls of a plan: what is nearest, how far back, and that no call follows from itself."""

from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, SUPPLIES, Need, Supplier
from retrieval.completion.plan import CallChoices, chosen_calls

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
