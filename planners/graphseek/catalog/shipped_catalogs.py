"""The catalog of a graph: one that the user has, or one that is part of the product."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import planners.graphseek.catalog.shipped
from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.catalog.catalog_yaml import read_catalog
from planners.graphseek.catalog.semantic_catalog import SemanticCatalog

__all__ = ["catalog_for", "describes", "shipped_catalogs"]


def catalog_for(schema: GraphSchema, own: Iterable[SemanticCatalog] = ()) -> SemanticCatalog:
    """Return the accepted catalog of a graph; an empty one, with the fingerprint, where there is none.

    Of the user's, then of the shipped ones: first one with the fingerprint of the schema, then one that describes all types and
    properties of the graph, which may be more than the graph has.
    """
    known = [each for each in (*own, *shipped_catalogs().values()) if each.accepted]
    same = [each for each in known if each.fingerprint == schema.fingerprint]
    wider = [each for each in known if describes(each, schema)]
    found = [*same, *wider, SemanticCatalog()][0]
    return dataclasses.replace(found, fingerprint=schema.fingerprint)


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


@cache
def shipped_catalogs() -> dict[str, SemanticCatalog]:
    """Return the catalogs that are part of the product, by name of the file."""
    folder = Path(planners.graphseek.catalog.shipped.__file__).parent
    return {path.stem: read_catalog(path) for path in sorted(folder.glob("*.yaml"))}
