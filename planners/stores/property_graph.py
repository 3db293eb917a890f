"""The seam of property graphs: nodes with one label, directed edges with a type, properties on both, parallel edges allowed.

Here stand the types of the seam, the values that every store keeps, the rows that typed operations change, the order of a state, its text
for prompts, and the removal of noise (appendix B.6 of the Knowledge Graph of Thoughts).
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from ontology.errors import StatementError

Scalar: TypeAlias = str | int | float | bool
# A value of a property: finite; the members of a tuple have one type. What has no value has no property.
Value: TypeAlias = Scalar | tuple[Scalar, ...]
Properties: TypeAlias = Mapping[str, Value]
Language: TypeAlias = Literal["cypher", "sparql", "python"]  # of queries

# Limits of one graph: some ten times what the largest graphs of the paper and of our tests have.
MAX_TEXT = 1_000_000
MAX_LIST = 10_000
MAX_NAME = 256
MAX_NODES = 50_000
MAX_EDGES = 200_000


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
class MergeEdge:
    """Insert an edge between each pair of nodes that match where none of this type with these properties stands."""

    type: str
    source: NodeRef
    target: NodeRef
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node of a state; ``id`` is its place there, ``n1``, ``n2``, …, and means nothing outside of this state."""

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
    """A whole graph: nodes by label, properties and what they are joined to, edges by their source."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceGraph:
    """Replace the whole graph by a state: an empty one, or one without noise. No model writes it."""

    state: GraphState = field(default_factory=GraphState)


# All writes are typed: no text of a model is ever run as a write
Operation: TypeAlias = InsertNode | MergeNode | MergeEdge | ReplaceGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """The most rows that a query gives, and the most seconds that it takes."""

    rows: int = 1_000
    seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRows:
    """The rows of a query, JSON values (a node is ``{"label": …, "properties": {…}}``), and whether there were more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool = False


class PropertyGraph(Protocol):
    """One graph. Concurrent calls are allowed; each applies as a whole or not at all. Each method raises StorageError
    when the engine cannot be reached."""

    @property
    def language(self) -> Language:
        """The language of queries."""
        ...

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails. One that holds what stores do not keep raises
        StatementError."""
        ...

    async def query(self, text: str, limits: QueryLimits = ...) -> QueryRows:
        """Read. The graph is not changed, whatever the text says. Raises StatementError when the query is refused,
        fails, or takes too long."""
        ...

    async def state(self) -> GraphState:
        """Return the whole graph."""
        ...


def check_characters(text: str, what: str) -> None:
    """Check that a text is one of Unicode: engines take no half of a character, and tell of their own insides where one
    comes. Such a character, or NUL, raises StatementError."""
    if "\0" in text or (not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)):
        problem = f"{what} holds a character that is none of Unicode text"
        raise StatementError(problem, subject=what, remedy="Leave it out")


def _checked_name(name: object, what: str) -> str:
    """Return a label, a type or the name of a property."""
    if not isinstance(name, str) or not name.strip():
        raise StatementError(f"{what} is not a text with at least one character", subject=what, remedy="Give it a name")
    if len(name) > MAX_NAME:
        problem = f"{what} has more than {MAX_NAME} characters"
        raise StatementError(problem, subject=name[:40], remedy="Give a shorter name")
    check_characters(name, what)
    return name


def checked_properties(properties: Mapping[str, object]) -> dict[str, Value]:
    """Return properties in the order of their names, without those that are None: lists as tuples, -0.0 as 0.0. Raises
    StatementError when a name is none, or a value is no scalar or list of scalars of one type, or too large."""
    return {
        _checked_name(name, "the name of a property"): _checked_value(value, name)
        for name, value in sorted(properties.items(), key=lambda item: str(item[0]))
        if value is not None
    }


def _checked_value(value: object, name: str) -> Value:
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
        case bool():
            return value
        case str() if len(value) <= MAX_TEXT:
            check_characters(value, f"the value of {name}")
            return str(value)
        case int() if -(2**63) <= value < 2**63:
            return int(value)
        case float() if math.isfinite(value):
            return float(value) or 0.0
        case str():
            raise _unfit(name, f"a text of more than {MAX_TEXT:,} characters")
        case int():
            raise _unfit(name, "an integer of more than 64 bits")
        case float():
            raise _unfit(name, "a number that is not finite")
    raise _unfit(name, f"a value of the type {type(value).__name__}")


def _unfit(name: str, what: str) -> StatementError:
    remedy = "Give a text, a number, true or false, or a list of one of these"
    return StatementError(f"a property has {what}", subject=str(name)[:80], remedy=remedy)


def _value_key(value: Value) -> tuple[object, ...]:
    """Return a key that orders values, and tells those of different types apart."""
    if isinstance(value, tuple):
        return ("list", *(_value_key(member) for member in value))
    return (type(value).__name__, value)


def _properties_key(properties: Properties) -> tuple[object, ...]:
    return tuple((name, _value_key(value)) for name, value in sorted(properties.items()))


def _equal_values(one: Value, other: Value) -> bool:
    """Say whether two values are equal as in Cypher and SPARQL: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal_values, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _has_properties(properties: Properties, wanted: Properties) -> bool:
    return all(name in properties and _equal_values(properties[name], value) for name, value in wanted.items())


