"""Everyday words for the entities of tools, and which of these are people."""

from __future__ import annotations

import re
from functools import lru_cache

from datagen.generation import load_lexicon
from datagen.patterns import load_patterns
from ontology.names import noun_lemma, words
from ontology.stop_words import stop_words

__all__ = ["PERSONS", "STOP_WORDS", "announcing_nouns", "content_words", "everyday_words", "is_person"]

PERSONS = load_patterns("validation/tools").words("persons")
"""Roles of people, in the singular."""
STOP_WORDS = stop_words("validation")
_OF_OR_FOR = re.compile(r" (?:for|of) ")


@lru_cache(maxsize=1 << 14)
def is_person(entity: str) -> bool:
    """Whether a canonical name is of a person."""
    noun = load_lexicon().noun(entity)
    return entity.split()[-1] in PERSONS or (noun is not None and noun.person)


@lru_cache(maxsize=1 << 14)
def announcing_nouns(entity: str) -> frozenset[str]:
    """The nouns with which people announce an identifier of an entity, and the initials of its name."""
    found = {noun_lemma(name.lower().split()[-1]) for name in (entity, *everyday_words(entity))}
    found.add(_OF_OR_FOR.split(entity)[0].split()[-1])
    parts = entity.split()
    if len(parts) > 1:
        found.add("".join(part[0] for part in parts))
        found.add("".join(part[0] for part in parts if part not in ("for", "of", "and")))
    return frozenset(found)


def everyday_words(entity: str) -> tuple[str, ...]:
    """Return the everyday words for a canonical name; none where no word is known."""
    noun = load_lexicon().noun(entity) if entity else None
    return noun.words if noun is not None else ()


def content_words(text: str) -> list[str]:
    """The words of a text that are no stop words, in order."""
    return [word for word in words(text) if word not in STOP_WORDS and len(word) > 1]
