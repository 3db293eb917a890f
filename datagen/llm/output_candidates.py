"""The candidates for the outputs of a tool: input names of the catalogue that share words with it."""

from __future__ import annotations

from collections import defaultdict
from itertools import islice

from datagen.extended_profiles import is_paging
from datagen.profiled_catalogue import ProfiledCatalogue
from ontology.names import canonical_name, identified_entity
from ontology.tool import Tool
from retrieval.index.analysis import terms

__all__ = ["Candidates"]

_ODATA_OPTION = "$"  # the first character of the options of an OData query, which no tool returns
_MAX_NAME_CHARS = (
    100  # of the names of inputs of 17 vendors and the shipped company (6,939) the longest has 94, and one has a blank
)
_ENTITY_WEIGHT = 1.0  # that of a word which no other name has


class Candidates:
    """The names of all inputs of a catalogue, without those for pages, by the words that they share with a tool.

    They are all that a prompt about one tool has of other tools: their descriptions are written by others, who could tell a model what to
    do with this tool. So a name that is a sentence, with white space or very long, is left out too.

    A rare word counts more than a common one, and a word in more names than wanted does not count. A name that identifies
    the entity of the tool gets the weight of one rare word. The most frequent names fill the rest.
    """

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self._listed = {
            name: listed
            for name, listed in catalogue.parameter_index.parameters.items()
            if not name.startswith(_ODATA_OPTION) and not is_paging(name, catalogue.names) and _is_plain(name)
        }
        self._common = sorted(self._listed, key=lambda name: (-self._listed[name].count, name))
        self._by_word: dict[str, list[str]] = defaultdict(list)
        self._by_entity: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self._listed):
            for word in _name_words(name):
                self._by_word[word].append(name)
            if entity := identified_entity(name, catalogue.ontology.abbreviations):
                self._by_entity[entity].append(name)

    def nearest(self, tool: Tool, count: int) -> tuple[str, ...]:
        """Return at most ``count`` names, nearest first, without the tool's own inputs."""
        own = {parameter.name for parameter in tool.parameters}
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(_tool_words(tool)):
            sharing = self._by_word.get(word, ())
            if len(sharing) <= count:
                for name in sharing:
                    scores[name] += 1 / len(sharing)
        for name in self._by_entity.get(self._catalogue.profile(tool.id).entity, ()):
            scores[name] += _ENTITY_WEIGHT
        near = sorted(scores.keys() - own, key=lambda name: (-scores[name], name))[:count]
        rest = (name for name in self._common if name not in scores and name not in own)
        return (*near, *islice(rest, count - len(near)))


def _is_plain(name: str) -> bool:
    return len(name) <= _MAX_NAME_CHARS and name.isprintable() and " " not in name


def _name_words(name: str) -> set[str]:
    return set(canonical_name(name.rsplit(".", 1)[-1]).split())


def _tool_words(tool: Tool) -> set[str]:
    text = f"{tool.title} {tool.name} {tool.description}"
    return {*terms(text), *canonical_name(text).split(), *(w for one in tool.parameters for w in _name_words(one.name))}