# --- Rows -----------------------------------------------------------------------------------------------------------------------------


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
    """A graph that changes: rows under keys, one sequence for nodes and edges; no key is given twice."""

    nodes: dict[int, NodeRow] = field(default_factory=dict)
    edges: dict[int, EdgeRow] = field(default_factory=dict)
    next_key: int = 1

    def matching(self, node: NodeRef) -> list[int]:
        """Return the keys of the nodes that match, in their order."""
        label, wanted = _checked_name(node.label, "a label"), checked_properties(node.key)
        alike = ((key, row.properties) for key, row in self.nodes.items() if row.label == label)
        return [key for key, properties in alike if _has_properties(properties, wanted)]

    def add_node(self, label: object, properties: Mapping[str, object]) -> int:
        """Check and insert a node, and return its key."""
        row = NodeRow(_checked_name(label, "a label"), checked_properties(properties))
        return self._add(self.nodes, row, "nodes", MAX_NODES)

    def add_edge(self, kind: object, source: int, target: int, properties: Mapping[str, object]) -> int:
        """Check and insert an edge, and return its key."""
        row = EdgeRow(_checked_name(kind, "a type"), source, target, checked_properties(properties))
        return self._add(self.edges, row, "edges", MAX_EDGES)

    def _add(self, rows: dict[int, Any], row: NodeRow | EdgeRow, what: str, limit: int) -> int:
        if len(rows) >= limit:
            problem = f"the graph would have more than {limit:,} {what}"
            raise StatementError(problem, subject=what, remedy="Write fewer at once")
        rows[self.next_key] = row
        self.next_key += 1
        return self.next_key - 1

    def add_state(self, state: GraphState) -> None:
        """Insert the nodes and edges of a state; keys follow its order."""
        keys = {node.id: self.add_node(node.label, node.properties) for node in state.nodes}
        for edge in state.edges:
            if edge.source not in keys or edge.target not in keys:
                raise StatementError("an edge of a state has an end that is none of its nodes", subject=edge.type)
            self.add_edge(edge.type, keys[edge.source], keys[edge.target], edge.properties)

    def state(self) -> GraphState:
        """Return the graph as a state; nodes that are alike stand in the order of their insertion."""
        own = {key: (row.label, _properties_key(row.properties)) for key, row in self.nodes.items()}
        joined: dict[int, list[tuple[object, ...]]] = {key: [] for key in self.nodes}
        for edge in self.edges.values():
            kind = (edge.type, _properties_key(edge.properties))
            joined[edge.source].append((0, kind, own[edge.target]))
            joined[edge.target].append((1, kind, own[edge.source]))
        place = {key: at for at, key in enumerate(sorted(own, key=lambda key: (own[key], sorted(joined[key]))), 1)}
        nodes = ((f"n{at}", self.nodes[key]) for key, at in place.items())
        edges = sorted(
            self.edges.values(),
            key=lambda row: (place[row.source], row.type, _properties_key(row.properties), place[row.target]),
        )
        ends = ((row, f"n{place[row.source]}", f"n{place[row.target]}") for row in edges)
        return GraphState(
            nodes=tuple(GraphNode(id=name, label=row.label, properties=row.properties) for name, row in nodes),
            edges=tuple(
                GraphEdge(type=row.type, source=source, target=target, properties=row.properties)
                for row, source, target in ends
            ),
        )


