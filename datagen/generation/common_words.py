"""Plain words: whether a word is common enough to stand in a request."""

from __future__ import annotations

import json
from functools import cache, lru_cache

from inference.minilm import WEIGHTS
from ontology.names import is_word, noun_lemma, verb_lemma

__all__ = ["is_plain_word"]

_MIN_CHARS = 3
"""Shorter tokens of the vocabulary are mostly parts of words."""


@lru_cache(maxsize=50_000)
def is_plain_word(word: str) -> bool:
    """Whether a lower-case word is plain English, by the vocabulary of the shipped encoder.

    The vocabulary was made from an encyclopedia and novels, so it has the words that many people write. A word is plain if
    a dictionary has it and it is one token or two (``in|voice``), or if it is two plain tokens together (``work|flow``).
    """
    if len(word) < _MIN_CHARS or not word.isalpha() or not word.isascii():
        return False
    if is_word(word) and any(_pieces(form) for form in (word, noun_lemma(word), verb_lemma(word))):
        return True
    stem = noun_lemma(word)
    ends = range(_MIN_CHARS, len(stem) - _MIN_CHARS + 1)
    return any(_is_token(stem[:end]) and _is_token(stem[end:]) for end in ends)


def _pieces(word: str) -> bool:
    """Whether a word is one token, or a token and its continuation."""
    vocabulary = _vocabulary()
    return word in vocabulary or any(
        word[:at] in vocabulary and f"##{word[at:]}" in vocabulary for at in range(2, len(word))
    )


def _is_token(word: str) -> bool:
    return word in _vocabulary() and is_word(word)


@cache
def _vocabulary() -> frozenset[str]:
    content = json.loads((WEIGHTS / "tokenizer.json").read_text(encoding="utf-8"))
    return frozenset(content["model"]["vocab"])
