"""The seam of property graphs: nodes with one label, directed edges with a type, properties on both, parallel edges allowed.

Here stand the types of the seam, the values that every store keeps, the rows that typed operations change (each store plans its writes
on them), the order of a state, its text for prompts, and the removal of noise (appendix B.6 of the Knowledge Graph of Thoughts).
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from ontology.errors import StatementError

__all__ = [
    "DeleteEdge", "DeleteNode", "EdgeRow", "GraphEdge", "GraphNode", "GraphState", "InsertEdge", "InsertNode", "Language", "MergeEdge",
    "MergeNode", "NodeRef", "NodeRow", "NoiseRemoval", "Operation", "Properties", "PropertyGraph", "PropertyRows", "QueryLimits",
    "QueryRows", "ReplaceGraph", "Scalar", "Statement", "Value", "apply_typed", "canonical_state", "check_characters", "check_effect",
    "checked_properties", "checked_value", "merge_duplicates", "remove_irrelevant", "state_of_rows", "state_rows", "state_text",
    "value_key",
]  # fmt: skip

Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | tuple[Scalar, ...]
"""A value of a property: finite; the members of a tuple have one type. What has no value has no property."""
Properties: TypeAlias = Mapping[str, Value]
Language: TypeAlias = Literal["cypher", "sparql", "python"]

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
    """A whole graph, in the order of :func:`canonical_state`."""

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
    """The rows of a query, JSON values (a node is ``{"label": …, "properties": {…}}``), and whether there were more."""

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
    members = tuple(_checked_scalar(member, name) for member in value[: MAX_LIST + 1])
    kinds = {type(member) for member in members}
    if kinds == {int, float}:
        members = tuple(float(member) for member in members)
    elif len(kinds) > 1:
        raise _unfit(name, "a list of values of several types")
    if len(members) > MAX_LIST:
        raise _unfit(name, f"a list of more than {MAX_LIST} values")
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


def value_key(value: Value) -> tuple[object, ...]:
    """Return a key that orders values, and tells those of different types apart."""
    if isinstance(value, tuple):
        return ("list", *(value_key(member) for member in value))
    return (type(value).__name__, value)


def _properties_key(properties: Properties) -> tuple[object, ...]:
    return tuple((name, value_key(value)) for name, value in sorted(properties.items()))


def _equal_values(one: Value, other: Value) -> bool:
    """Say whether two values are equal as in Cypher and SPARQL: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal_values, one, other))  # type: ignore[arg-type]
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

    def keep_edges(self, is_kept: Callable[[EdgeRow], bool]) -> None:
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
            properties = checked_properties(operation.properties)
            found = rows.matching(operation.node)
            for key in found:
                label, old = rows.nodes[key]
                rows.nodes[key] = NodeRow(label, dict(sorted({**old, **properties}.items())))
            if not found:
                rows.add_node(operation.node.label, {**operation.node.key, **properties})
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


def _change_edges(rows: PropertyRows, operation: _OfEdges) -> None:
    kind, properties = checked_name(operation.type, "a type"), checked_properties(operation.properties)
    sources, targets = dict.fromkeys(rows.matching(operation.source)), dict.fromkeys(rows.matching(operation.target))

    def is_named(row: EdgeRow) -> bool:
        is_between = row.type == kind and row.source in sources and row.target in targets
        return is_between and _has_properties(row.properties, properties)

    if isinstance(operation, DeleteEdge):
        rows.keep_edges(lambda row: not is_named(row))
        return
    standing: set[tuple[int, int]] = set()
    if isinstance(operation, MergeEdge):
        standing = {(row.source, row.target) for row in rows.edges.values() if is_named(row)}
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
            problem, remedy = (
                f"the statement deletes all {had} {what}",
                "Delete only what is wrong, named by its properties",
            )
            raise StatementError(problem, subject="statement", remedy=remedy)


# --- States ---------------------------------------------------------------------------------------------------------------------------


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
    """Return a graph as a state: nodes by label, properties and what they are joined to; what is alike then, in the order of insertion."""
    edges = list(edges)
    own = {key: (row.label, _properties_key(row.properties)) for key, row in nodes.items()}
    joined: dict[int, list[tuple[object, ...]]] = {key: [] for key in nodes}
    for edge in edges:
        kind = (edge.type, _properties_key(edge.properties))
        joined[edge.source].append((0, kind, own[edge.target]))
        joined[edge.target].append((1, kind, own[edge.source]))
    place = {key: at for at, key in enumerate(sorted(nodes, key=lambda key: (own[key], sorted(joined[key]))), 1)}

    def order(edge: EdgeRow) -> tuple[object, ...]:
        return place[edge.source], edge.type, _properties_key(edge.properties), place[edge.target]

    return GraphState(
        nodes=tuple(
            GraphNode(id=f"n{at}", label=nodes[key].label, properties=dict(sorted(nodes[key].properties.items())))
            for key, at in place.items()
        ),
        edges=tuple(
            GraphEdge(
                type=edge.type,
                source=f"n{place[edge.source]}",
                target=f"n{place[edge.target]}",
                properties=dict(sorted(edge.properties.items())),
            )
            for edge in sorted(edges, key=order)
        ),
    )


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


