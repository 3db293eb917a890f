"""The words of a catalogue's documents, as lemmas, to find out what no tool mentions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from datagen.profiled_catalogue import ProfiledCatalogue
from ontology.names import noun_lemma, verb_lemma, words
from ontology.tool import Tool

__all__ = ["DocumentWords", "lemmas"]


def lemmas(text: str) -> frozenset[str]:
    """The words of a text as they stand, as nouns and as verbs."""
    found = set(words(text))
    return frozenset({*found, *map(noun_lemma, found), *map(verb_lemma, found)})


def _nouns(text: str) -> frozenset[str]:
    found = set(words(text))
    return frozenset({*found, *map(noun_lemma, found)})


class DocumentWords:
    """The words of each tool's name and of its whole document: description, inputs, their values, outputs, metadata."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self.names = {tool.id: lemmas(_name(tool)) for tool in catalogue.tools}
        """Map from tool to the lemmas of its name."""
        self.documents = {tool.id: lemmas(_text(tool)) for tool in catalogue.tools}
        """Map from tool to the lemmas of its document."""

    def hinted(self, hints: Iterable[str]) -> str:
        """Two hints in the document of one tool, with the tool; or empty."""
        wanted = frozenset(hints)
        for tool, document in self._nouns.items():
            if len(said := sorted(wanted & document)) > 1:
                return f"{said[0]!r} and {said[1]!r} in {tool}"
        return ""

    @cached_property
    def _nouns(self) -> Mapping[str, frozenset[str]]:
        return {tool.id: _nouns(_text(tool)) for tool in self._catalogue.tools}

    def sign(self, signs: Iterable[str]) -> str:
        """The first sign that a document has, or empty; a sign of several words must stand as they are."""
        return next((sign for sign in signs if self._has(sign)), "")

    def _has(self, sign: str) -> bool:
        parts = sign.split()
        if len(parts) == 1:
            return sign in self._all
        return all(pair in self._pairs for pair in pairwise(parts))

    @cached_property
    def _all(self) -> frozenset[str]:
        return frozenset[str]().union(*self._nouns.values())

    @cached_property
    def _pairs(self) -> frozenset[tuple[str, str]]:
        texts: Sequence[list[str]] = [words(_text(tool)) for tool in self._catalogue.tools]
        return frozenset(pair for tokens in texts for pair in pairwise(tokens))


def _name(tool: Tool) -> str:
    return f"{tool.id} {tool.name} {tool.title}"


def _text(tool: Tool) -> str:
    parts = [tool.id, tool.name, tool.title, tool.description, *map(str, tool.metadata.values())]
    for parameter in (*tool.parameters, *tool.returns):
        parts += [parameter.name, parameter.description, *parameter.enum]
    return "\n".join(parts)
