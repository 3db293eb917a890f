"""What phrases mean in a graph: types, properties, values and relationships, by their names and by the words of the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ontology.names import is_verb, verb_lemma, words
from planners.graphseek.catalog.catalog import (
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.graphseek.catalog.draft import is_active
from planners.graphseek.operators.pattern import name_property, naming_properties
from planners.graphseek.rules.question_tokens import Token, base_forms, noun_forms, tokens_of
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey

__all__ = ["Lexicon", "Meaning", "PropertyOf", "RelationOf", "TypeOf", "ValueOf"]

_NODE, _NOTHING, _RELATION = NodeDescriptor(), PropertyDescriptor(), RelationshipDescriptor()
# Articles between the words of a phrase, and "be" before it: ordinary English; no shipped question depends on them.
_FILLERS = frozenset({"a", "an", "the", "be"})
# Before the verb of a phrase: found on the questions on countries and on the tool graph.
_AUXILIARIES = frozenset("is are was were be been has have can may".split())
# Words of phrases that do not tell one relationship from another: those of the phrases of the shipped catalogs.
_LIGHT = _AUXILIARIES | frozenset("a an the by in into at to from of on for with as".split())
# Roles of properties that no question means by the property's own name.
_SILENT = frozenset({"key"})


@dataclass(frozen=True, slots=True)
class TypeOf:
    """A node type; ``own``: by its own name."""

    name: str
    own: bool = True


@dataclass(frozen=True, slots=True)
class PropertyOf:
    """A property of a type of nodes or relationships."""

    owner: str
    key: PropertyKey
    role: str = ""
    unit: str = ""
    of_relationship: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueOf:
    """A value of a property."""

    property: PropertyOf
    value: str


@dataclass(frozen=True, slots=True)
class RelationOf:
    """A relationship, said from its source (``forward``) or from its target.

    :param score: 3: the whole phrase; 2: its verb alone; 1: a word such as "in" or "have" alone.
    """

    name: str
    forward: bool
    score: int


Meaning: TypeAlias = TypeOf | PropertyOf | ValueOf | RelationOf
_Phrase: TypeAlias = tuple[frozenset[str], ...]


class Lexicon:
    """The phrases of one graph.

    :ivar naming: type → the properties that its nodes are named by.
    :ivar units: of properties, in lower case.
    :ivar phrases: all of them, once each, in their order.
    :ivar weak: words such as "in" and "have" → the relationships whose phrases are made of them alone.
    """

    def __init__(self, schema: GraphSchema, catalog: SemanticCatalog) -> None:
        self.units: set[str] = set()
        self._said: list[tuple[str, RelationOf]] = []
        self.phrases: dict[str, None] = {}
        self._phrases: dict[str, list[tuple[_Phrase, Meaning]]] = {}
        self.weak: dict[str, list[RelationOf]] = {}
        self.properties: list[PropertyOf] = []
        self.naming = {node.name: _naming(node, catalog) for node in schema.nodes}
        for node in schema.nodes:
            described = catalog.nodes.get(node.name, _NODE)
            self._add(node.name, TypeOf(node.name))
            for phrase in described.words:
                self._add(phrase, TypeOf(node.name, own=False))
            self._add_properties(node.name, node.properties, described.properties, of_relationship=False)
        for relationship in schema.relationships:
            known = catalog.relationships.get(relationship.name, _RELATION)
            self._add_relation(relationship.name, (relationship.name.lower(), *known.forward), forward=True)
            self._add_relation(relationship.name, known.backward, forward=False)
            self._add_properties(relationship.name, relationship.properties, known.properties, of_relationship=True)

    def at(self, tokens: Sequence[Token], start: int) -> Iterator[tuple[int, Meaning]]:
        """Yield the number of tokens and the meaning of each phrase that begins at a token."""
        for form in sorted(tokens[start].forms):
            for phrase, meaning in self._phrases.get(form, ()):
                if end := _end(phrase, tokens, start, verbs=isinstance(meaning, RelationOf)):
                    yield end - start, meaning

    @property
    def other_names(self) -> list[PropertyOf]:
        """Properties that are names by their words, beside those that nodes are found by."""
        strings = (each for each in self.properties if not each.of_relationship and each.key.type == "string")
        return [each for each in strings if "name" in each.words and each.key.name not in self.naming[each.owner]]

    def synonyms(self, relationship: str) -> list[str]:
        """Return the relationships that share a phrase with one, said from the same end."""
        mine = {(phrase, meaning.forward) for phrase, meaning in self._said if meaning.name == relationship}
        return sorted({each.name for phrase, each in self._said if (phrase, each.forward) in mine} - {relationship})

    def values_of(self, key: PropertyOf, *word: str) -> list[ValueOf]:
        """Return the values of a property that a word means."""
        meanings = (meaning for token in tokens_of(" ".join(word)) for _, meaning in self.at([token], 0))
        return [each for each in meanings if isinstance(each, ValueOf) and each.property == key]

    def _add(self, phrase: str, meaning: Meaning) -> None:
        forms = base_forms if isinstance(meaning, RelationOf) else noun_forms
        parts = tuple(forms(word) for word in words(phrase))
        if parts:
            self.phrases[" ".join(words(phrase))] = None
            for form in sorted(parts[0]):
                self._phrases.setdefault(form, []).append((parts, meaning))

    def _add_properties(
        self,
        owner: str,
        keys: Iterable[PropertyKey],
        described: Mapping[str, PropertyDescriptor],
        *,
        of_relationship: bool,
    ) -> None:
        for key in keys:
            known = described.get(key.name, _NOTHING)
            said = tuple(word for phrase in (key.name, *known.words) for word in words(phrase))
            found = PropertyOf(owner, key, known.role, known.unit, of_relationship, said)
            self.properties.append(found)
            self.units.update(known.unit.lower().split())
            own = () if known.role in _SILENT else (key.name,)
            for phrase in dict.fromkeys((*own, *known.words)):
                self._add(phrase, found)
            for phrase, value in known.values.items():
                self._add(phrase, ValueOf(found, value))
            for phrase, group in known.groups.items():
                for value in group:
                    self._add(phrase, ValueOf(found, value))
            for value in dict.fromkeys(known.values.values()):
                if any(map(str.isalpha, value)):
                    self._add(value, ValueOf(found, value))

    def _add_relation(self, name: str, phrases: Iterable[str], *, forward: bool) -> None:
        for phrase in phrases:
            said = words(phrase)
            while len(said) > 1 and said[0] in _AUXILIARIES | _FILLERS:
                said = said[1:]
            told = [word for word in said if word not in _LIGHT]
            if not told:
                for word in said:
                    for form in base_forms(word):
                        self.weak.setdefault(form, []).append(RelationOf(name, forward, 1))
                continue
            self._add(" ".join(said), RelationOf(name, forward, 3))
            self._said.append((" ".join(said), RelationOf(name, forward, 3)))
            is_one_verb = len(told) == 1 and len(said) > 1 and is_verb(verb_lemma(told[0]))
            if is_one_verb:
                self._add(told[0], RelationOf(name, forward, 2))
            if forward and is_active(said[0]):  # "refers to" is "referred to by" from the other end
                self._add(f"{' '.join(said)} by", RelationOf(name, False, 3))
                if is_one_verb:
                    self._add(f"{told[0]} by", RelationOf(name, False, 2))


def _naming(node: NodeType, catalog: SemanticCatalog) -> list[str]:
    """The properties that a node is named by, what people call it first."""
    return list(dict.fromkeys([name_property(node, catalog), *naming_properties(node, catalog)]))


def _end(phrase: _Phrase, tokens: Sequence[Token], start: int, *, verbs: bool) -> int:
    """Return the place behind a phrase that stands at a token, with articles between its words; 0: it does not."""
    at = start
    for nth, forms in enumerate(phrase):
        while nth and at < len(tokens) and tokens[at].lower in _FILLERS:
            at += 1
        if at >= len(tokens) or not (tokens[at].forms if verbs else tokens[at].nouns) & forms:
            return 0
        at += 1
    return at
