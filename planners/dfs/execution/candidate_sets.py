"""The candidate set of each variable and the pairs of each edge, as the traversal learns them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

from planners.dfs.execution.execution_events import MOST_SHOWN, Intersected, Observe, SetResolved
from planners.dfs.resolver import Entity
from planners.query.query_graph import EdgeConstraint

__all__ = ["CandidateSets", "Pairs"]

Pairs = Mapping[str, set[str]]
"""Entity → the entities at the other end of an edge; only entities that have any."""


@dataclass
class CandidateSets:
    """The state of a traversal.

    :param kinds: variable → type.
    :param sets: variable → identifiers; a variable is absent as long as nothing restricts it.
    :param pairs: edge → the variable from which it was followed, and its pairs from there, complete for the candidates of that variable.
    :param entities: type → identifier → what is known of the entity.
    """

    observe: Observe
    kinds: Mapping[str, str]
    sets: dict[str, set[str]] = field(default_factory=dict)
    pairs: dict[EdgeConstraint, tuple[str, Pairs]] = field(default_factory=dict)
    entities: dict[str, dict[str, Entity]] = field(default_factory=dict)

    def learn(self, kind: str, entities: Iterable[Entity]) -> set[str]:
        """Keep entities, their fields joined with what was known of them, and return their identifiers."""
        known = self.entities.setdefault(kind, {})
        found = set()
        for entity in entities:
            id_ = entity.id
            found.add(id_)
            before = known.setdefault(id_, entity)
            if before is not entity and not entity.fields.keys() <= before.fields.keys():
                known[id_] = Entity(id_, {**entity.fields, **before.fields})
        return found

    def known(self, kind: str, ids: Collection[str]) -> list[Entity]:
        """The entities of some identifiers, those of which nothing is known without fields."""
        entities = self.entities.get(kind, {})
        return [entities.get(each) or Entity(each) for each in ids]

    def narrow(self, var: str, ids: Collection[str]) -> None:
        """Make identifiers the candidates of a variable, or leave only these in its set."""
        if var not in self.sets:
            self.sets[var] = set(ids)
            self.observe(SetResolved(var, len(ids), self.first(var)))
            return
        before = self.sets[var]
        self.sets[var] = before.intersection(ids)
        self.observe(Intersected(var, len(before), len(ids), len(self.sets[var]), self.first(var)))

    def first(self, var: str) -> tuple[Entity, ...]:
        """The candidates of a variable that its events show."""
        return tuple(self.known(self.kinds[var], nsmallest(MOST_SHOWN, self.sets[var])))
