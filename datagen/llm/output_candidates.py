"""Candidates: the fixed list of names that an output may have, narrowed to those that a tool could have to do with."""

from __future__ import annotations

from collections import defaultdict

from datagen.catalogue import Catalogue
from datagen.paths.extended_profiles import is_page_mark
from datagen.paths.rules_outputs import available_parameters
from ingest.linking import canonical_names
from ontology.names import canonical_name, identified_entity
from ontology.tool import Tool
from retrieval.index.analysis import terms

__all__ = ["Candidates"]

_OPTION = "$"  # begins the options of an OData query, which nothing gives
_MAX_DESCRIPTION_CHARS = 60
_ENTITY_WEIGHT = 1.0  # as much as one word that no other name has


class Candidates:
    """The names of all inputs of a catalogue, found by the words they share with a tool; what pages a list is left out.

    A rare word counts more than a usual one, and one of more names than are asked for not at all; a name that identifies the tool's own entity counts
    as one rare word more. Where few names share a word, those that most tools ask for fill the list up.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        names = canonical_names(catalogue.ontology)
        self._listed = {
            name: listed
            for name, listed in available_parameters(catalogue).items()
            if not name.startswith(_OPTION) and not is_page_mark(name, names)
        }
        self._common = sorted(self._listed, key=lambda name: (-self._listed[name].count, name))
        self._sharing: dict[str, list[str]] = defaultdict(list)
        self._identifying: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self._listed):
            for word in _name_words(name):
                self._sharing[word].append(name)
            if entity := identified_entity(name, catalogue.ontology.abbreviations):
                self._identifying[entity].append(name)

    def told(self, name: str) -> str:
        """The name as the model is shown it: with what its documents say of it."""
        description = " ".join(self._listed[name].description.split())[:_MAX_DESCRIPTION_CHARS]
        return f"{name} ({description})" if description else name

    def nearest(self, tool: Tool, count: int) -> tuple[str, ...]:
        """At most ``count`` names, the nearest first, without the tool's own inputs; all where there are no more."""
        own = {parameter.name for parameter in tool.parameters}
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(_tool_words(tool)):
            sharing = self._sharing.get(word, ())
            if len(sharing) <= count:  # a word that more names have tells none of them ("id")
                for name in sharing:
                    scores[name] += 1 / len(sharing)
        for name in self._identifying.get(self._catalogue.profile(tool.id).entity, ()):
            scores[name] += _ENTITY_WEIGHT
        near = sorted(scores.keys() - own, key=lambda name: (-scores[name], name))[:count]
        rest = (name for name in self._common if name not in scores and name not in own)
        return tuple(near) + tuple(name for name, _ in zip(rest, range(count - len(near)), strict=False))


def _name_words(name: str) -> set[str]:
    return set(canonical_name(name.rsplit(".", 1)[-1]).split())


def _tool_words(tool: Tool) -> set[str]:
    said = f"{tool.title} {tool.name} {tool.description}"
    return {*terms(said), *canonical_name(said).split(), *(w for one in tool.parameters for w in _name_words(one.name))}
