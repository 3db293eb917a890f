"""Everyday words for the entities of tools, and which of these are people."""

from __future__ import annotations

import re

from datagen.generation import Lexicon, load_lexicon
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from ontology.names import noun_lemma, words
from ontology.stop_words import stop_words

__all__ = ["PERSONS", "STOP_WORDS", "EverydayWords", "content_words"]

PERSONS = load_patterns("validation/tools").words("persons")
"""Roles of people, in the singular."""
STOP_WORDS = stop_words("validation")
_OF_OR_FOR = re.compile(r" (?:for|of) ")


class EverydayWords:
    """What people call the things of one catalogue, by the words of its lexicon.

    :param lexicon: the shipped words for the catalogue that they were written for, and general English for any other.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._announcing: dict[str, frozenset[str]] = {}

    @classmethod
    def of(cls, catalogue: ProfiledCatalogue) -> EverydayWords:
        """The everyday words of a catalogue."""
        return cls(load_lexicon().for_things({profile.entity for profile in catalogue.profiles.values()}))

    def is_person(self, entity: str) -> bool:
        """Whether a canonical name is of a person."""
        noun = self._lexicon.noun(entity)
        return entity.split()[-1] in PERSONS or (noun is not None and noun.person)

    def announcing(self, entity: str) -> frozenset[str]:
        """The nouns with which people announce an identifier of an entity, and the initials of its name."""
        if entity not in self._announcing:
            self._announcing[entity] = self._announcing_nouns(entity)
        return self._announcing[entity]

    def _announcing_nouns(self, entity: str) -> frozenset[str]:
        found = {noun_lemma(name.lower().split()[-1]) for name in (entity, *self.words(entity))}
        found.add(_OF_OR_FOR.split(entity)[0].split()[-1])
        parts = entity.split()
        if len(parts) > 1:
            found.add("".join(part[0] for part in parts))
            found.add("".join(part[0] for part in parts if part not in ("for", "of", "and")))
        return frozenset(found)

    def words(self, entity: str) -> tuple[str, ...]:
        """The everyday words for a canonical name; none where no word is known."""
        noun = self._lexicon.noun(entity) if entity else None
        return noun.words if noun is not None else ()


def content_words(text: str) -> list[str]:
    """The words of a text that are no stop words, in order."""
    return [word for word in words(text) if word not in STOP_WORDS and len(word) > 1]
