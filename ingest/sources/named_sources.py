"""The named sources of a catalogue, with the number of their tools."""

from __future__ import annotations

from collections import Counter

from ingest.sources.catalog import Catalog
from ontology.named_source import NamedSource
from ontology.redaction import redacted_address

__all__ = ["named_sources"]


def named_sources(catalog: Catalog) -> tuple[NamedSource, ...]:
    """Return the named sources of a catalogue, sorted by name."""
    namespaces: dict[str, Counter[str]] = {entry.name: Counter() for entry in catalog.sources}
    for tool in catalog.tools:
        source = tool.metadata.get("source")
        if source in namespaces:
            namespaces[source][tool.namespace] += 1
    return tuple(
        NamedSource(
            name=entry.name,
            location=redacted_address(entry.location),
            namespaces=tuple(sorted(namespaces[entry.name])),
            owner=entry.owner,
            description=entry.description,
            aliases=entry.aliases,
            refresh_s=entry.refresh_s,
            tools=namespaces[entry.name].total(),
        )
        for entry in catalog.sources
    )
