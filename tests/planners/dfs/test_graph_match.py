"""When two graphs say the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.dfs import QueryGraph
from planners.dfs.graph_match import same_graph
from planners.dfs.request_set import request_set

GRAPHS = [each.graph for name in ("personal", "enterprise") for each in request_set(name)]


@given(graph=st.sampled_from(GRAPHS), random=st.randoms(use_true_random=False))
def test_names_and_order_do_not_count(graph: QueryGraph, random: Any) -> None:
    names = [f"v{number}" for number in range(len(graph.vars))]
    random.shuffle(names)
    new = dict(zip(graph.vars, names, strict=True))
    data = graph.to_json()
    constraints = [
        {key: new.get(value, value) if key in ("from", "to", "var") else value for key, value in each.items()}
        for each in data["constraints"]
    ]
    random.shuffle(constraints)
    renamed = {
        **data,
        "return_var": new[data["return_var"]],
        "vars": {new[var]: kind for var, kind in data["vars"].items()},
    }
    assert same_graph(graph, QueryGraph.model_validate({**renamed, "constraints": constraints}))


BASE: dict[str, Any] = {
    "action": "find", "return_var": "p1", "return_mode": "all", "vars": {"p1": "Person", "p2": "Person", "ev": "Event"},
    "constraints": [
        {"kind": "edge", "from": "p1", "edge": "attended", "to": "ev"},
        {"kind": "edge", "from": "p2", "edge": "attended", "to": "ev"},
        {"kind": "filter", "var": "p2", "field": "name", "op": "=", "value": "Ada"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"action": "count"}, {"return_mode": "one"}, {"return_var": "p2"}, {"return_var": "ev"}, {"constraints": BASE["constraints"][:2]},
     {"constraints": [*BASE["constraints"][:2], {**BASE["constraints"][2], "value": "Bob"}]},
     {"constraints": [BASE["constraints"][0], {**BASE["constraints"][1], "edge": "missed"}, BASE["constraints"][2]]},
     {"constraints": [BASE["constraints"][0], {**BASE["constraints"][1], "from": "ev", "to": "p2"}, BASE["constraints"][2]]}],
)  # fmt: skip
def test_any_other_difference_counts(change: dict[str, Any]) -> None:
    first, second = QueryGraph.model_validate(BASE), QueryGraph.model_validate({**BASE, **change})
    assert not same_graph(first, second)
    assert same_graph(first, first)


def test_different_requests_of_a_set_seldom_have_one_graph() -> None:
    graphs = [each.graph for each in request_set("personal")]
    twins = sum(same_graph(a, b) for number, a in enumerate(graphs) for b in graphs[:number])
    assert twins <= 2
