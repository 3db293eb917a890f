"""The seam of property graphs: nodes with one label, directed edges with a type, properties on both, parallel edges allowed.

Here stand the types of the seam, the values that every store keeps, the rows that typed operations change (each store plans its writes
on them), a graph's state in an order that is equal in all engines, and its text for prompts.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import networkx as nx

from ontology.errors import StatementError

__all__ = [
    "DeleteEdge",
    "DeleteNode",
    "EdgeRow",
    "GraphEdge",
    "GraphNode",
    "GraphState",
    "InsertEdge",
    "InsertNode",
    "Language",
    "MergeEdge",
    "MergeNode",
    "NodeRef",
    "NodeRow",
    "Operation",
    "Properties",
    "PropertyGraph",
    "PropertyRows",
    "QueryLimits",
    "QueryRows",
    "ReplaceGraph",
    "Scalar",
    "Statement",
    "Value",
    "apply_typed",
    "canonical_state",
    "check_characters",
    "check_effect",
    "checked_name",
    "checked_properties",
    "checked_value",
    "state_of_rows",
    "state_rows",
    "state_text",
    "value_key",
]

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | tuple[Scalar, ...]
"""A value of a property: finite; the members of a tuple have one type. What has no value has no property."""
Properties: TypeAlias = Mapping[str, Value]
Language: TypeAlias = Literal["cypher", "sparql", "python"]

MAX_TEXT = 1_000_000
"""Characters of one text value: chosen as ten times the longest page that ``inspect_file`` gives in our tests."""
MAX_LIST = 10_000
"""Members of one list: chosen as what Bolt and SPARQL each wrote in under a second in our tests."""
MAX_NAME = 256
"""Characters of a label, type or property name: no name of our catalogues has more than 80."""
MAX_NODES = 50_000
"""Of a graph: about a hundred times the largest of the paper (522 nodes); its state in memory stays under 100 MiB."""
MAX_EDGES = 200_000
"""Of a graph: four for each node at most; it stops an edge between all nodes and all others."""
_ORDER_STEPS = 1_000_000
"""Nodes and edge ends that ordering one graph looks at, about a second; what is alike after that stays in the order of insertion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRef:
    """All nodes with a label and with these properties among theirs."""

    label: str
    key: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertNode:
    """Insert a node, also where an equal one stands."""

    label: str
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeNode:
    """Set properties of the nodes that match; where none does, insert one with the key and the properties."""

    node: NodeRef
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfEdges:
    type: str
    source: NodeRef
    target: NodeRef
    properties: Properties = field(default_factory=dict)


class InsertEdge(_OfEdges):
    """Insert an edge between each pair of nodes that match, also where an equal one stands."""

    __slots__ = ()


class MergeEdge(_OfEdges):
    """Insert an edge between each pair of nodes that match where none of this type with these properties stands."""

    __slots__ = ()


class DeleteEdge(_OfEdges):
    """Delete the edges of a type between nodes that match, of those with these properties."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNode:
    """Delete the nodes that match, and their edges."""

    node: NodeRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A write in the language of the graph, of a model; an allow-list stands before the engine."""

    text: str
    parameters: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node of a state.

    :param id: ``n1``, ``n2``, …: its place in the canonical order; it means nothing outside of this state.
    """

    id: str
    label: str
    properties: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEdge:
    """An edge of a state; ``source`` and ``target`` are ids of its nodes."""

    type: str
    source: str
    target: str
    properties: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphState:
    """A whole graph in canonical order."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceGraph:
    """Replace the whole graph by a state: a graph of another store, one of a journal, one without noise. No model writes it."""

    state: GraphState


