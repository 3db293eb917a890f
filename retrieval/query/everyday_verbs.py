"""Everyday verbs: what tools call the things that people ask for in other words, from ``everyday_verbs.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ontology.names import verb_lemma, words
from ontology.yaml_data import read_yaml
from retrieval.index.analysis import terms

__all__ = ["formal_terms"]

_FILE = Path(__file__).with_name("everyday_verbs.yaml")
_GAP = 3  # words that may stand between the words of a phrase: "tick the first two off"


def formal_terms(text: str) -> list[str]:
    """The index terms that the everyday phrases of a text stand for, distinct, in the order of the phrases."""
    said = [verb_lemma(word) for word in words(text)]
    found: dict[str, None] = {}
    for at, word in enumerate(said):
        for rest, meaning in _phrases().get(word, ()):
            if _follows(said, at + 1, rest):
                found.update(dict.fromkeys(meaning))
    return list(found)


def _follows(said: Sequence[str], at: int, rest: Sequence[str]) -> bool:
    """Whether the words of the rest of a phrase stand there in order, each after at most three others."""
    for word in rest:
        window = said[at : at + _GAP + 1]
        if word not in window:
            return False
        at += window.index(word) + 1
    return True


@cache
def _phrases() -> Mapping[str, tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]]:
    """The phrases by their first word: the other words, and the terms that they stand for."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for phrase, meaning in read_yaml(_FILE).items():
        first, *rest = (verb_lemma(word) for word in words(phrase))
        found.setdefault(first, []).append((tuple(rest), tuple(terms(meaning))))
    return {first: tuple(rows) for first, rows in found.items()}
