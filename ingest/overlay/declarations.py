"""What the rules of overlay files declare of the tools of a catalogue, resolved to tools, for the graph and for the ranking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from ingest.linking.derived_edge import NO_LINKS, DeclaredLinks
from ingest.overlay.overlay_file import SystemAliases
from ontology.names import canonical_name
from ontology.ontology import Ontology
from ontology.tool_graph import Aliases, Synonym

__all__ = ["NOTHING", "Declarations", "near", "node_aliases"]


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


_SYSTEM = "system"
_CAPABILITY = "capability"
_SHOWN = 5
_NOT_ENTITIES = ("tool", "parameter", "value")


class FoundAliases(NamedTuple):
    """Node key → its other names; and a warning for each rule whose node is not in the graph."""

    aliases: dict[str, Aliases]
    warnings: tuple[str, ...]


def node_aliases(
    systems: Iterable[SystemAliases],
    synonyms: Collection[tuple[str, Synonym]],
    nodes: Iterable[str],
    ontology: Ontology,
) -> FoundAliases:
    """Find the nodes of aliases and synonyms.

    :param synonyms: (canonical name, the name that replaces it). In a request the replaced name means the same entity, and
        with a verb before it the same capability.
    :param nodes: the keys of the entities, ``type:name``.
    """
    by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
    capabilities: dict[str, list[str]] = defaultdict(list)
    for key in nodes:
        kind, _, name = key.partition(":")
        if kind not in _NOT_ENTITIES:
            by_name[name].append((kind, key))
        verb, _, rest = name.partition(" ")
        if kind == _CAPABILITY and rest:
            capabilities[rest].append(verb)
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    warnings: list[str] = []
    for system in systems:
        name = canonical_name(system.name, ontology.abbreviations)
        keys = [key for kind, key in by_name.get(name, ()) if kind == _SYSTEM]
        if not keys:
            known = [one for one, kinds in by_name.items() if any(kind == _SYSTEM for kind, _ in kinds)]
            listed = near(name, known) or f"; known are {', '.join(map(repr, sorted(known)[:_SHOWN]))}"
            warnings.append(f"{system.origin}: there is no system {system.name!r}{listed}")
        for key in keys:
            found[key].update((alias, system.origin) for alias in system.aliases)
    for old, synonym in synonyms:
        keys = [key for _, key in by_name.get(synonym.name, ())]
        for key in keys:
            found[key].add((old, synonym.origin))
        for verb in capabilities.get(synonym.name, ()):
            found[f"{_CAPABILITY}:{verb} {synonym.name}"].add((f"{verb} {old}", synonym.origin))
        if not keys and synonym.name not in capabilities:
            warnings.append(f"{synonym.origin}: no tool has the entity {synonym.name!r}{near(synonym.name, by_name)}")
    return FoundAliases({key: tuple(sorted(names)) for key, names in sorted(found.items())}, tuple(warnings))


def near(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    """Return the known names that are like this one, as the end of a sentence; empty where none is."""
    like = get_close_matches(name, sorted(set(known)), n=3)
    return f"; known are {', '.join(map(repr, like))}" if like else ""
