"""Choose one type for each name that was extracted with several types, where the ontology allows it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ontology.ontology import Ontology

__all__ = ["one_type"]

Node = tuple[str, str]
"""``(type, name)``"""

Ends = tuple[Node, str, Node]
"""``(head, predicate, tail)``"""


def _declared_types(ontology: Ontology) -> frozenset[str]:
    """Return the types that documents declare by structure or metadata; they never change (a department "sales")."""
    declared = {"tool", "parameter", "value"}
    for predicate in ontology.predicates.values():
        if predicate.metadata:
            declared.update(predicate.range)
    return frozenset(declared)


def one_type(counts: Mapping[Node, int], ends: Iterable[Ends], ontology: Ontology) -> dict[Node, str]:
    """Map from each node whose type changes to its new type.

    The new type is the most frequent type of the name, ties in alphabetical order. A change is left out when it would violate the
    domain or range of a triple's predicate.

    :param counts: map from node to its number of occurrences.
    :param ends: the distinct triples, for the check of domain and range.
    """
    fixed = _declared_types(ontology)
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    for (entity_type, name), count in counts.items():
        if entity_type not in fixed:
            by_name[name][entity_type] += count
    changes: dict[Node, str] = {}
    for name, types in by_name.items():
        chosen = min(types, key=lambda candidate: (-types[candidate], candidate))
        changes.update(((entity_type, name), chosen) for entity_type in types if entity_type != chosen)
    if changes:
        _remove_invalid(changes, [end for end in set(ends) if end[0] in changes or end[2] in changes], ontology)
    return changes


def _remove_invalid(changes: dict[Node, str], ends: Iterable[Ends], ontology: Ontology) -> None:
    """Remove the changes that make a valid triple invalid; repeat until there are none."""
    valid = [(h, p, t) for h, p, t in ends if ontology.allows(h[0], p, t[0])]
    while True:
        invalid = {
            node
            for head, predicate, tail in valid
            if not ontology.allows(changes.get(head, head[0]), predicate, changes.get(tail, tail[0]))
            for node in (head, tail)
            if node in changes
        }
        if not invalid:
            return
        for node in invalid:
            del changes[node]
