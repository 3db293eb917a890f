"""What the rules of overlay files declare of the tools of a catalogue, resolved to tools, for the graph and for the ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.linking.declared_links import NO_LINKS, DeclaredLinks
from ingest.overlay.overlay_rules import SystemAliases
from ontology.synonym import Synonym

__all__ = ["NOTHING", "Declarations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """The declarations of all overlay files of a build.

    :param links: what linking and canonicalisation need.
    :param systems: aliases of systems.
    :param synonyms: (canonical name, the name that replaces it) of all namespaces.
    :param dependencies: (tool, needed tool) → origin of the dependencies that an overlay declares.
    :param origins: tool id → field → origin of what an overlay says of the tool: ``{"description": "overlay.yaml:12"}``.
    :param boosts: tool id → standard deviations of the scores that are added to its score; no zeros.
    """

    links: DeclaredLinks = NO_LINKS
    systems: tuple[SystemAliases, ...] = ()
    synonyms: tuple[tuple[str, Synonym], ...] = ()
    dependencies: Mapping[tuple[str, str], str] = field(default_factory=dict)
    origins: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    boosts: Mapping[str, float] = field(default_factory=dict)


NOTHING = Declarations()
"""No overlay."""
