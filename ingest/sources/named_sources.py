"""What the report and the manifest of a snapshot say of the named sources of a catalogue; nothing of it is secret."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ingest.sources.catalog import Catalog
from ontology.redaction import redacted_address

__all__ = ["NamedSource", "named_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """A named source.

    :param location: address, path or pattern, as it may be shown.
    :param namespaces: the namespaces of its tools.
    :param refresh_s: seconds after which it should be read again, or None.
    :param aliases: other names of the system.
    :param tools: number of its tools in the catalogue.
    """

    name: str
    location: str
    namespaces: tuple[str, ...]
    owner: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    refresh_s: int | None = None
    tools: int


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
