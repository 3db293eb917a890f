"""What a question names of a graph: types, relationships and properties, by their own names and by the words of the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ontology.names import noun_lemma, verb_lemma, words
from planners.graphseek.catalog.semantic_catalog import NodeDescriptor, PropertyDescriptor, SemanticCatalog
from planners.stores.graph_schema import GraphSchema, PropertyKey

__all__ = ["Named", "named_in", "told_words"]

_EMPTY = NodeDescriptor()
_NOTHING = PropertyDescriptor()
# Words of phrases that do not tell one relationship from another.
_FUNCTION_WORDS = frozenset(
    "a an the is are was has have had be by in into at to from of on for with as it and or".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a question names, all by names of the schema.

    :param own: node types by their own names: "battery modules".
    :param by_words: node types that only words of the catalog lead to: "packs".
    :param relationships: by a phrase of the catalog, or a name's own words, in any form of the verb.
    :param properties: type of nodes or relationships → properties.
    """

    own: frozenset[str] = frozenset()
    by_words: frozenset[str] = frozenset()
    relationships: frozenset[str] = frozenset()
    properties: Mapping[str, frozenset[str]] = field(default_factory=dict)


def named_in(question: str, catalog: SemanticCatalog, schema: GraphSchema) -> Named:
    """Return what a question names. A word may name several things; of types, a part of a longer name that is there does not count."""
    text = _singular(question)
    own, by_words = _nodes(text, catalog, schema)
    verbs = frozenset(map(verb_lemma, words(question)))
    found = {node.name: _properties(text, node.properties, _described(catalog, node.name)) for node in schema.nodes}
    relationships = set()
    for each in schema.relationships:
        known = catalog.relationships.get(each.name)
        if _says(verbs, (each.name, *((*known.forward, *known.backward) if known else ()))):
            relationships.add(each.name)
        found[each.name] = found.get(each.name, frozenset()) | _properties(
            text, each.properties, known.properties if known else {}
        )
    return Named(
        own=own,
        by_words=by_words,
        relationships=frozenset(relationships),
        properties={name: keys for name, keys in found.items() if keys},
    )


def _nodes(text: str, catalog: SemanticCatalog, schema: GraphSchema) -> tuple[frozenset[str], frozenset[str]]:
    """The types that are named by their own names, and those that only words of the catalog name."""
    owners: dict[str, set[str]] = {}
    for node in schema.nodes:
        for phrase in (node.name, *catalog.nodes.get(node.name, _EMPTY).words):
            owners.setdefault(_singular(phrase), set()).add(node.name)
        for name, each in catalog.nodes.get(node.name, _EMPTY).properties.items():
            for phrase in (name, *each.words):  # "assembly tier" names no assembly
                owners.setdefault(_singular(phrase), set())
    named = {_singular(node.name) for node in schema.nodes}
    own, by_words = set[str](), set[str]()
    for phrase in sorted(filter(str.strip, owners), key=len, reverse=True):
        if phrase in text:
            text = text.replace(phrase, "  ")
            (own if phrase in named else by_words).update(owners[phrase])
    return frozenset(own), frozenset(by_words - own)


def _described(catalog: SemanticCatalog, node: str) -> Mapping[str, PropertyDescriptor]:
    return catalog.nodes.get(node, _EMPTY).properties


def _properties(
    text: str, properties: Iterable[PropertyKey], described: Mapping[str, PropertyDescriptor]
) -> frozenset[str]:
    """The properties that a question names, or a value of which it says."""
    found = set()
    for each in properties:
        known = described.get(each.name, _NOTHING)
        values = (
            value for value in known.values.values() if any(map(str.isalpha, value))
        )  # a number may be any number
        if _has_any(text, (each.name, *known.words, *known.values, *known.groups, *values)):
            found.add(each.name)
    return frozenset(found)


def _says(verbs: frozenset[str], phrases: Iterable[str]) -> bool:
    """Whether all words of a phrase are said that tell something, in any form and order."""
    return any((told := told_words(phrase)) and told <= verbs for phrase in phrases)


@lru_cache(maxsize=1 << 14)
def told_words(phrase: str) -> frozenset[str]:
    """Return the words of a phrase that tell something, verbs in their base form; none of "of" or "in"."""
    return frozenset(verb_lemma(word) for word in words(phrase) if word not in _FUNCTION_WORDS)


@lru_cache(maxsize=1 << 14)
def _singular(text: str) -> str:
    """The words of a text in the singular, each between blanks."""
    return f" {' '.join(map(noun_lemma, words(text)))} "


def _has_any(text: str, phrases: Iterable[str]) -> bool:
    return any(sought.strip() and sought in text for sought in map(_singular, phrases))
