"""Graphs that exclude, or have alternatives, answer as the plain graphs that they are made of, by trying every assignment."""

import asyncio
from datetime import date
from random import Random
from typing import Any

from hypothesis import given, settings

from planners.dfs import QueryGraph, graph_faults
from planners.dfs.executor import answer_graph
from tests.planners.dfs.brute_force import brute_force
from tests.planners.dfs.test_executor_property import DOMAIN, RANDOM, tables

EDGE: dict[str, Any] = {"kind": "edge", "from": "l", "edge": "sent", "to": "p"}
NAMES: dict[str, Any] = {"kind": "edge", "from": "l", "edge": "names", "to": "q"}


def _graph(*constraints: dict[str, Any], **variables: str) -> QueryGraph:
    form = {"action": "find", "return_var": "l", "vars": {"l": "Letter", **variables}, "constraints": constraints}
    return QueryGraph.model_validate(form)


def _name(var: str, value: str, *others: str) -> dict[str, Any]:
    return {"kind": "filter", "var": var, "field": "name", "op": "=", "value": value, "others": others}


@settings(max_examples=60, deadline=None)
@given(random=RANDOM)
def test_exclusion_and_alternatives_are_differences_and_unions(random: Random) -> None:
    data = tables(random)

    def answer(graph: QueryGraph) -> set[str]:
        assert graph_faults(graph, DOMAIN) == ()
        found = asyncio.run(answer_graph(graph, DOMAIN, data, today=date(2025, 2, 1)))
        assert found["count"] == len(found["answer"])
        return {each["id"] for each in found["answer"]}

    def wanted(graph: QueryGraph) -> set[str]:
        return set(brute_force(graph, data)["l"])

    ann, named = _name("p", "ann"), _name("l", "bob")
    every, sent = _graph(named), _graph(named, EDGE, ann, p="Person")
    assert answer(_graph(named, {**EDGE, "negated": True}, ann, p="Person")) == wanted(every) - wanted(sent)
    bob = wanted(_graph(EDGE, _name("p", "bob"), p="Person"))
    either = _graph(EDGE, _name("p", "ann", "bob"), p="Person")
    assert answer(either) == wanted(_graph(EDGE, ann, p="Person")) | bob
    both = _graph(EDGE, ann, NAMES, p="Person", q="Person")
    excluded = _graph(EDGE, ann, {**NAMES, "negated": True}, p="Person", q="Person")
    assert answer(excluded) == wanted(_graph(EDGE, ann, p="Person")) - wanted(both)
