"""Drafting a semantic catalog by rules: from a census of the graph, the names of its schema, an ontology and a glossary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ontology.names import canonical_name, expand, words
from ontology.ontology import Ontology, Predicate
from planners.graphseek.catalog.catalog_words import told_words
from planners.graphseek.catalog.descriptor_faults import cleaned_text, shortened_text, text_fault
from planners.graphseek.catalog.property_roles import is_category, roles_of, said_of_plan, told_name, unit_of
from planners.graphseek.catalog.relation_phrases import relation_phrases
from planners.graphseek.catalog.semantic_catalog import (
    TIME_ROLES,
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.stores.graph_schema import (
    Degrees,
    GraphSchema,
    NodeType,
    PropertyKey,
    RelationshipEnds,
    RelationshipType,
)

__all__ = ["draft_by_rules"]

_MOST_VALUES = 8  # that a description lists; more of a category are counted, and three shown
_MOST_SAMPLES = 2
_MOST_SAMPLE_CHARACTERS = 40
_MOST_ENDS = 4
_MOST_SYNONYMS = 4
_LARGE = 10_000  # numbers from here on are shown without decimals
_NOTHING: Final[Mapping[str, str]] = {}


def draft_by_rules(
    census: GraphSchema, ontology: Ontology | None = None, glossary: Mapping[str, str] = _NOTHING
) -> SemanticCatalog:
    """Return a draft: a descriptor of each type and property. It is not accepted.

    :param census: with counts, ranges and samples; where they are missing, fewer roles and ranges are found.
    :param ontology: its descriptions, synonyms and abbreviations are used where its names are those of the schema.
    :param glossary: canonical name of a term → meaning; the term may be a type, a relationship or a property.
    """
    drafter = _Drafter(census, ontology, glossary)
    nodes, relationships = sum(n.count for n in census.nodes), sum(r.count for r in census.relationships)
    return SemanticCatalog(
        about=f"A graph of {nodes:,} nodes of {len(census.nodes)} types and {relationships:,} relationships of "
        f"{len(census.relationships)} types.",
        fingerprint=census.fingerprint,
        nodes={each.name: drafter.node(each) for each in census.nodes},
        relationships={each.name: drafter.relationship(each) for each in census.relationships},
    )


@dataclass(frozen=True)
class _Drafter:
    census: GraphSchema
    ontology: Ontology | None
    glossary: Mapping[str, str]
    _heads: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        """Count the last words of types: one that a single type has stands for the type."""
        for node in self.census.nodes:
            self._heads.update(set(self._said(node.name).split()[-1:]) | {self._said(node.name)})

    def node(self, node: NodeType) -> NodeDescriptor:
        said = self._said(node.name)
        known = self.ontology.entity_types.get(node.name) if self.ontology else None
        meaning = self._meaning(node.name) or (known.description if known else "") or said.capitalize()
        candidates = (said, said.rpartition(" ")[2])
        return NodeDescriptor(
            description=_text(f"{meaning} ({node.count:,} nodes)"),
            words=tuple(dict.fromkeys(word for word in candidates if word and self._heads[word] == 1)),
            properties=self._properties(node),
        )

    def relationship(self, each: RelationshipType) -> RelationshipDescriptor:
        forward, backward = relation_phrases(each.name)
        predicate = self._predicate(each)
        meaning = self._meaning(each.name) or (predicate.description if predicate else "")
        ends = ", ".join(map(_ends, each.ends[:_MOST_ENDS]))
        more = f" and {len(each.ends) - _MOST_ENDS} more pairs" if len(each.ends) > _MOST_ENDS else ""
        return RelationshipDescriptor(
            description=_text(": ".join(filter(None, (meaning, f"{ends}{more}")))),
            forward=tuple(dict.fromkeys((*forward, *(_telling(predicate.synonyms) if predicate else ())))),
            backward=backward,
            properties=self._properties(each),
        )

    def _predicate(self, each: RelationshipType) -> Predicate | None:
        """The predicate of this name, where all ends are entity types too: another graph's ``contains`` may mean something else."""
        known = self.ontology.entity_types if self.ontology else {}
        if self.ontology is None or not all(end.source in known and end.target in known for end in each.ends):
            return None
        return self.ontology.predicates.get("_".join(words(each.name)))

    def _properties(self, owner: NodeType | RelationshipType) -> dict[str, PropertyDescriptor]:
        roles = roles_of(owner)
        return {
            each.name: PropertyDescriptor(
                description=self._described(each, owner.count, is_listed=roles.get(each.name) not in TIME_ROLES),
                words=tuple(word for word in (self._said(" ".join(told_name(each))),) if word not in ("", each.name)),
                values=_values_said(each) if roles.get(each.name) in ("category", "plan or actual") else {},
                role=roles.get(each.name, ""),
                unit=unit_of(each.name),
            )
            for each in owner.properties
        }

    def _described(self, each: PropertyKey, owners: int, *, is_listed: bool) -> str:
        return _text(": ".join(filter(None, (self._meaning(each.name), _seen(each, owners, is_listed=is_listed)))))

    def _said(self, name: str) -> str:
        """A name as people say it: its words, abbreviations written out, in the singular."""
        abbreviations = self.ontology.abbreviations if self.ontology else {}
        return canonical_name(" ".join(expand(words(name), abbreviations)))

    def _meaning(self, name: str) -> str:
        return cleaned_text(self.glossary.get(canonical_name(name), "")).rstrip(".")


