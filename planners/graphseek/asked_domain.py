"""The domain of questions about a property graph: its schema with the words of its semantic catalog, as the reader by rules takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ontology.names import verb_lemma, words
from planners.graphseek.catalog import (
    TIME_ROLES,
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    SemanticCatalog,
)
from planners.graphseek.operators.pattern import naming_properties, roles_of_owner
from planners.query.domain import Domain, EdgeType, EntityType, FieldType, Operator
from planners.stores.graph_schema import GraphSchema, NodeType

__all__ = ["OWN_TIME", "TIME", "AskedDomain", "asked_domain"]

TIME, OWN_TIME = "Time__", "time__"
"""The type of times, and the edge to it where a node says itself when it was; else the relationship to what says it is the edge."""

_AUXILIARIES = frozenset("is are was were be been can may".split())
_NUMBER_OPERATORS: tuple[Operator, ...] = ("=", "<", ">", "<=", ">=")
_NAMED = ("named", "called")


@dataclass(frozen=True, slots=True)
class AskedDomain:
    """The domain, and what its words are in the graph.

    :param values: (type, property, word) → the values that the word means.
    :param naming: type → the properties that its nodes are called by, what people say first.
    :param times: edge → the properties of its relationship that say when, by their role.
    :param chained: (edge, source, target): it also leads there by way of other nodes, as a city lies in a county that lies in a state.
    """

    domain: Domain
    types: Mapping[str, str]
    relationships: Mapping[str, str]
    properties: Mapping[tuple[str, str], str]
    values: Mapping[tuple[str, str, str], tuple[str, ...]]
    naming: Mapping[str, tuple[str, ...]]
    times: Mapping[str, Mapping[str, str]]
    chained: frozenset[tuple[str, str, str]]


def asked_domain(schema: GraphSchema, catalog: SemanticCatalog) -> AskedDomain:
    """Return the domain of a graph; names that are no identifiers get one, and are found again in the maps."""
    types = _identifiers([each.name for each in schema.nodes])
    relationships = _identifiers([each.name for each in schema.relationships])
    properties: dict[tuple[str, str], str] = {}
    values: dict[tuple[str, str, str], tuple[str, ...]] = {}
    naming: dict[str, tuple[str, ...]] = {}
    entities = {}
    for at, (name, node) in enumerate(zip(types, schema.nodes, strict=True)):
        described = catalog.nodes.get(node.name, NodeDescriptor())
        roles = roles_of_owner(node, catalog)
        naming[name] = tuple(sorted(naming_properties(node, catalog), key=lambda each: roles.get(each) != "name"))
        named = next(iter(naming[name]), "")
        fields = {}
        for field, key in zip(_identifiers([each.name for each in node.properties]), node.properties, strict=True):
            said = described.properties.get(key.name, PropertyDescriptor())
            properties[name, field] = key.name
            for word, meant in _meanings(said):
                values.setdefault((name, field, word), meant)
                values.setdefault((name, field, verb_lemma(word)), meant)
            own = () if roles.get(key.name) == "key" else (" ".join(words(key.name)),)
            fields[field] = FieldType(
                operators=_NUMBER_OPERATORS if key.type in ("integer", "number") else ("=", "contains"),
                kind="number" if key.type in ("integer", "number") else "text",
                words=tuple(dict.fromkeys([*own, *said.words, *(_NAMED if key.name == named else ())])),
                values=tuple(word for kind, of, word in values if (kind, of) == (name, field)),
                description=said.unit,
            )
        spoken = dict.fromkeys([" ".join(words(node.name)), *described.words])
        entities[name] = EntityType(variable=f"n{at}_", words=tuple(filter(None, spoken)), fields=fields)
    edges, chained = list[EdgeType](), set[tuple[str, str, str]]()
    timed = {name for name, node in zip(types, schema.nodes, strict=True) if _tells_time(node, catalog)}
    for name, relationship in zip(relationships, schema.relationships, strict=True):
        phrases = tuple(dict.fromkeys(_phrases(relationship.name, catalog.relationships.get(relationship.name))))
        pairs = {(_key_of(types, each.source), _key_of(types, each.target)): None for each in relationship.ends}
        for source, target in pairs:
            edges.append(_edge(name, source, target, phrases))
            between = {end for begin, end in pairs if begin == source}
            if source != target and any((middle, target) in pairs for middle in between):
                chained.add((name, source, target))
            if target in timed:
                edges.append(_edge(name, source, TIME, phrases))
    timed |= {each.source for each in edges if each.targets == (TIME,)}
    edges[:0] = [_edge(OWN_TIME, name, TIME, ()) for name in types if name in timed]
    if timed:
        value = FieldType(operators=("=", "<", ">"), kind="date")
        entities[TIME] = EntityType(variable="when", kind="date", fields={"value": value})
    times: dict[str, Mapping[str, str]] = {
        name: {str(role): key for key, role in roles_of_owner(each, catalog).items() if role in TIME_ROLES}
        for name, each in zip(relationships, schema.relationships, strict=True)
    }
    about = catalog.about or "a property graph"
    domain = Domain.model_construct(name="graph", extended=True, description=about, types=entities, edges=tuple(edges))
    return AskedDomain(domain, types, relationships, properties, values, naming, times, frozenset(chained))


def _edge(name: str, source: str, target: str, phrases: tuple[str, ...]) -> EdgeType:
    return EdgeType.model_construct(
        name=name, source=source, targets=(target,), words=phrases, description="", forward={}, backward={}
    )


def _tells_time(node: NodeType, catalog: SemanticCatalog) -> bool:
    return bool({*TIME_ROLES} & {*roles_of_owner(node, catalog).values()})


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """Names as identifiers, each once → the name."""
    found: dict[str, str] = {}
    for at, name in enumerate(names):
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)[:50] or "_"
        plain = plain if not plain[0].isdigit() else f"_{plain}"
        found[plain if plain not in found else f"{plain}_{at}"] = name
    return found


def _key_of(names: Mapping[str, str], name: str) -> str:
    return next(key for key, value in names.items() if value == name)


def _meanings(said: PropertyDescriptor) -> Iterator[tuple[str, tuple[str, ...]]]:
    for value in dict.fromkeys(said.values.values()):
        yield value.casefold(), (value,)
    yield from ((word.casefold(), (value,)) for word, value in said.values.items())
    yield from ((word.casefold(), tuple(group)) for word, group in said.groups.items())


def _phrases(name: str, described: RelationshipDescriptor | None) -> Iterator[str]:
    """A relationship's phrases with their ends, verbs in the infinitive: "offered by" → ``{target} offer {source}``."""
    known = described or RelationshipDescriptor()
    for phrases, own, other in (
        ((" ".join(words(name)), *known.forward), "{source}", "{target}"),
        (known.backward, "{target}", "{source}"),
    ):
        for phrase in phrases:
            parts = phrase.casefold().split()
            while len(parts) > 1 and parts[0] in _AUXILIARIES:
                parts = parts[1:]
            if not parts:
                continue
            if parts[-1] == "of" and len(parts) > 1 and not _is_verb(parts[0]):
                yield f"{' '.join(parts)} {other}"  # "input of"
            elif parts[-1] == "by" and len(parts) > 1:
                yield " ".join([other, verb_lemma(parts[0]), *parts[1:-1], own])
            elif parts[0] in ("has", "have"):
                yield f"{own} have {other}"
                yield f"{' '.join(parts[1:])} of {own}" if parts[1:] else f"{other} of {own}"
            else:
                yield " ".join([own, verb_lemma(parts[0]), *parts[1:], other])


def _is_verb(word: str) -> bool:
    return verb_lemma(word) != word
