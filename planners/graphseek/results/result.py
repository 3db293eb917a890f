"""The results of operators: tables, graphs and presentations, which stand on disk under handles."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from planners.stores.property_graph import Properties, Scalar

Cell: TypeAlias = Scalar | None
ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "node"]
"""``node``: the id of a node, which further operators can start from."""
Sought: TypeAlias = str | float | tuple[str, ...]
"""A name, the beginning of one (with ``…`` behind it), a number, or several names of which one is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """A column of a table; ``node_type`` is that of a column of nodes."""

    name: str
    type: ColumnType
    node_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """A table that is being made: its rows come in batches, with one cell for each column."""

    columns: tuple[ResultColumn, ...]
    batches: AsyncIterator[Sequence[tuple[Cell, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """A table that DuckDB computes of others.

    :param text: SQL without LIMIT. A table is named like its handle, in double quotes; its columns are ``c0``, ``c1``, …
    :param of: handles of the tables that it reads.
    """

    columns: tuple[ResultColumn, ...]
    text: str
    of: tuple[str, ...]
    parameters: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultNode:
    """A node; the same node has the same id in all results of one run."""

    id: str
    type: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultEdge:
    """A relationship; ``source`` and ``target`` are ids of nodes."""

    type: str
    source: str
    target: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPart:
    """A part of a graph: at most 2,000 nodes and 5,000 relationships, so in memory."""

    nodes: tuple[ResultNode, ...] = ()
    edges: tuple[ResultEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """How a table or a graph, ``of`` by its handle, is shown to a person; options are ``x``, ``y`` or ``columns``."""

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
    :param notes: of the operator, each one sentence.
    """

    handle: str
    kind: Literal["table", "graph", "presentation"]
    size: int
    summary: str
    columns: tuple[ResultColumn, ...] = ()
    cut: bool = False
    notes: tuple[str, ...] = ()


def order_of(handle: str) -> int:
    """Return the number of a handle: of the invocation that made it."""
    return int(handle[1:])


def with_tuples(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties with tuples for lists: JSON and the engines give lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in properties.items()}
