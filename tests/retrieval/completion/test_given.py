"""Which needs the values of a request meet: its own each, and no other."""

from __future__ import annotations

import pytest

from ontology.value_shape import ValueShape
from retrieval.completion.needs import RESOLVED_BY, GivenInputs, Need, Supplier
from retrieval.index.value_shapes import ShapeMatch, ValueUse
from retrieval.query.query import Query, analyse
from retrieval.query.typed_values import TypedValue, find_values


def _need(entity: str, field: str = "id", *, required: bool = True, parameter: str = "") -> Need:
    return Need(
        parameter=parameter or f"{entity}_{field}".replace(" ", "_"),
        required=required,
        suppliers=(Supplier(9, RESOLVED_BY),),
        entity=entity,
        field=field,
    )


EMPLOYEE, ORDER, NAME = _need("employee"), _need("purchase order"), _need("customer", "name")
LOGIN = _need("session", "token", parameter="token")
FIRST = Need(parameter="", required=True, suppliers=(Supplier(9, RESOLVED_BY),))


def _query(text: str, *values: TypedValue) -> Query:
    return analyse(text, None, {}, values=values or find_values(text), decomposed=True)


def _shaped(text: str, value: str, entity: str, *, widened: bool = False) -> Query:
    """A request with a value that has the shape of an entity's identifiers."""
    start = text.index(value)
    use = ValueUse(4, f"{entity}_id", entity, False, "pattern", widened)
    match = ShapeMatch(start, start + len(value), value, ValueShape(r"E\d{5}"), 19.0, (use,))
    typed = TypedValue(kind="identifier", text=value, start=start, end=start + len(value), matches=(match,))
    return _query(text, typed)


def _open(query: Query, *needs: Need, supplier: bool = False) -> list[str]:
    parts = () if supplier else query.clauses or (query,)
    return [need.entity for need in GivenInputs(query).open_needs(1, needs, parts)]


@pytest.mark.parametrize(
    "text", ["call me at 10am", "the 12th", "over 200 EUR", "in 2025", "top 10 films", "Q3 and Q4"]
)
def test_times_amounts_and_years_give_no_identifier(text: str) -> None:
    assert _open(_query(text), EMPLOYEE) == ["employee"]


def test_a_value_of_known_shape_gives_the_inputs_of_its_entity_only() -> None:
    query = _shaped("order for E10442 please", "E10442", "employee")
    assert _open(query, EMPLOYEE, ORDER) == ["purchase order"]
    assert _open(query, EMPLOYEE, ORDER, supplier=True) == ["purchase order"]


def test_a_value_of_unknown_entity_gives_one_input_of_the_tool_that_answers_its_clause() -> None:
    query = _query("what about R2087 today")
    assert _open(query, EMPLOYEE, ORDER) == ["purchase order"]
    assert _open(query, EMPLOYEE, ORDER, supplier=True) == ["employee", "purchase order"]
    vague = _shaped("what about R2087 today", "R2087", "award", widened=True)
    assert _open(vague, EMPLOYEE, ORDER) == ["purchase order"], "a widened shape says little"


def test_names_are_given_and_a_session_or_a_tool_that_must_go_first_never() -> None:
    query = _query("let R2087 and R2088 and R2089 through")
    assert GivenInputs(query).open_needs(1, [NAME, LOGIN, FIRST], [query]) == [LOGIN, FIRST]
