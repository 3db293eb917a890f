"""What a store knows of each result beside its rows: as it is kept in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from planners.graphseek.results.result import GraphPart, Result, ResultColumn, ResultEdge, ResultNode

__all__ = ["ResultRecord", "graph_json", "order_of", "parsed_graph", "with_tuples"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(slots=True, kw_only=True)
class ResultRecord:
    """A result, the invocation that made it, and what eviction looks at.

    :param operator: name of the operator; empty where the result was kept outside of an invocation.
    :param size: bytes.
    :param counts: numbers that are true of the result and stand in no cell: rows, distinct values, nodes of a type.
    :param used: number of the last invocation that read it.
    """

    result: Result
    operator: str
    arguments: Mapping[str, Any]
    size: int
    counts: tuple[float, ...] = ()
    used: int = 0
    evicted: bool = False

    def numbers(self) -> list[float]:
        """Return the counts, and the numbers that the operator says in notes."""
        return [*self.counts, *(float(found) for note in self.result.notes for found in _NUMBER.findall(note))]

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(_members(self), default=_members)

    @classmethod
    def from_json(cls, text: str) -> ResultRecord:
        """Read what :meth:`to_json` wrote."""
        members = json.loads(text)
        result = members.pop("result")
        columns = tuple(ResultColumn(**each) for each in result.pop("columns"))
        notes = tuple(result.pop("notes"))
        counts = tuple(members.pop("counts"))
        return cls(result=Result(**result, columns=columns, notes=notes), counts=counts, **members)


def _members(of: Any) -> dict[str, Any]:
    """Return the members of a dataclass; ``asdict`` would copy all that is in them."""
    return {each.name: getattr(of, each.name) for each in fields(of)}


def order_of(handle: str) -> tuple[int, ...]:
    """Return the numbers of a handle: ``t3.1`` is the first result inside of invocation 3."""
    return tuple(int(each) for each in handle[1:].split("."))


def graph_json(part: GraphPart) -> str:
    """Return a graph as JSON."""
    nodes = [[each.id, each.type, dict(each.properties)] for each in part.nodes]
    edges = [[each.type, each.source, each.target, dict(each.properties)] for each in part.edges]
    return json.dumps({"nodes": nodes, "edges": edges})


def parsed_graph(text: str) -> GraphPart:
    """Read what :func:`graph_json` wrote."""
    body = json.loads(text)
    return GraphPart(
        nodes=tuple(ResultNode(id=i, type=t, properties=with_tuples(p)) for i, t, p in body["nodes"]),
        edges=tuple(ResultEdge(type=t, source=s, target=g, properties=with_tuples(p)) for t, s, g, p in body["edges"]),
    )


def with_tuples(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties with tuples for lists: JSON and the engines give lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in properties.items()}
