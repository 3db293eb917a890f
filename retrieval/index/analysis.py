"""Text analysis for indexing and for retrieval: index terms, and the n-grams of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ontology.names import expand, noun_lemma, verb_lemma, words
from ontology.stop_words import stop_words

__all__ = ["MAX_NGRAM", "STOP_WORDS", "name_key", "ngrams", "terms"]

MAX_NGRAM = 3  # paper, algorithm 2: n_max = 3
_MAX_TOKENS = 4_000

STOP_WORDS = stop_words("index")


@lru_cache(maxsize=200_000)
def _term(word: str) -> str:
    return verb_lemma(noun_lemma(word))


def terms(text: str, abbreviations: Mapping[str, str] = {}) -> list[str]:
    """Return the index terms of a text: lower-case words without stop words, lemmatised, in order; abbreviations are expanded."""
    return [_term(word) for word in expand(words(text), abbreviations) if word not in STOP_WORDS]


def name_key(name: str) -> str:
    """Return the n-gram that matches a node's name; empty for a name of more than three words."""
    tokens = words(name)
    return " ".join(map(noun_lemma, tokens)) if 1 <= len(tokens) <= MAX_NGRAM else ""


def ngrams(texts: Sequence[str], abbreviations: Mapping[str, str]) -> list[str]:
    """Return the distinct canonical trigrams, bigrams and unigrams of parts of a request, longest first, then in text order.

    Each n-gram also occurs with its first word as a verb lemma (``sending reminders`` matches ``send reminder``).
    N-grams that consist of stop words and numbers are left out.
    """
    parts: list[list[str]] = []
    left = _MAX_TOKENS
    for text in texts:
        parts.append(expand(words(text), abbreviations)[:left])
        left -= len(parts[-1])
    found: dict[str, None] = {}
    for size in range(MAX_NGRAM, 0, -1):
        for tokens in parts:
            found.update(dict.fromkeys(_of_size(tokens, size)))
    return list(found)


def _of_size(tokens: Sequence[str], size: int) -> Iterator[str]:
    nouns = [noun_lemma(token) for token in tokens]
    for start in range(len(tokens) - size + 1):
        if not _no_content(tokens[start : start + size]):
            rest = nouns[start + 1 : start + size]
            yield " ".join((nouns[start], *rest))
            yield " ".join((verb_lemma(tokens[start]), *rest))


def _no_content(tokens: Sequence[str]) -> bool:
    return all(token in STOP_WORDS or token.isdigit() for token in tokens)