# --- Noise ----------------------------------------------------------------------------------------------------------------------------

NEAR_EQUAL = 0.92
"""Similarity from which two long texts are one: pairs of our tests that are one quote have 0.944 to 1.0, the one that is not 0.638. What
is merged wrongly is lost to the answer; a twin that stays costs a row."""
LONG_TEXT = 24
"""Characters from which a text can be nearly equal: shorter ones (names, codes) must be equal."""
_COMPARED = 200
"""Nodes of a label that are compared with each other at most: it bounds the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRemoval:
    """The states before and after, the nodes that are gone, and of those that were merged the one that stands for them, by ids before."""

    before: GraphState
    after: GraphState
    removed: tuple[GraphNode, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What makes the graph the one without noise."""
        return (ReplaceGraph(state=self.after),) if self.removed else ()


def merge_duplicates(state: GraphState) -> NoiseRemoval:
    """Merge nodes of one label whose properties are nearly equal; the first in the order of the state stands for them.

    Properties have the same names, numbers and truth values are equal, short texts equal but for case, spaces and signs around them, and
    long texts similar with the same numbers. Edges of the merged go to the one that stays; one that is then there twice goes.
    """
    kept: dict[object, list[GraphNode]] = defaultdict(list)
    merged: dict[str, str] = {}
    for node in state.nodes:
        exact = tuple((name, _exact_part(value)) for name, value in sorted(node.properties.items()))
        group = kept[node.label, exact] if exact else []
        other = next((first for first in group[:_COMPARED] if _are_near(first, node)), None)
        if other is None:
            group.append(node)
        else:
            merged[node.id] = other.id
    return _removal(state, set(merged), merged)


def remove_irrelevant(state: GraphState, asked: Iterable[str]) -> NoiseRemoval:
    """Remove nodes that neither hold what is asked nor join two nodes that do.

    A node holds what is asked when its label, the name of a property, or a value names it. Where no node does, nothing is
    removed: then it is not known what matters.

    :param asked: names and values of the task: ``award number``, ``Ann Ott``.
    """
    terms = [term for term in map(_words, asked) if term]
    joined: dict[str, set[str]] = {node.id: set() for node in state.nodes}
    for edge in state.edges:
        if edge.source != edge.target:
            joined[edge.source].add(edge.target)
            joined[edge.target].add(edge.source)
    holding = {node.id for node in state.nodes if any(_holds(node, term) for term in terms)}
    if not holding:
        return _removal(state, set(), {})
    near, waiting = set(holding), list(holding)
    while waiting:
        found = joined[waiting.pop()] - near
        near |= found
        waiting += found
    while ends := {node for node in near - holding if len(joined[node] & near) < 2}:
        near -= ends
    return _removal(state, joined.keys() - near, {})


def _removal(state: GraphState, gone: set[str], merged: Mapping[str, str]) -> NoiseRemoval:
    if not gone:
        return NoiseRemoval(before=state, after=state)
    edges: list[GraphEdge] = []
    seen: set[object] = set()
    for edge in sorted(state.edges, key=lambda edge: edge.source in gone or edge.target in gone):
        moved = replace(edge, source=merged.get(edge.source, edge.source), target=merged.get(edge.target, edge.target))
        key = (moved.type, moved.source, moved.target, _properties_key(moved.properties))
        is_twin = moved != edge and key in seen
        if not is_twin and gone.isdisjoint((moved.source, moved.target)):
            edges.append(moved)
        seen.add(key)
    left = GraphState(nodes=tuple(node for node in state.nodes if node.id not in gone), edges=tuple(edges))
    removed = tuple(node for node in state.nodes if node.id in gone)
    return NoiseRemoval(before=state, after=state_of_rows(state_rows(left)), removed=removed, merged=merged)


def _exact_part(value: Value) -> object:
    """Return what of a value must be equal: of a text its digits."""
    return tuple(re.findall(r"[-+]?\d+(?:[.,]\d+)*", value)) if isinstance(value, str) else value_key(value)


def _are_near(one: GraphNode, other: GraphNode) -> bool:
    """Say whether the texts of two nodes are nearly equal; that the rest is equal is known."""
    pairs = ((value, other.properties[name]) for name, value in one.properties.items())
    return all(_near_text(value, str(twin)) for value, twin in pairs if isinstance(value, str))


def _near_text(*texts: str) -> bool:
    one, other = (
        " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip("\"'“”‘’.,;:!? ") for text in texts
    )
    if one == other:
        return bool(one)
    if min(len(one), len(other)) < LONG_TEXT:
        return False
    matcher = SequenceMatcher(None, _words(texts[0]), _words(texts[1]), autojunk=False)
    return matcher.real_quick_ratio() >= NEAR_EQUAL <= matcher.quick_ratio() and matcher.ratio() >= NEAR_EQUAL


def _words(text: str) -> str:
    """Return the words of a text in small letters, one space between them."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold().replace("_", " ")))


def _holds(node: GraphNode, term: str) -> bool:
    values = (value if isinstance(value, tuple) else (value,) for value in node.properties.values())
    texts = [node.label, *node.properties, *(str(member) for members in values for member in members)]
    return any(f" {term} " in f" {_words(text)} " for text in texts)
