"""The catalog of a graph: one that the user has, or one that is part of the product."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import planners.graphseek.catalog.shipped
from planners.graphseek.catalog.catalog_yaml import read_catalog
from planners.graphseek.catalog.semantic_catalog import PropertyDescriptor, SemanticCatalog
from planners.stores.graph_schema import GraphSchema

__all__ = ["OWN_SHARE", "catalog_for", "described_share", "shipped_catalogs"]


OWN_SHARE = 0.5
_SHIPPED_SHARE = 0.8
"""Of the names of a graph that a catalog describes: a schema may change under a catalog, and an ontology may add types. Another graph that
happens to have a type of the same name should get nothing; of a user's own the user has said that it is meant."""


def catalog_for(schema: GraphSchema, own: Iterable[SemanticCatalog] = ()) -> SemanticCatalog:
    """Return the accepted catalog of a graph, narrowed to what the graph has; an empty one where there is none.

    Of the user's, then of the shipped ones: one with the fingerprint of the schema, else the one that describes most of its names, at
    least half or four fifths of them.
    """
    for catalogs, least in ((own, OWN_SHARE), (shipped_catalogs().values(), _SHIPPED_SHARE)):
        ranked = sorted(
            (each for each in catalogs if each.accepted),
            key=lambda each: (each.fingerprint == schema.fingerprint, described_share(each, schema)),
        )
        if ranked and (ranked[-1].fingerprint == schema.fingerprint or described_share(ranked[-1], schema) >= least):
            return _narrowed(ranked[-1], schema)
    return SemanticCatalog(fingerprint=schema.fingerprint)


def described_share(catalog: SemanticCatalog, schema: GraphSchema) -> float:
    """Return which share of a schema's types, and of the properties of its node types, a catalog describes; 0 of an empty schema."""
    names = [(node.name, "") for node in schema.nodes]
    names += [(node.name, each.name) for node in schema.nodes for each in node.properties]
    known = {(name, key) for name, node in catalog.nodes.items() for key in ("", *node.properties)}
    relationships = [each.name in catalog.relationships for each in schema.relationships]
    total = len(names) + len(relationships)
    return (sum(name in known for name in names) + sum(relationships)) / total if schema.nodes else 0.0


def _narrowed(catalog: SemanticCatalog, schema: GraphSchema) -> SemanticCatalog:
    """The descriptors of what the schema has."""
    nodes = {node.name: {each.name for each in node.properties} for node in schema.nodes}
    relationships = {one.name: {each.name for each in one.properties} for one in schema.relationships}
    return dataclasses.replace(
        catalog,
        fingerprint=schema.fingerprint,
        nodes={
            name: dataclasses.replace(each, properties=_kept(each.properties, nodes[name]))
            for name, each in catalog.nodes.items()
            if name in nodes
        },
        relationships={
            name: dataclasses.replace(each, properties=_kept(each.properties, relationships[name]))
            for name, each in catalog.relationships.items()
            if name in relationships
        },
    )


def _kept(properties: Mapping[str, PropertyDescriptor], names: set[str]) -> dict[str, PropertyDescriptor]:
    return {name: each for name, each in properties.items() if name in names}


@cache
def shipped_catalogs() -> dict[str, SemanticCatalog]:
    """Return the catalogs that are part of the product, by name of the file."""
    folder = Path(planners.graphseek.catalog.shipped.__file__).parent
    return {path.stem: read_catalog(path) for path in sorted(folder.glob("*.yaml"))}