Operation: TypeAlias = (
    InsertNode | MergeNode | InsertEdge | MergeEdge | DeleteNode | DeleteEdge | ReplaceGraph | Statement
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """The most rows that a query gives, and the most seconds that it takes."""

    rows: int = 1_000
    seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRows:
    """The rows of a query.

    :param rows: JSON values; a node is ``{"label": …, "properties": {…}}``.
    :param cut: whether there were more.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    cut: bool = False


class PropertyGraph(Protocol):
    """One graph. Concurrent calls are allowed; each applies as a whole or not at all.

    Each method raises StorageError when the engine cannot be reached, or its disk is full.
    """

    @property
    def language(self) -> Language:
        """The language of statements and queries."""
        ...

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails.

        :raises StatementError: when an operation is refused or fails.
        """
        ...

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = ...
    ) -> QueryRows:
        """Read. The graph is not changed, whatever the text says.

        :raises StatementError: when the query is refused, fails, or takes too long.
        """
        ...

    async def state(self) -> GraphState:
        """Return the whole graph."""
        ...


def check_characters(text: str, what: str) -> None:
    """Check that a text is one of Unicode: engines take no half of a character, and tell of their own insides where one comes.

    :raises StatementError: when a character is none, or is NUL.
    """
    if "\0" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        problem = f"{what} holds a character that is none of Unicode text"
        raise StatementError(problem, subject=what, remedy="Leave it out")


def checked_name(name: object, what: str) -> str:
    """Return a label, a type or the name of a property.

    :raises StatementError: when it is no text, empty, too long, or holds a character that no store takes.
    """
    if not isinstance(name, str) or not name.strip():
        raise StatementError(f"{what} is not a text with at least one character", subject=what, remedy="Give it a name")
    if len(name) > MAX_NAME:
        problem = f"{what} has more than {MAX_NAME} characters"
        raise StatementError(problem, subject=name[:40], remedy="Give a shorter name")
    check_characters(name, what)
    return name


def checked_properties(properties: Mapping[str, object]) -> dict[str, Value]:
    """Return properties in the order of their names, without those that are None.

    :raises StatementError: when a name or a value is none that stores keep.
    """
    return {
        checked_name(name, "the name of a property"): checked_value(value, name)
        for name, value in sorted(properties.items(), key=lambda item: str(item[0]))
        if value is not None
    }


def checked_value(value: object, name: str) -> Value:
    """Return a value as stores keep it: lists as tuples, -0.0 as 0.0.

    :raises StatementError: when it is no scalar or list of scalars of one type, or too large.
    """
    if not isinstance(value, list | tuple):
        return _checked_scalar(value, name)
    if len(value) > MAX_LIST:
        raise _unfit(name, f"a list of more than {MAX_LIST} values")
    members = tuple(_checked_scalar(member, name) for member in value)
    kinds = {type(member) for member in members}
    if kinds == {int, float}:
        return tuple(float(member) for member in members)
    if len(kinds) > 1:
        raise _unfit(name, "a list of values of several types")
    return members


def _checked_scalar(value: object, name: str) -> Scalar:
    match value:
        case str():
            if len(value) > MAX_TEXT:
                raise _unfit(name, f"a text of more than {MAX_TEXT:,} characters")
            check_characters(value, f"the value of {name}")
            return str(value)
        case bool():
            return value
        case int():
            if not -(2**63) <= value < 2**63:
                raise _unfit(name, "an integer of more than 64 bits")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise _unfit(name, "a number that is not finite")
            return float(value) or 0.0
    raise _unfit(name, f"a value of the type {type(value).__name__}")


def _unfit(name: str, what: str) -> StatementError:
    remedy = "Give a text, a number, true or false, or a list of one of these"
    return StatementError(f"a property has {what}", subject=str(name)[:80], remedy=remedy)


