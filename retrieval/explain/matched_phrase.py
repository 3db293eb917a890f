"""The words of a request that a tool's document also has, as the user wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ontology.verb_phrases import phrases_of_verbs
from retrieval.index.analysis import STOP_WORDS, terms

__all__ = ["Span", "Word", "matched_phrase", "request_words"]

Span = tuple[int, int]
"""First character of a stretch of the request, and the one after it."""

# Chosen, not tuned.
_MAX_WORDS = 5
_MAX_CHARS = 60
_MAX_READ = 400  # words of the request
_NAME_WEIGHT = 4.0
_GAP_COST = 0.5  # of a word inside the phrase that does not match
_WORD = re.compile(r"[^\W_]+(?:['’./-][^\W_]+)*")
_BREAK = re.compile(r"[.!?;:,\n()\[\]\"“”]")
_GENERAL = frozenset(
    "put get take give make have do go let bring see set turn run come send use add new list find show".split()
)
"""Words that say nothing alone."""
_JOINS = frozenset("and or but then if when while where who which because so before after until".split())
"""Words that no stretch goes beyond."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the request.

    :param terms: its index terms.
    :param joined: whether the word after it follows in the same part of a sentence.
    """

    start: int
    end: int
    text: str
    terms: tuple[str, ...]
    joined: bool


def request_words(text: str, values: Collection[Span]) -> tuple[Word, ...]:
    """The words of a request, the first 400, without what lies in typed values."""
    taken = {at for start, end in values for at in range(start, end)}
    spans = [match.span() for match in _first(_WORD.finditer(text)) if match.start() not in taken]
    after = [
        not (_BREAK.search(text, one[1], two[0]) or taken & {*range(one[1], two[0])}) for one, two in pairwise(spans)
    ]
    return tuple(
        Word(start, end, text[start:end], tuple(terms(text[start:end])), joined)
        for (start, end), joined in zip(spans, (*after, False), strict=False)
    )


def _first(matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    return (match for match, _ in zip(matches, range(_MAX_READ), strict=False))


def matched_phrase(
    text: str, words: Sequence[Word], name: Sequence[str], others: Collection[str], rarity: Callable[[str], float]
) -> str:
    """The stretch of a request, at most five words, that matches a tool best; empty where no more than a chance word does.

    A stretch lies in one part of a sentence, and its first and last words match. A word of the name counts four times; so does an
    everyday phrase for the name's verb ("get rid of" for *delete*).

    :param words: the words of ``text``.
    :param name: index terms of the tool's name and title, in order.
    :param others: index terms of its description.
    :param rarity: how rare a term is in the catalogue, > 0.
    """
    weights = {term: rarity(term) for word in words for term in word.terms if term in others}
    weights |= {term: _NAME_WEIGHT * rarity(term) for word in words for term in word.terms if term in name}
    everyday = _everyday(words, name)
    matches = [_matches(word, weights, everyday.get(at)) for at, word in enumerate(words)]
    best = max(_stretches(words, matches), default=None, key=lambda one: (one[0], -one[1], -one[2]))
    if best is None:
        return ""
    _, start, stop = best
    inside: dict[str, float] = {}
    for one in matches[start:stop]:
        inside |= one
    is_said = bool(inside.keys() & {*name, *everyday.values()})
    if (not is_said and len(inside) < 2) or (len(inside) == 1 and words[start].text.lower() in _GENERAL):
        return ""
    return " ".join(text[words[start].start : words[stop - 1].end].split())[:_MAX_CHARS]


def _matches(word: Word, weights: Mapping[str, float], verb: str | None) -> dict[str, float]:
    found = {term: weights[term] for term in word.terms if term in weights}
    return found if verb is None else {verb: _NAME_WEIGHT, **found}


def _stretches(words: Sequence[Word], matches: Sequence[Mapping[str, float]]) -> Iterator[tuple[float, int, int]]:
    """Score, first word and end of each stretch."""
    for start, first in enumerate(matches):
        if not first:
            continue
        found: dict[str, float] = {}
        for stop in range(start, min(start + _MAX_WORDS, len(words))):
            found |= matches[stop]
            if words[stop].text.lower() in _JOINS:
                break
            if matches[stop]:
                gaps = sum(not one for one in matches[start : stop + 1])
                yield sum(found.values()) - _GAP_COST * gaps, start, stop + 1
            if not words[stop].joined:
                break


def _everyday(words: Sequence[Word], name: Sequence[str]) -> dict[int, str]:
    """Position of each word that belongs to an everyday phrase for a verb of the name → that verb."""
    said = [word.text.lower() for word in words]
    places: dict[str, list[int]] = {}
    for at, one in enumerate(said):
        places.setdefault(one, []).append(at)
    found: dict[int, str] = {}
    for verb in name:
        for phrase in phrases_of_verbs().get(verb, ()):
            parts = phrase.partition("~")[0].split()
            if not parts or (len(parts) == 1 and (parts[0] in _GENERAL or parts[0] in STOP_WORDS)):
                continue
            for at in places.get(parts[0], ()):
                if said[at : at + len(parts)] == parts:
                    found |= dict.fromkeys(range(at, at + len(parts)), verb)
    return found
