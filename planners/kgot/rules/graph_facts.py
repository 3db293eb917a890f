"""A state as it is looked through: nodes by label, what leads to and from each, and properties by the words of a field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ontology.names import noun_lemma, words
from planners.graphs.property_graph import GraphNode, GraphState, Scalar, Value
from planners.kgot.asked import AskedFilter, Comparison, TableShape
from planners.kgot.rules.shape_names import CALL, property_name

__all__ = ["ROW_KEYS", "GraphFacts", "compare", "meets", "property_for"]

ROW_KEYS = ("of", "row")
"""Properties of a row that are no columns: its table, and its number there."""


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """A state with its indexes."""

    nodes: dict[str, list[GraphNode]]
    by_id: dict[str, GraphNode]
    out: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    into: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, state: GraphState) -> GraphFacts:
        """Index a state."""
        nodes: dict[str, list[GraphNode]] = defaultdict(list)
        out: dict[tuple[str, str], list[str]] = defaultdict(list)
        into: dict[tuple[str, str], list[str]] = defaultdict(list)
        for node in state.nodes:
            nodes[node.label].append(node)
        for edge in state.edges:
            out[edge.source, edge.type].append(edge.target)
            into[edge.target, edge.type].append(edge.source)
        return cls(dict(nodes), {node.id: node for node in state.nodes}, dict(out), dict(into))

    def labelled(self, label: str) -> list[GraphNode]:
        """Return the nodes of a label."""
        return self.nodes.get(label, [])

    def after(self, node: GraphNode, kind: str) -> list[GraphNode]:
        """Return the nodes to which edges of a type lead from a node."""
        return [self.by_id[each] for each in self.out.get((node.id, kind), ())]

    def before(self, node: GraphNode, kind: str) -> list[GraphNode]:
        """Return the nodes from which edges of a type lead to a node."""
        return [self.by_id[each] for each in self.into.get((node.id, kind), ())]

    def calls(self, tool_id: str) -> list[GraphNode]:
        """Return the calls of a tool."""
        return [node for node in self.labelled(CALL) if node.properties.get("tool") == tool_id]

    def tables(self) -> tuple[TableShape, ...]:
        """Return the tables whose rows stand in the graph, those with the most rows first."""
        rows = {
            label: [n for n in nodes if "of" in n.properties] for label, nodes in self.nodes.items() if label != CALL
        }
        held = sorted(
            ((len(found), label) for label, found in rows.items() if found), key=lambda each: (-each[0], each[1])
        )
        return tuple(TableShape(label=label, columns=_columns(rows[label])) for _, label in held)


def _columns(rows: Sequence[GraphNode]) -> dict[str, tuple[Scalar, ...]]:
    found: dict[str, list[Scalar]] = defaultdict(list)
    for node in rows:
        for name, value in node.properties.items():
            if not isinstance(value, tuple) and name != "row":
                found[name].append(value)
    return {**{name: tuple(values) for name, values in found.items()}, "row": tuple(range(1, len(rows) + 1))}


def property_for(nodes: Iterable[GraphNode], said: str, *, numeric: bool = False) -> str:
    """Return the property of nodes that a field means, or empty.

    In this order: of the same name, of the same words, whose words end with these, begin with these, have these in them; of several
    the shortest. ``name`` is ``legalName``, ``gross amount`` is ``grossAmount_amount``.

    :param said: name or words of the field; of a path each part is one of them.
    """
    names = {
        name
        for node in nodes
        for name, value in node.properties.items()
        if name not in ROW_KEYS and (not numeric or _is_number(value))
    }
    wanted = [noun_lemma(word) for word in words(said.replace(".", " "))]
    plain = property_name(said.replace(".", "_"))
    ranked = sorted((_rank(name, wanted, plain), len(name), name) for name in names)
    return ranked[0][2] if ranked and ranked[0][0] < _NO_RANK else ""


_NO_RANK = 9


def _rank(name: str, wanted: list[str], plain: str) -> int:
    if name.casefold() == plain.casefold():
        return 0
    own = [noun_lemma(word) for word in words(name)]
    if not wanted:
        return _NO_RANK
    if own == wanted:
        return 1
    if own[-len(wanted) :] == wanted:
        return 2
    if own[: len(wanted)] == wanted:
        return 3
    return 4 if set(wanted) <= set(own) else _NO_RANK


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def meets(value: Value | None, each: AskedFilter) -> bool:
    """Whether the value of a property meets a condition; of a list, whether one of its members does."""
    if value is None:
        return False
    return any(compare(one, each.operator, each.value) for one in (value if isinstance(value, tuple) else (value,)))


def compare(value: Scalar, operator: Comparison, wanted: Scalar) -> bool:
    """Whether a comparison holds: by number where the value is one, else by text without regard to case."""
    if _is_number(value):
        try:
            return _ordered(float(value), operator, float(wanted))
        except ValueError:
            return False
    text, other = str(value).casefold(), str(wanted).casefold()
    return other in text if operator == "contains" else _ordered(text, operator, other)


def _ordered(value: float | str, operator: Comparison, wanted: float | str) -> bool:
    less, more = value < wanted, value > wanted  # type: ignore[operator]  # both are of one type
    return {"=": not less and not more, "contains": False, "<": less, "<=": not more, ">": more, ">=": not less}[
        operator
    ]
