"""What tools answer stands in the graph: every scalar, each thing once, the ties between things; hostile names do no harm."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planners.graphs.property_graph import GraphState, MergeEdge, MergeNode
from tests.planners.kgot.rules.views import answer, state_of, written

_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
_SCALARS = st.one_of(
    _TEXTS, st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False)
)
_NAMES = st.one_of(
    st.sampled_from(
        ["id", "name", "a b", "a_b", "A_B", "supplierId", "items", "of", "row", "label", "type", "`x`", "$"]
    ),
    _TEXTS,
)
_BODIES = st.recursive(
    _SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)
_ORDER = {
    "orderId": "O1",
    "customerId": "C7",
    "lines": [{"sku": "x", "pieces": 2}, {"sku": "y", "pieces": 1}],
    "total": 3.5,
}


def _scalars(body: Any) -> Iterator[Any]:
    if isinstance(body, dict):
        for value in body.values():
            yield from _scalars(value)
    elif isinstance(body, list):
        for value in body:
            yield from _scalars(value)
    elif body is not None:
        yield body


def _told(value: Any) -> Any:
    """A value as a graph can hold it: an integer of more than 64 bits is a text; 1 and true differ."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return ("str", str(value))
    if isinstance(value, float) and value == 0:
        return ("float", 0.0)
    return (type(value).__name__, value)


def _held(state: GraphState) -> set[Any]:
    values = [value for node in state.nodes for value in node.properties.values()]
    flat = [one for value in values for one in (value if isinstance(value, tuple) else (value,))]
    return {_told(one) for one in flat}


@settings(max_examples=150, deadline=None)
@given(_BODIES)
def test_every_scalar_of_a_body_stands_in_the_graph(body: Any) -> None:
    texts = [value for value in _scalars(body) if isinstance(value, str)]
    state = state_of(written(answer(body)))
    missing = {_told(value) for value in _scalars(body)} - _held(state)
    assert not {each for each in missing if not any("\n" in text or text[:1] in "{[" for text in texts if text)}


@settings(max_examples=50, deadline=None)
@given(_BODIES)
def test_the_same_answer_twice_is_the_same_graph(body: Any) -> None:
    once = state_of(written(answer(body)))
    assert state_of([*written(answer(body)), *written(answer(body), state=once)]) == once


def test_a_thing_with_an_identifier_is_one_node_however_often_it_is_answered() -> None:
    state = state_of(
        written(answer({"orders": [_ORDER]}), answer({**_ORDER, "state": "open"}, "shop/get", orderId="O1"))
    )
    (order,) = [node for node in state.nodes if node.label == "Order"]
    assert order.properties == {"orderId": "O1", "customerId": "C7", "total": 3.5, "state": "open"}


def test_what_only_refers_to_a_thing_is_not_that_thing() -> None:
    items = [{"productId": "P1", "pieces": 2}, {"productId": "P1", "pieces": 3}]
    prices = [
        answer(
            {"customerId": "C1", "productId": each, "price": at},
            "shop/getCustomerPrice",
            customerId="C1",
            productId=each,
        )
        for at, each in enumerate("ab")
    ]
    state = state_of(written(answer({"orders": [{**_ORDER, "lines": items}]}), *prices))
    held = Counter(node.label for node in state.nodes if "pieces" in node.properties or "price" in node.properties)
    assert held == {"Line": 2, "ToolCall": 2}


@pytest.mark.parametrize("names", [sorted, lambda names: sorted(names, reverse=True)])
def test_the_order_of_fields_says_nothing(names: Any) -> None:
    record = {"costCenterId": "C1", "employeeId": "E1", "name": "Ada"}
    body = {"items": [{name: record[name] for name in names(record)}]}
    state = state_of(written(answer(body, "hr/searchEmployees", query="Ada")))
    assert {"employeeId": "E1"}.items() <= next(
        node for node in state.nodes if node.label == "Employee"
    ).properties.items()


