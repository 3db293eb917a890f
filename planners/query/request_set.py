"""The shipped requests of a domain with their gold graphs, by which readers are measured: they were written before the readers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

import networkx as nx
from networkx.algorithms.isomorphism import categorical_edge_match, categorical_node_match
from pydantic import BaseModel, ConfigDict, Field

from planners.query.query_graph import QueryGraph

__all__ = ["GoldRequest", "request_set", "same_graph"]

_FOLDER = Path(__file__).parent / "requests"


class GoldRequest(BaseModel):
    """One request.

    :param split: rules may be written in view of ``dev``, never of ``test``.
    :param paper: whether it stands in the paper QueryWeaver.
    :param hops: number of edges of the graph.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    split: Literal["dev", "test"]
    paper: bool
    hops: int = Field(ge=0)
    request: str
    graph: QueryGraph

    @property
    def domain(self) -> str:
        """The name of its domain."""
        return self.id.rpartition("-")[0]


@cache
def request_set(domain: str) -> tuple[GoldRequest, ...]:
    """Return the requests of a shipped domain; of any other domain there are none."""
    path = _FOLDER / f"{domain}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return tuple(map(GoldRequest.model_validate_json, lines))


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
            (each.field, each.op, each.negated, _value(each.field, each.value)) for each in graph.filters_of(var)
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
