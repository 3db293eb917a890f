"""Random operations, and what they do to a graph, computed in the plainest way: the oracle of the stores."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from planners.stores.property_graph import (
    EdgeRow,
    GraphState,
    InsertNode,
    MergeEdge,
    MergeNode,
    NodeRef,
    NodeRow,
    Operation,
    Properties,
    PropertyRows,
)

_ODD = "a'b\"c`d\\e\nf\tß→𝕏 {x} $y \\n \\u0027 // /* <b>&amp; -- ;"
# Names that collide where case does not count, that are words of query languages, or that stores keep for themselves.
LABELS = ["Author", "author", "Order", "MATCH", "a b'`\"\\", "ß→𝕏", "_node"]
TYPES = ["WROTE", "wrote", "Author", "SET", "x y`\\"]
NAMES = ["name", "Name", "_key", "_id", "label", "type", "order", "a b`'\\", "é"]

_texts = st.sampled_from(["", "x", _ODD, "1", "true", "None", " lead and trail "]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)
_numbers = st.sampled_from([0, 1, -1, 2**53 + 1, -(2**63), 2**63 - 1])
_decimals = st.sampled_from([0.0, 1.0, -1.5, 1e300, 1e-7, 0.1, 3.0e16])
_scalars = _texts | _numbers | _decimals | st.booleans()
VALUES = _scalars | st.one_of(
    *(st.lists(kind, max_size=3).map(tuple) for kind in (_texts, _numbers, _decimals, st.booleans()))
)
PROPERTIES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)
_few = st.dictionaries(st.sampled_from(NAMES[:3]), st.sampled_from(["x", 1, 1.0, True, (1, 2)]), max_size=2)
_refs = st.builds(NodeRef, label=st.sampled_from(LABELS[:4]), key=_few)
_types = st.sampled_from(TYPES)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(InsertNode, label=st.sampled_from(LABELS), properties=PROPERTIES),
    st.builds(InsertNode, label=st.sampled_from(LABELS[:4]), properties=_few),
    st.builds(MergeNode, node=_refs, properties=PROPERTIES),
    st.builds(MergeEdge, type=_types, source=_refs, target=_refs, properties=PROPERTIES),
    st.builds(MergeEdge, type=_types, source=_refs, target=_refs, properties=_few),
)


class PlainGraph:
    """A graph as two lists."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, dict[str, Any]]] = []
        self.edges: list[tuple[str, int, int, dict[str, Any]]] = []

    def apply(self, operation: Any) -> None:
        match operation:
            case InsertNode():
                self.nodes.append((operation.label, dict(operation.properties)))
            case MergeNode():
                found = self._found(operation.node)
                for at in found:
                    self.nodes[at][1].update(operation.properties)
                if not found:
                    self.nodes.append((operation.node.label, {**operation.node.key, **operation.properties}))
            case MergeEdge():
                standing = list(self.edges)
                for one in self._found(operation.source):
                    for other in self._found(operation.target):
                        if not any(self._is(edge, operation, one, other) for edge in standing):
                            self.edges.append((operation.type, one, other, dict(operation.properties)))

    def state(self) -> GraphState:
        edges = {at: EdgeRow(*edge) for at, edge in enumerate(self.edges)}
        return PropertyRows(nodes={at: NodeRow(*node) for at, node in enumerate(self.nodes)}, edges=edges).state()

    def _found(self, ref: NodeRef) -> list[int]:
        return [at for at, node in enumerate(self.nodes) if node[0] == ref.label and _holds(node[1], ref.key)]

    def _is(self, edge: tuple[str, int, int, dict[str, Any]], operation: Any, one: int, other: int) -> bool:
        return edge[:3] == (operation.type, one, other) and _holds(edge[3], operation.properties)


def _holds(properties: Properties, wanted: Properties) -> bool:
    return all(name in properties and _equal(properties[name], value) for name, value in wanted.items())


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return (
        isinstance(one, bool) == isinstance(other, bool)
        and isinstance(one, tuple) == isinstance(other, tuple)
        and one == other
    )
