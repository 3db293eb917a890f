"""Which writes may run at once: those that cannot touch the same node (appendix B.5 of the paper, where a model is asked for this)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

from planners.stores.property_graph import (
    DeleteEdge,
    DeleteNode,
    InsertEdge,
    InsertNode,
    MergeEdge,
    MergeNode,
    Operation,
    Properties,
    ReplaceGraph,
    Statement,
)

__all__ = ["write_chains"]

_Touch: TypeAlias = tuple[str, Properties]
"""Nodes with a label and with these properties among theirs."""


def write_chains(operations: Sequence[Operation]) -> list[list[int]]:
    """Return the indexes of operations in chains: of two in different chains none touches a node of the other.

    A chain keeps the order of its operations; chains are in the order of their first ones. Where the nodes of one operation are not
    known, as of statements, there is one chain.

    Two operations are joined where they name nodes of one label that could be the same: a property that all operations on the
    label name tells them apart by its value; without such a property, all on the label are joined.
    """
    touches: list[list[_Touch]] = []
    for operation in operations:
        touched = _known_touches(operation)
        if touched is None:
            return [list(range(len(operations)))]
        touches.append([(label.casefold(), properties) for label, properties in touched])
    shared = _shared_keys(touches)
    groups = _Groups(len(operations))
    first: dict[Hashable, int] = {}
    for at, touched in enumerate(touches):
        for label, properties in touched:
            token = (label, tuple(properties[key] for key in shared[label]))
            groups.join(first.setdefault(token, at), at)
    chains: defaultdict[int, list[int]] = defaultdict(list)
    for at in range(len(operations)):
        chains[groups.root(at)].append(at)
    return list(chains.values())


def _known_touches(operation: Operation) -> list[_Touch] | None:
    if isinstance(operation, Statement | ReplaceGraph):
        return None
    return list(_touches(operation))


def _touches(operation: Operation) -> Iterator[_Touch]:
    """Yield the nodes that a typed operation reads or changes: as they are before it, and after it."""
    match operation:
        case InsertNode():
            yield operation.label, operation.properties
        case MergeNode():
            yield operation.node.label, operation.node.key
            yield operation.node.label, {**operation.node.key, **operation.properties}
        case DeleteNode():
            yield operation.node.label, operation.node.key
        case InsertEdge() | MergeEdge() | DeleteEdge():
            yield operation.source.label, operation.source.key
            yield operation.target.label, operation.target.key


def _shared_keys(touches: Sequence[Sequence[_Touch]]) -> dict[str, tuple[str, ...]]:
    """Return the properties that all operations on a label name, with values of one type: an engine may take 1 and "1" for equal."""
    found: dict[str, set[tuple[str, type]]] = {}
    for label, properties in (touch for touched in touches for touch in touched):
        typed = {(key, type(value)) for key, value in properties.items()}
        found[label] = found[label] & typed if label in found else typed
    return {label: tuple(sorted(key for key, _ in keys)) for label, keys in found.items()}


class _Groups:
    """Disjoint sets of indexes."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def root(self, at: int) -> int:
        while self._parents[at] != at:
            self._parents[at] = self._parents[self._parents[at]]
            at = self._parents[at]
        return at

    def join(self, one: int, other: int) -> None:
        roots = sorted((self.root(one), self.root(other)))
        self._parents[roots[1]] = roots[0]
