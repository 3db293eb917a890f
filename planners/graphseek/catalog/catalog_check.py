"""Checking a semantic catalog, and accepting it: what it says of a schema, and what it says to a model."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ontology.errors import InvalidArgumentError
from ontology.names import canonical_name
from planners.graphseek.catalog.descriptor_faults import text_fault
from planners.graphseek.catalog.semantic_catalog import PropertyDescriptor, SemanticCatalog
from planners.stores.graph_schema import GraphSchema, PropertyKey

__all__ = ["CatalogFinding", "FindingKind", "accept", "check_catalog"]

FindingKind: TypeAlias = Literal["unknown name", "text", "fingerprint", "no descriptor", "same words"]
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFinding:
    """Something wrong with a catalog.

    :param severity: a catalog with an ``error`` is not accepted.
    :param place: ``BatteryModule.unitCost``; empty: the whole catalog.
    :param problem: one sentence without a full stop.
    """

    kind: FindingKind
    severity: Literal["error", "warning"]
    place: str
    problem: str


def check_catalog(catalog: SemanticCatalog, schema: GraphSchema) -> tuple[CatalogFinding, ...]:
    """Compare a catalog with the schema of its graph, and read its texts. Errors come first."""
    found = [*_texts(catalog), *_names(catalog, schema), *_same_words(catalog)]
    if catalog.fingerprint != schema.fingerprint:
        problem = "the schema has changed since" if catalog.fingerprint else "it has no fingerprint"
        found.append(CatalogFinding(kind="fingerprint", severity="warning", place="", problem=problem))
    return tuple(sorted(found, key=lambda each: each.severity))


def accept(catalog: SemanticCatalog) -> SemanticCatalog:
    """Return the catalog as one that may be used. A person has read it; its texts are checked once more.

    :raises InvalidArgumentError: when a text of it must not stand in a prompt.
    """
    faults = [f"{each.place}: {each.problem}" for each in _texts(catalog)]
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise InvalidArgumentError(
            f"{len(faults)} text(s) must not stand in a prompt: {'; '.join(faults[:_SHOWN])}{more}",
            subject="catalog",
            remedy="Correct them, and accept it again",
        )
    return dataclasses.replace(catalog, accepted=True)


def _texts(catalog: SemanticCatalog) -> Iterator[CatalogFinding]:
    for place, text in _all_texts(catalog):
        if fault := text_fault(text):
            yield CatalogFinding(kind="text", severity="error", place=place, problem=fault)


def _all_texts(catalog: SemanticCatalog) -> Iterator[tuple[str, str]]:
    """Every text of a catalog that a prompt may hold, names too."""
    yield "about", catalog.about
    for name, node in catalog.nodes.items():
        yield from ((name, text) for text in (name, node.description, *node.words))
        yield from _property_texts(name, node.properties)
    for name, each in catalog.relationships.items():
        yield from ((name, text) for text in (name, each.description, *each.forward, *each.backward))
        yield from _property_texts(name, each.properties)


def _property_texts(owner: str, properties: Mapping[str, PropertyDescriptor]) -> Iterator[tuple[str, str]]:
    for name, each in properties.items():
        place = f"{owner}.{name}"
        yield from ((place, text) for text in (name, each.description, each.unit, *each.words))
        yield from ((place, text) for pair in each.values.items() for text in pair)
        yield from ((place, text) for word, values in each.groups.items() for text in (word, *values))


def _names(catalog: SemanticCatalog, schema: GraphSchema) -> Iterator[CatalogFinding]:
    nodes = {each.name: each.properties for each in schema.nodes}
    relationships = {each.name: each.properties for each in schema.relationships}
    described_nodes = {name: each.properties for name, each in catalog.nodes.items()}
    described_relationships = {name: each.properties for name, each in catalog.relationships.items()}
    yield from _compared("node type", described_nodes, nodes)
    yield from _compared("relationship type", described_relationships, relationships)


def _compared(
    what: str,
    described: Mapping[str, Mapping[str, PropertyDescriptor]],
    known: Mapping[str, tuple[PropertyKey, ...]],
) -> Iterator[CatalogFinding]:
    for name, properties in described.items():
        if name not in known:
            problem = f"the graph has no such {what}"
            yield CatalogFinding(kind="unknown name", severity="error", place=name, problem=problem)
            continue
        keys = {each.name for each in known[name]}
        for key in properties:
            if key not in keys:
                problem = f"the {what} has no such property"
                yield CatalogFinding(kind="unknown name", severity="error", place=f"{name}.{key}", problem=problem)
    for name in known:
        if name not in described:
            problem = f"the {what} has no descriptor"
            yield CatalogFinding(kind="no descriptor", severity="warning", place=name, problem=problem)


def _same_words(catalog: SemanticCatalog) -> Iterator[CatalogFinding]:
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for name, node in catalog.nodes.items():
        for word in (name, *node.words):
            owners[canonical_name(word)].add(name)
    for word, names in sorted(owners.items()):
        if len(names) > 1:
            problem = f"{word!r} names {', '.join(sorted(names))} alike"
            yield CatalogFinding(kind="same words", severity="warning", place=min(names), problem=problem)