def _equal_values(one: Value, other: Value) -> bool:
    """Say whether two values are equal as in Cypher and SPARQL: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal_values, one, other))  # type: ignore[arg-type]
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _has_properties(properties: Properties, wanted: Properties) -> bool:
    return all(name in properties and _equal_values(properties[name], value) for name, value in wanted.items())


def value_key(value: Value) -> tuple[object, ...]:
    """Return a key that orders values, and tells those of different types apart."""
    if isinstance(value, tuple):
        return ("list", *(value_key(member) for member in value))
    return (type(value).__name__, value)


class NodeRow(NamedTuple):
    """A node. Rows never change: a changed node has another row, which is how stores find what to write."""

    label: str
    properties: Properties


class EdgeRow(NamedTuple):
    """An edge; source and target are keys of nodes."""

    type: str
    source: int
    target: int
    properties: Properties


@dataclass(slots=True, kw_only=True)
class PropertyRows:
    """A graph that changes: rows under keys, one sequence for nodes and edges.

    Methods that insert raise StatementError when the graph is full.

    :param ids: key → what the engine of a store calls the node or edge; new rows have none.
    """

    nodes: dict[int, NodeRow] = field(default_factory=dict)
    edges: dict[int, EdgeRow] = field(default_factory=dict)
    next_key: int = 1
    ids: dict[int, Any] = field(default_factory=dict)

    def copy(self) -> PropertyRows:
        """Return a copy that shares the rows."""
        return PropertyRows(nodes=dict(self.nodes), edges=dict(self.edges), next_key=self.next_key, ids=dict(self.ids))

    def matching(self, node: NodeRef) -> list[int]:
        """Return the keys of the nodes that match, in their order."""
        label, wanted = checked_name(node.label, "a label"), checked_properties(node.key)
        return [
            key for key, row in self.nodes.items() if row.label == label and _has_properties(row.properties, wanted)
        ]

    def add_node(self, label: object, properties: Mapping[str, object]) -> int:
        """Check and insert a node, and return its key."""
        row = NodeRow(checked_name(label, "a label"), checked_properties(properties))
        return self._add(self.nodes, row, "nodes", MAX_NODES)

    def add_edge(self, kind: object, source: int, target: int, properties: Mapping[str, object]) -> int:
        """Check and insert an edge, and return its key."""
        row = EdgeRow(checked_name(kind, "a type"), source, target, checked_properties(properties))
        return self._add(self.edges, row, "edges", MAX_EDGES)

    def _add(self, rows: dict[int, Any], row: NodeRow | EdgeRow, what: str, limit: int) -> int:
        if len(rows) >= limit:
            problem = f"the graph would have more than {limit:,} {what}"
            raise StatementError(problem, subject=what, remedy="Write fewer at once")
        rows[self.next_key] = row
        self.next_key += 1
        return self.next_key - 1

    def keep_edges(self, is_kept: Any) -> None:
        """Delete the edges of which this does not hold."""
        self.edges = {key: row for key, row in self.edges.items() if is_kept(row)}


def apply_typed(rows: PropertyRows, operation: Operation) -> None:
    """Change a graph by a typed operation.

    :raises StatementError: when it holds what stores do not keep, or is a statement; the graph is then changed in part.
    """
    match operation:
        case InsertNode():
            rows.add_node(operation.label, operation.properties)
        case MergeNode():
            _merge_node(rows, operation)
        case DeleteNode():
            gone = set(rows.matching(operation.node))
            rows.nodes = {key: row for key, row in rows.nodes.items() if key not in gone}
            rows.keep_edges(lambda row: gone.isdisjoint((row.source, row.target)))
        case InsertEdge() | MergeEdge() | DeleteEdge():
            _change_edges(rows, operation)
        case ReplaceGraph():
            replaced = state_rows(operation.state, rows.next_key)  # keys are never given twice
            rows.nodes, rows.edges, rows.next_key = replaced.nodes, replaced.edges, replaced.next_key
        case Statement():
            raise StatementError("a statement is not a typed operation", remedy="Give it to a store of its language")


def _merge_node(rows: PropertyRows, operation: MergeNode) -> None:
    found = rows.matching(operation.node)
    properties = checked_properties(operation.properties)
    for key in found:
        old = rows.nodes[key]
        rows.nodes[key] = NodeRow(old.label, dict(sorted({**old.properties, **properties}.items())))
    if not found:
        rows.add_node(operation.node.label, {**operation.node.key, **properties})


def _change_edges(rows: PropertyRows, operation: _OfEdges) -> None:
    kind, properties = checked_name(operation.type, "a type"), checked_properties(operation.properties)
    sources, targets = dict.fromkeys(rows.matching(operation.source)), dict.fromkeys(rows.matching(operation.target))

    def is_named(row: EdgeRow) -> bool:
        is_between = row.type == kind and row.source in sources and row.target in targets
        return is_between and _has_properties(row.properties, properties)

    if isinstance(operation, DeleteEdge):
        rows.keep_edges(lambda row: not is_named(row))
        return
    standing = (
        {(row.source, row.target) for row in rows.edges.values() if is_named(row)}
        if isinstance(operation, MergeEdge)
        else set()
    )
    for source in sources:
        for target in targets:
            if (source, target) not in standing:
                rows.add_edge(kind, source, target, properties)


def check_effect(before: PropertyRows, after: PropertyRows) -> None:
    """Refuse a statement of a model that empties a graph, whatever its text: a run would lose all that it knows.

    The last node, edge or value alone may be deleted. Nodes are the same where their ids are.

    :raises StatementError: when of several nodes, edges, or nodes with properties, none is left.
    """

    ids = [{rows.ids[key] for key in rows.nodes} for rows in (before, after)]
    filled = [sum(bool(row.properties) for row in rows.nodes.values()) for rows in (before, after)]
    for what, had, has in (
        ("nodes of the graph", len(ids[0]), len(ids[0] & ids[1])),
        ("relationships of the graph", len(before.edges), len(after.edges)),
        ("nodes' properties", filled[0], filled[1]),
    ):
        if had > 1 and not has:
            raise StatementError(
                f"the statement deletes all {had} {what}",
                subject="statement",
                remedy="Delete only what is wrong, named by its properties",
            )


def state_rows(state: GraphState, first_key: int = 1) -> PropertyRows:
    """Return a state as rows; keys follow the order of the state.

    :raises StatementError: when it holds what stores do not keep.
    """
    rows = PropertyRows(next_key=first_key)
    keys = {node.id: rows.add_node(node.label, node.properties) for node in state.nodes}
    for edge in state.edges:
        if edge.source not in keys or edge.target not in keys:
            raise StatementError("an edge of a state has an end that is none of its nodes", subject=edge.type)
        rows.add_edge(edge.type, keys[edge.source], keys[edge.target], edge.properties)
    return rows


def state_of_rows(rows: PropertyRows) -> GraphState:
    """Return the state of a graph."""
    return canonical_state(rows.nodes, rows.edges.values())


def canonical_state(nodes: Mapping[int, NodeRow], edges: Iterable[EdgeRow]) -> GraphState:
    """Return a graph in canonical order, so that the same graph has the same state in all engines.

    Nodes are ordered by label, then properties, then by what surrounds them (Weisfeiler-Leman refinement). Nodes that are still alike are
    singled out in the order of insertion. Where such nodes are not interchangeable, which takes a part of equal nodes that are all joined
    alike, two engines may order them differently.
    """
    edges = list(edges)
    kinds = _ranks({at: (edge.type, _properties_key(edge.properties)) for at, edge in enumerate(edges)})
    place = {key: at for at, key in enumerate(_ordered_keys(nodes, edges, kinds))}
    found = sorted((place[edge.source], kinds[at], place[edge.target], at) for at, edge in enumerate(edges))
    return GraphState(
        nodes=tuple(
            GraphNode(id=f"n{at + 1}", label=nodes[key].label, properties=dict(sorted(nodes[key].properties.items())))
            for key, at in place.items()
        ),
        edges=tuple(
            GraphEdge(
                type=edges[at].type,
                source=f"n{source + 1}",
                target=f"n{target + 1}",
                properties=dict(sorted(edges[at].properties.items())),
            )
            for source, _, target, at in found
        ),
    )


def _ordered_keys(nodes: Mapping[int, NodeRow], edges: Sequence[EdgeRow], kinds: Mapping[int, int]) -> list[int]:
    joined: dict[int, list[tuple[int, int, int]]] = {key: [] for key in nodes}
    for at, edge in enumerate(edges):
        joined[edge.source].append((0, kinds[at], edge.target))
        joined[edge.target].append((1, kinds[at], edge.source))
    left = _ORDER_STEPS

    def refined(colours: dict[int, int]) -> dict[int, int]:
        nonlocal left
        while left > 0 and (count := len(set(colours.values()))) < len(colours):
            left -= len(colours) + 2 * len(edges)
            around = {
                key: sorted((way, kind, colours[other]) for way, kind, other in ends) for key, ends in joined.items()
            }
            finer = _ranks({key: (colour, tuple(around[key])) for key, colour in colours.items()})
            if len(set(finer.values())) == count:
                break
            colours = finer
        return colours

    colours = refined(_ranks({key: (row.label, _properties_key(row.properties)) for key, row in nodes.items()}))
    if len(set(colours.values())) < len(colours):
        graph = nx.Graph((edge.source, edge.target) for edge in edges)
        sizes = {
            key: len(part) for part in nx.connected_components(graph) for key in part
        }  # circles differ in nothing else
        colours = refined(_ranks({key: (colour, sizes.get(key, 1)) for key, colour in colours.items()}))
    while left > 0:
        alike = Counter(colours.values())
        tied = [
            key
            for key, colour in colours.items()
            if alike[colour] > 1 and any(alike[colours[other]] > 1 for *_, other in joined[key])
        ]
        if not tied:
            break
        first = min(tied, key=colours.__getitem__)
        colours = refined(_ranks({key: (colour, key != first) for key, colour in colours.items()}))
    return sorted(nodes, key=colours.__getitem__)


def _properties_key(properties: Properties) -> tuple[object, ...]:
    return tuple((name, value_key(value)) for name, value in sorted(properties.items()))


def _ranks(keys: Mapping[int, tuple[Any, ...]]) -> dict[int, int]:
    """Return the rank of each key; equal keys have equal ranks."""
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
    return {at: ranks[key] for at, key in keys.items()}


def state_text(state: GraphState, *, longest: int | None = None) -> str:
    """Return a state as text: nodes by label, then edges by type, one a line, their properties as JSON.

    The ids join the lines of this text; they are no properties, and the engine does not know them. A line break in a value
    is escaped. Characters that mean something in XML are not: a prompt fences or escapes the text.

    :param longest: characters of one text value; of a longer one the beginning stands, and how long it is. None: all.
    """
    if not state.nodes:
        return "The graph is empty."

    def shown(properties: Properties) -> str:
        return json.dumps({name: _cut(value, longest) for name, value in properties.items()}, ensure_ascii=False)

    labels = {node.id: _shown_name(node.label) for node in state.nodes}
    lines = ["Nodes by label:"]
    for label in sorted({node.label for node in state.nodes}):
        lines.append(f"{_shown_name(label)}:")
        lines += [f"  {node.id} {shown(node.properties)}" for node in state.nodes if node.label == label]
    lines.append("Relationships by type:" if state.edges else "Relationships: none.")
    for kind in sorted({edge.type for edge in state.edges}):
        lines.append(f"{_shown_name(kind)}:")
        for edge in state.edges:
            if edge.type == kind:
                ends = f"({edge.source}:{labels[edge.source]})->({edge.target}:{labels[edge.target]})"
                lines.append(f"  {ends}" + (f" {shown(edge.properties)}" if edge.properties else ""))
    return "\n".join(lines)


def _shown_name(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _cut(value: Value, longest: int | None) -> object:
    if isinstance(value, tuple):
        return [_cut(member, longest) for member in value]
    if isinstance(value, str) and longest is not None and len(value) > longest:
        return f"{value[:longest]}… ({len(value)} characters)"
    return value
