"""The ontology: entity types, predicates and abbreviations of a tool graph."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ontology.names import words

__all__ = ["EntityType", "Ontology", "Predicate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityType:
    """A type of node. ``is_a`` is its supertype, or empty."""

    name: str
    description: str = ""
    is_a: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A type of edge.

    :param domain: allowed entity types of the head; their subtypes are allowed too.
    :param range: allowed entity types of the tail; their subtypes are allowed too.
    :param synonyms: phrases with the same meaning.
    :param metadata: metadata keys of a tool whose values are tails of this predicate.
    :param derived: egotools derives it between tools; an extractor must not use it.
    """

    name: str
    description: str = ""
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    derived: bool = False


@dataclass(frozen=True, kw_only=True)
class Ontology:
    """The types of a tool graph.

    :param fallback: the predicate for a phrase that maps to no other predicate.
    :param abbreviations: map from abbreviation to its full words, both in lower case.
    """

    name: str
    version: int = 1
    entity_types: Mapping[str, EntityType] = field(default_factory=dict)
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    fallback: str = "related_to"
    abbreviations: Mapping[str, str] = field(default_factory=dict)

    def is_a(self, entity_type: str, wider: str) -> bool:
        """Whether an entity type is ``wider`` or a subtype of it."""
        seen: set[str] = set()
        while entity_type and entity_type not in seen:
            if entity_type == wider:
                return True
            seen.add(entity_type)
            known = self.entity_types.get(entity_type)
            entity_type = known.is_a if known else ""
        return False

    def allows(self, head_type: str, predicate: str, tail_type: str) -> bool:
        """Whether an edge of the predicate may connect these entity types."""
        edge = (head_type, predicate, tail_type)
        if edge not in self._allowed:
            known = self.predicates.get(predicate)
            self._allowed[edge] = (
                known is not None
                and any(self.is_a(head_type, wider) for wider in known.domain)
                and any(self.is_a(tail_type, wider) for wider in known.range)
            )
        return self._allowed[edge]

    def predicate_for(self, phrase: str) -> str:
        """Return the predicate that has the phrase as its name or synonym, or an empty text."""
        return self._phrases.get(" ".join(words(phrase)), "")

    @cached_property
    def metadata_predicates(self) -> Mapping[str, str]:
        """Map from metadata key to predicate."""
        return {key: predicate.name for predicate in self.predicates.values() for key in predicate.metadata}

    @cached_property
    def _allowed(self) -> dict[tuple[str, str, str], bool]:
        """What :meth:`allows` has found out: there are few combinations, and a build asks millions of times."""
        return {}

    @cached_property
    def _phrases(self) -> Mapping[str, str]:
        phrases = {" ".join(words(synonym)): p.name for p in self.predicates.values() for synonym in p.synonyms}
        return phrases | {" ".join(words(name)): name for name in self.predicates}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole ontology, 64 hex digits."""
        content = (
            self.name,
            self.version,
            sorted((t.name, t.description, t.is_a) for t in self.entity_types.values()),
            sorted(
                (p.name, p.description, p.domain, p.range, p.synonyms, p.metadata, p.derived)
                for p in self.predicates.values()
            ),
            self.fallback,
            sorted(self.abbreviations.items()),
        )
        return hashlib.sha256(repr(content).encode()).hexdigest()
