"""What a graph is refused for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planners.dfs import Domain, QueryGraph, graph_faults
from planners.query.graph_faults import compare

LOOKUP = {"request": "look it up"}
DOMAIN = Domain.model_validate(
    {
        "name": "letters",
        "description": "letters and people",
        "types": {
            "Letter": {"variable": "l", "fields": {"subject": {"operators": ["contains"]}}},
            "Person": {"variable": "p", "fields": {"name": {"operators": ["="]}}},
        },
        "edges": [
            {
                "name": "from",
                "source": "Letter",
                "targets": ["Person"],
                "forward": {"Person": LOOKUP},
                "backward": {"Person": LOOKUP},
            }
        ],
    }
)
FROM = {"kind": "edge", "from": "l", "edge": "from", "to": "p"}
NAMED = {"kind": "filter", "var": "p", "field": "name", "op": "=", "value": "Ada"}


def _graph(
    constraints: list[dict[str, Any]], *, variables: dict[str, str] | None = None, returned: str = "l"
) -> QueryGraph:
    return QueryGraph.model_validate(
        {
            "action": "find",
            "return_var": returned,
            "return_mode": "all",
            "vars": variables or {"l": "Letter", "p": "Person"},
            "constraints": constraints,
        }
    )


def test_a_graph_of_the_domain_has_no_fault_and_keeps_its_json() -> None:
    graph = _graph([FROM, NAMED])
    assert graph_faults(graph, DOMAIN) == ()
    assert QueryGraph.model_validate(graph.to_json()) == graph
    assert graph.to_json()["constraints"] == [FROM, NAMED]


@pytest.mark.parametrize(
    ("constraints", "variables", "returned", "said"),
    [
        ([FROM], {"l": "Parcel", "p": "Person"}, "l", "unknown type Parcel; the types are Letter, Person"),
        ([FROM], None, "x", "return variable x is not in vars"),
        ([{**FROM, "to": "q"}, FROM], None, "l", "names the variable q"),
        ([{**FROM, "from": "p", "to": "l"}], None, "l", "wrong way round: it leads from Letter to Person"),
        ([{**FROM, "edge": "knows"}], None, "l", "allowed between them: Letter from Person"),
        ([FROM, {**NAMED, "field": "age"}], None, "l", "no field age to filter by; its fields: name"),
        ([FROM, {**NAMED, "op": "contains"}], None, "l", "does not take the operator contains; it takes ="),
        ([FROM, {**NAMED, "value": " "}], None, "l", "has an empty value"),
        ([FROM, {**NAMED, "var": "q"}], None, "l", "filter on q.name names a variable"),
        ([], None, "l", "No path of edges joins the variable p to the return variable l"),
        ([{**FROM, "to": "l"}, FROM], None, "l", "from a variable to itself"),
    ],
)
def test_each_fault_is_named_with_what_is_allowed(
    constraints: list[dict[str, Any]], variables: dict[str, str] | None, returned: str, said: str
) -> None:
    faults = graph_faults(_graph(constraints, variables=variables, returned=returned), DOMAIN)
    assert any(said in fault for fault in faults), faults


@pytest.mark.parametrize("change", [{"action": "delete"}, {"return_mode": "some"}, {"vars": {}}, {"extra": 1}])
def test_another_form_is_no_graph(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        QueryGraph.model_validate({**_graph([FROM]).to_json(), **change})


@pytest.mark.parametrize(("op", "holds"), [("<", False), ("<=", True), ("=", True), (">=", True), (">", False)])
def test_numbers_are_compared_as_numbers(op: str, holds: bool) -> None:
    assert compare("12", op, 12.0) is holds
    assert compare("9", "<", "12") and compare("Ann", "<", "bob")


def test_names_are_compared_without_case_and_accents() -> None:
    assert compare("Zoë Müller", "=", "zoe muller") and compare("Łukasz  Wójcik", "contains", "wojcik")
    assert not compare("Jane", "=", "Jan")
