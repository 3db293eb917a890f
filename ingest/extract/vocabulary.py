"""The word lists of the rules extractor; ``extract_words.yaml`` describes each list."""

from __future__ import annotations

from ingest.word_lists import word_list
from ontology.names import verb_lemma
from ontology.stop_words import stop_words

__all__ = [
    "ACTIONS",
    "ALSO_NOUNS",
    "DEPENDENT_NAMES",
    "GENERIC_HEADS",
    "LINKING_VERBS",
    "MOSTLY_NOUNS",
    "STOP_WORDS",
    "TRANSPARENT_HEADS",
    "action",
    "vocabulary",
]


def vocabulary(name: str) -> frozenset[str]:
    """Return one list of ``extract_words.yaml``; raise KeyError for an unknown list."""
    return word_list("extract", name)


ACTIONS = vocabulary("actions")
ALSO_NOUNS = vocabulary("also_nouns")
DEPENDENT_NAMES = vocabulary("dependent_names")
LINKING_VERBS = vocabulary("linking_verbs")
MOSTLY_NOUNS = vocabulary("mostly_nouns")
STOP_WORDS = stop_words("name_edges")
TRANSPARENT_HEADS = vocabulary("transparent_heads")
GENERIC_HEADS = TRANSPARENT_HEADS | vocabulary("generic_heads")


def action(word: str) -> str:
    """Return the base form of an operation's verb (``fetch`` for ``Fetches``), or empty for another word."""
    base = verb_lemma(word.lower())
    return base if base in ACTIONS else ""
