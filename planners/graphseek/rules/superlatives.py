"""Which end of an order a superlative means: by its word, and by what the property is."""

from __future__ import annotations

from collections.abc import Sequence

from planners.graphseek.rules.phrase_lexicon import PropertyOf
from planners.graphseek.rules.question_cues import Top
from planners.graphseek.rules.relation_choice import TwoReadingsError
from planners.graphseek.rules.said_question import DATES

__all__ = ["is_descending", "ordered_by"]

# Ordinary English, of properties by their words; no shipped question depends on them.
_AGES = frozenset(("age", "ages"))
_BIRTHS = frozenset(("birth", "born", "birthday", "birthdate"))
_TIMES = (*DATES, "quarter", "month")
_OF_TIME = {"old": False, "new": True, "late": True, "early": False}
_OF_AGE = {"old": True, "young": False, "new": False}


def is_descending(top: Top, key: PropertyOf) -> bool | None:
    """Return whether the first ones are the greatest; None: the word and the property do not tell."""
    is_time = key.role in _TIMES or key.key.type == "date"
    if not top.sense:
        return None if is_time and top.implied else top.descending  # "the longest by date"
    if is_time:
        return True if top.sense == "young" and _BIRTHS & set(key.words) else _OF_TIME.get(top.sense)
    return _OF_AGE.get(top.sense) if _AGES & set(key.words) else None


def ordered_by(top: Top, said: str, properties: Sequence[PropertyOf]) -> tuple[tuple[PropertyOf, ...], bool]:
    """Return the properties that a superlative can be of, and its direction.

    :raises TwoReadingsError: when there is none, or it is another one for each.
    """
    directions = {each: is_descending(top, each) for each in properties}
    told = {each: way for each, way in directions.items() if way is not None}
    if len(set(told.values())) != 1:
        names = " or ".join(dict.fromkeys(each.key.name for each in properties))
        raise TwoReadingsError(f"“{said}” may be the highest or the lowest {names}. Which is meant?")
    return tuple(told), next(iter(told.values()))