def state_rows(state: GraphState) -> PropertyRows:
    """Return a state as rows; raises StatementError when it holds what stores do not keep."""
    rows = PropertyRows()
    rows.add_state(state)
    return rows


def apply_typed(rows: PropertyRows, operations: Sequence[Operation]) -> PropertyRows:
    """Return a graph after operations in their order; it shares rows with the one before. An operation that holds what
    stores do not keep raises StatementError."""
    after = replace(rows, nodes=dict(rows.nodes), edges=dict(rows.edges))
    for operation in operations:
        match operation:
            case InsertNode():
                after.add_node(operation.label, operation.properties)
            case MergeNode():
                properties, found = checked_properties(operation.properties), after.matching(operation.node)
                for key in found:
                    label, old = after.nodes[key]
                    after.nodes[key] = NodeRow(label, dict(sorted({**old, **properties}.items())))
                if not found:
                    after.add_node(operation.node.label, {**operation.node.key, **properties})
            case MergeEdge():
                kind, properties = _checked_name(operation.type, "a type"), checked_properties(operation.properties)
                pairs = product(after.matching(operation.source), after.matching(operation.target))
                alike = (edge for edge in after.edges.values() if edge.type == kind)
                standing = {
                    (edge.source, edge.target) for edge in alike if _has_properties(edge.properties, properties)
                }
                for source, target in pairs:
                    if (source, target) not in standing:
                        after.add_edge(kind, source, target, properties)
            case ReplaceGraph():
                after = PropertyRows(next_key=after.next_key)
                after.add_state(operation.state)
    return after


class RowsGraph:
    """A graph whose rows stand in this process, as typed operations change them: what all stores of tasks are made of."""

    def __init__(self, state: GraphState | None = None) -> None:
        self.rows = state_rows(state or GraphState())

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Apply operations in their order: all, or none where one fails."""
        self.rows = apply_typed(self.rows, operations)

    async def state(self) -> GraphState:
        """Return the whole graph."""
        return self.rows.state()


# --- Text of prompts ------------------------------------------------------------------------------------------------------------------


def state_text(state: GraphState, *, longest: int | None = None) -> str:
    """Return a state as text: nodes by label, then edges by type, one a line, their properties as JSON. The ids join
    the lines of this text; they are no properties, and the engine does not know them. A line break in a value is
    escaped. Characters that mean something in XML are not: a prompt fences or escapes the text. Of a text value with
    more than ``longest`` characters (None: all) the beginning stands, and how long it is."""
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


# --- Noise ----------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRemoval:
    """A graph without noise, the nodes that are gone, and of those that were merged the one that stands for them, by ids before."""

    after: GraphState
    removed: tuple[GraphNode, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)


def merge_duplicates(state: GraphState) -> NoiseRemoval:
    """Merge nodes of one label with equal properties; the first in the order of the state stands for them. Texts are
    equal but for case, spaces, and signs around them. Edges of the merged go to the one that stays; one that is then
    there twice goes. What is merged wrongly is lost to the answer, a twin that stays costs a row: so texts that are
    only alike stay."""
    kept: dict[object, str] = {}
    merged: dict[str, str] = {}

    def plain(text: str) -> str:
        """A text without case, repeated spaces, and signs around it."""
        return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip("\"'“”‘’.,;:!? ")

    for node in state.nodes:
        key = tuple(
            (name, plain(value) if isinstance(value, str) else _value_key(value))
            for name, value in sorted(node.properties.items())
        )
        first = kept.setdefault((node.label, key), node.id) if key else node.id
        if first != node.id:
            merged[node.id] = first
    if not merged:
        return NoiseRemoval(after=state)
    edges: list[GraphEdge] = []
    seen: set[object] = set()
    for edge in sorted(state.edges, key=lambda edge: edge.source in merged or edge.target in merged):
        moved = replace(edge, source=merged.get(edge.source, edge.source), target=merged.get(edge.target, edge.target))
        ends = (moved.type, moved.source, moved.target, _properties_key(moved.properties))
        if moved == edge or ends not in seen:
            edges.append(moved)
        seen.add(ends)
    left = GraphState(nodes=tuple(node for node in state.nodes if node.id not in merged), edges=tuple(edges))
    removed = tuple(node for node in state.nodes if node.id in merged)
    return NoiseRemoval(after=state_rows(left).state(), removed=removed, merged=merged)
