"""One type for each name: an entity that was extracted with several types gets one, where the ontology allows it."""

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
    """The types that documents declare by structure or metadata: a department "sales" is no business object."""
    declared = {"tool", "parameter", "value"}
    for predicate in ontology.predicates.values():
        if predicate.metadata:
            declared.update(predicate.range)
    return frozenset(declared)


def one_type(counts: Mapping[Node, int], ends: Iterable[Ends], ontology: Ontology) -> dict[Node, str]:
    """The new type of each node whose type changes.

    Of the types of one name the most frequent wins, ties by alphabet. A change that would put a triple outside its predicate's
    domain or range is not made.

    :param counts: how often each node was read.
    :param ends: the distinct triples, to check.
    """
    fixed = _declared_types(ontology)
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    for (entity_type, name), count in counts.items():
        if entity_type not in fixed:
            by_name[name][entity_type] += count
    changes: dict[Node, str] = {}
    for name, types in by_name.items():
        winner = min(types, key=lambda one: (-types[one], one))
        changes.update(((entity_type, name), winner) for entity_type in types if entity_type != winner)
    if changes:
        _withdraw(changes, [end for end in set(ends) if end[0] in changes or end[2] in changes], ontology)
    return changes


def _withdraw(changes: dict[Node, str], ends: Iterable[Ends], ontology: Ontology) -> None:
    """Remove the changes that break a triple, in rounds until none does."""
    watched = [(h, p, t) for h, p, t in ends if ontology.allows(h[0], p, t[0])]
    while True:
        broken = {
            node
            for head, predicate, tail in watched
            if not ontology.allows(changes.get(head, head[0]), predicate, changes.get(tail, tail[0]))
            for node in (head, tail)
            if node in changes
        }
        if not broken:
            return
        for node in broken:
            del changes[node]
