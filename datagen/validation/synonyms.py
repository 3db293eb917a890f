"""Everyday words: what people call the things that tools identify, and which of them are people."""

from __future__ import annotations

import re
from functools import lru_cache

from datagen.generation import load_lexicon
from ontology.names import noun_lemma, words
from ontology.stop_words import stop_words

__all__ = ["PERSONS", "STOP", "called", "content_words", "is_person", "say"]

PERSONS = frozenset(
    "employee user person people caller owner organiser organizer host requester requestor approver assignee member traveller traveler "
    "colleague manager staff worker reporter author creator sender attendee participant interviewer buyer picker counter lead login account".split()
)
"""Roles of people, in the singular."""
STOP = stop_words("validation")
"""Words that say nothing of what is spoken of."""


@lru_cache(maxsize=1 << 14)
def is_person(entity: str) -> bool:
    """Whether a canonical name is of a person."""
    noun = load_lexicon().noun(entity)
    return entity.split()[-1] in PERSONS or (noun is not None and noun.person)


@lru_cache(maxsize=1 << 14)
def called(entity: str) -> frozenset[str]:
    """The nouns that end what people call an entity, and the initials of its name."""
    names = [entity, *say(entity)]
    found = {noun_lemma(name.lower().split()[-1]) for name in names}
    head = re.split(r" (?:for|of) ", entity)[0]
    found.add(head.split()[-1])
    if len(entity.split()) > 1:
        found.add("".join(part[0] for part in entity.split()))
        found.add("".join(part[0] for part in entity.split() if part not in ("for", "of", "and")))
    return frozenset(found)


def say(entity: str) -> tuple[str, ...]:
    """What people say for a canonical name; nothing where no everyday word is known."""
    noun = load_lexicon().noun(entity) if entity else None
    return noun.words if noun is not None else ()


def content_words(text: str) -> list[str]:
    """The words of a text that are no function words, in order."""
    return [word for word in words(text) if word not in STOP and len(word) > 1]