def _telling(synonyms: Iterable[str]) -> list[str]:
    """The first synonyms that are more than a preposition: "of" and "in" stand in every question."""
    return [each for each in synonyms if told_words(each)][:_MOST_SYNONYMS]


def _seen(each: PropertyKey, owners: int, *, is_listed: bool) -> str:
    """What a census saw of a property: all values of a category, the range of numbers and dates, samples of texts.

    :param is_listed: whether few values are listed.
    """
    samples = list(_shown(each.samples))
    if is_listed and is_category(each) and len(samples) == len(each.samples) and each.type != "boolean":
        few = len(samples) <= _MOST_VALUES
        seen = f"one of {', '.join(samples)}" if few else f"{len(samples)} values such as {', '.join(samples[:3])}"
    elif each.distinct == 1 and samples:
        seen = f"always {samples[0]}"
    elif each.type in ("integer", "number", "date") and each.least is not None and each.greatest is not None:
        seen = f"{_value(each.least)} to {_value(each.greatest)}"
    elif each.type in ("string", "list") and samples:
        seen = f"such as {', '.join(samples[:_MOST_SAMPLES])}"
    else:
        seen = ""
    missing = f"at {each.count:,} of {owners:,}" if each.count < owners else ""
    return ", ".join(filter(None, (seen, missing)))


def _shown(samples: Iterable[object]) -> Iterator[str]:
    """Samples that may stand in a prompt, for they are data of whoever filled the graph; JSON in a text says nothing there."""
    for sample in samples:
        text = _value(sample)
        is_short = 0 < len(text) <= _MOST_SAMPLE_CHARACTERS and text[0] not in "[{"
        if is_short and text == cleaned_text(text) and not text_fault(text):
            yield text


def _value(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) < _LARGE else f"{value:.0f}"


def _values_said(each: PropertyKey) -> dict[str, str]:
    """What people say → value: its words, and those for planned and actual things."""
    said: dict[str, str] = {}
    for value in _shown(each.samples if each.type == "string" else ()):
        for phrase in (*said_of_plan(value), " ".join(words(value))):
            if phrase:
                said.setdefault(phrase, value)
    return said


def _ends(ends: RelationshipEnds) -> str:
    counted = f"{ends.source} to {ends.target} ({ends.count:,}"
    return f"{counted}{_up_to(ends.outgoing, 'out')}{_up_to(ends.incoming, 'in')})"


def _up_to(degrees: Degrees | None, way: str) -> str:
    if degrees is None or degrees.greatest <= 1:
        return ""
    return f"; {way} {degrees.median}, at most {degrees.greatest:,}"


def _text(text: str) -> str:
    return shortened_text(cleaned_text(text))
