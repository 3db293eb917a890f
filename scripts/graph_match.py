"""Whether two query graphs say the same: up to the names of variables and the order of constraints."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
from networkx.algorithms.isomorphism import categorical_edge_match, categorical_node_match

from planners.query.query_graph import QueryGraph

__all__ = ["same_graph"]

_LEAD = re.compile(r"^(?:(?:in|on|at|during|from|over|since|after|before|prior to|the)\s+)+")


def same_graph(first: QueryGraph, second: QueryGraph) -> bool:
    """Whether two graphs are equal but for names and order.

    Texts are compared without case; of a filter with a date word, the preposition at its start does not count, since the operator says
    the same.
    """
    if (first.action, first.return_mode) != (second.action, second.return_mode):
        return False
    return bool(
        nx.is_isomorphic(
            _graph(first),
            _graph(second),
            node_match=categorical_node_match("label", None),
            edge_match=categorical_edge_match("label", None),
        )
    )


def _graph(graph: QueryGraph) -> Any:
    """Variables are nodes with their type, filters and whether they are returned; an edge is a node too, so that several may join two."""
    found: Any = nx.DiGraph()
    for var, kind in graph.vars.items():
        filters = sorted(
            (each.field, each.op, *(_value(each.field, value) for value in each.values))
            for each in graph.filters_of(var)
        )
        found.add_node(var, label=("variable", kind, var == graph.return_var, tuple(filters)))
    for number, edge in enumerate(graph.edges):
        found.add_node(number, label=("edge", edge.edge, edge.negated, edge.only, edge.max_hops))
        found.add_edge(edge.source, number, label="source")
        found.add_edge(number, edge.target, label="target")
    return found


def _value(field: str, value: object) -> str:
    text = " ".join(str(value).casefold().split())
    return _LEAD.sub("", text) if field == "value" else text