def test_the_name_of_a_tool_is_no_reason_to_take_one_person_for_another() -> None:
    manager = {"employeeId": "E2", "managerId": "E3", "departmentId": "D1"}
    state = state_of(written(answer(manager, "hr/getManager", employeeId="E1")))
    assert not [node for node in state.nodes if node.label == "Manager" and "employeeId" in node.properties]


def test_references_and_nested_things_are_edges() -> None:
    state = state_of(written(answer({"orders": [_ORDER]})))
    labels = {node.id: node.label for node in state.nodes}
    edges = Counter((labels[edge.source], edge.type, labels[edge.target]) for edge in state.edges)
    assert edges == {
        ("ToolCall", "GAVE", "Order"): 1,
        ("Order", "CUSTOMER", "Customer"): 1,
        ("Order", "LINES", "Line"): 2,
    }


def test_a_field_with_the_identifier_of_a_known_thing_leads_to_that_thing() -> None:
    bodies = answer({"employees": [{"employeeId": "E1", "managerId": "E2"}, {"employeeId": "E2"}]}, "hr/list")
    state = state_of(written(bodies))
    assert Counter(node.label for node in state.nodes) == {"ToolCall": 1, "Employee": 2}
    assert [edge.type for edge in state.edges if edge.type == "MANAGER"] == ["MANAGER"]


def test_rows_of_tables_are_nodes_with_the_types_of_their_columns() -> None:
    text = "# Tools of the shop\n\n| tool | price | code |\n|---|---|---|\n| saw | 12.50 | 007 |\n| axe | 9 | 010 |\n"
    state = state_of(written(answer({"text": text}, "kgot/inspect_file", file="list.md")))
    rows = [node.properties for node in state.nodes if node.label == "Tool"]
    assert rows == [
        {"of": "list.md#1", "row": 1, "tool": "saw", "price": 12.5, "code": "007"},
        {"of": "list.md#1", "row": 2, "tool": "axe", "price": 9.0, "code": "010"},
    ]


def test_pages_of_one_file_are_rows_of_their_own() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    pages = [
        answer({"text": text}, "kgot/inspect_file", file="a.md"),
        answer({"text": text}, "kgot/inspect_file", file="a.md", page=2),
    ]
    assert len([node for node in state_of(written(*pages)).nodes if node.label != "ToolCall"]) == 2


def test_two_calls_without_identifiers_do_not_overwrite_each_other() -> None:
    first, second = answer([{"value": 1}], "shop/a", day="1"), answer([{"value": 2}], "shop/a", day="2")
    values = {node.properties.get("value") for node in state_of(written(first, second)).nodes}
    assert values == {None, 1, 2}


@pytest.mark.parametrize("count", [3, 50])
def test_no_more_nodes_are_written_than_allowed_and_the_rest_is_counted(count: int) -> None:
    body = {"items": [{"itemId": f"I{number}"} for number in range(count)]}
    state = state_of(written(answer(body), most_nodes=10))
    call = next(node for node in state.nodes if node.label == "ToolCall")
    assert len(state.nodes) == min(count, 10) + 1
    assert call.properties.get("left_out", 0) == max(count - 10, 0)


def test_numbers_that_no_store_has_are_texts() -> None:
    state = state_of(written(answer({"a": math.inf, "b": 2**64})))
    assert {"inf", str(2**64)} <= {value for node in state.nodes for value in node.properties.values()}


def test_a_call_that_failed_writes_nothing() -> None:
    failed = answer({"code": "NOT_FOUND"})
    assert written(failed.__class__(tool_id="x", arguments={}, ok=False, status="404", body=failed.body)) == ()


def test_a_deep_body_ends() -> None:
    body: Any = {"value": 1}
    for _ in range(90):
        body = {"inner": [body]}
    assert len(written(answer(body))) < 200


def test_writes_are_merges_only() -> None:
    assert {type(each) for each in written(answer({"orders": [_ORDER]}))} == {MergeNode, MergeEdge}
