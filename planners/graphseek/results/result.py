"""What operators return: tables and graphs, of any size, on disk under a handle."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from planners.stores.property_graph import Properties, Scalar

__all__ = [
    "Cell",
    "ColumnType",
    "EvictedError",
    "GraphPart",
    "Presentation",
    "Result",
    "ResultColumn",
    "ResultEdge",
    "ResultNode",
    "TableRows",
]

Cell: TypeAlias = Scalar | None
ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "node"]
"""``node``: the id of a node, from which :class:`Selection <planners.graphseek.operators.node_selection.Selection>` is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """A column of a table.

    :param node_type: of a column of nodes.
    """

    name: str
    type: ColumnType
    node_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """A table that is being made: its rows come in batches and are written as they come.

    :param batches: of rows with one cell for each column.
    """

    columns: tuple[ResultColumn, ...]
    batches: AsyncIterator[Sequence[tuple[Cell, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultNode:
    """A node of a result.

    :param id: of the graph; the same node has the same id in all results of one run.
    """

    id: str
    type: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEdge:
    """A relationship of a result; ``source`` and ``target`` are ids of nodes."""

    type: str
    source: str
    target: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPart:
    """A part of a graph: at most as large as operators make graphs (2,000 nodes, 5,000 relationships), so in memory."""

    nodes: tuple[ResultNode, ...] = ()
    edges: tuple[ResultEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How a result is shown to a person.

    :param of: handle of a table or graph.
    :param options: of the kind: ``x``, ``y`` (columns), ``columns``.
    """

    kind: Literal["table", "bar", "line", "scatter", "histogram", "graph"]
    of: str
    title: str = ""
    options: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result that stands on disk.

    :param handle: ``t1`` of a table, ``g1`` of a graph, ``p1`` of a presentation; numbered within a run.
    :param size: rows of a table, nodes of a graph.
    :param cut: whether there was more than the limit of the operator.
    :param summary: what a model sees: at most 600 tokens, whatever the size.
    :param notes: of the operator, each one sentence: a limit that was reached, a direction that gave more.
    """

    handle: str
    kind: Literal["table", "graph", "presentation"]
    size: int
    summary: str
    columns: tuple[ResultColumn, ...] = ()
    cut: bool = False
    notes: tuple[str, ...] = ()


class EvictedError(Exception):
    """The rows of a result, or its graph, were evicted for space: whoever runs operators runs this one again.

    :param operator: name of the operator that made it.
    :param arguments: that it had.
    """

    def __init__(self, handle: str, operator: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(f"{handle} was evicted; {operator} makes it again")
        self.handle = handle
        self.operator = operator
        self.arguments = arguments
