"""Words of the names of tools that say what a call does, from ``effect_words.yaml``."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from ontology.names import is_noun, is_verb, is_word
from ontology.yaml_data import read_yaml

__all__ = ["effect_words", "is_changing_verb"]

_FILE = Path(__file__).with_name("effect_words.yaml")
_PREFIXES = ("un", "re", "de", "dis")  # unban, reindex, deregister


@cache
def effect_words(use: str) -> frozenset[str]:
    """Return the lower-case words of one list of ``effect_words.yaml``; raise KeyError for an unknown list."""
    return frozenset(read_yaml(_FILE)[use].split())


@lru_cache(maxsize=1 << 14)
def is_changing_verb(word: str) -> bool:
    """Whether a lower-case word is a verb that is no noun and neither reads nor computes; without a spaCy model it is none."""
    if word in effect_words("reads") | effect_words("computes"):
        return False
    if is_word(word):
        return is_verb(word) and not is_noun(word)
    return any(word.startswith(prefix) and is_verb(word[len(prefix) :]) for prefix in _PREFIXES)
