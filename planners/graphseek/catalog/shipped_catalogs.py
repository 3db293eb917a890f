"""The catalog of a graph: one that the user has, or one that is part of the product."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import planners.graphseek.catalog.shipped
from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.catalog.catalog_yaml import read_catalog
from planners.graphseek.catalog.semantic_catalog import PropertyDescriptor, SemanticCatalog

__all__ = ["catalog_for", "describes", "shipped_catalogs"]


def catalog_for(schema: GraphSchema, own: Iterable[SemanticCatalog] = ()) -> SemanticCatalog:
    """Return the accepted catalog of a graph; an empty one, with the fingerprint, where there is none.

    Of the user's, then of the shipped ones: first one with the fingerprint of the schema, then one that describes all types and
    properties of the graph, which may be more than the graph has.
    """
    known = [each for each in (*own, *shipped_catalogs().values()) if each.accepted]
    same = [each for each in known if each.fingerprint == schema.fingerprint]
    wider = [each for each in known if describes(each, schema)]
    return _narrowed([*same, *wider, SemanticCatalog()][0], schema)


def describes(catalog: SemanticCatalog, schema: GraphSchema) -> bool:
    """Whether a catalog has a descriptor for every type of a graph with types, and for every property of its nodes."""
    nodes = {name: set(each.properties) for name, each in catalog.nodes.items()}
    return (
        bool(schema.nodes)
        and all(
            node.name in nodes and {each.name for each in node.properties} <= nodes[node.name] for node in schema.nodes
        )
        and {each.name for each in schema.relationships} <= set(catalog.relationships)
    )


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
