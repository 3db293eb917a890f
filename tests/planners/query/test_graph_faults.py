"""What a graph is refused for."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from planners.query.domain import Domain
from planners.query.graph_faults import compare, graph_faults
from planners.query.query_graph import QueryGraph

TABLE = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_text("utf-8"))
DOMAIN = Domain.model_validate(TABLE["domain"])
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


@pytest.mark.parametrize(("constraints", "variables", "returned", "said"), TABLE["graphs"])
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
