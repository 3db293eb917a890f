"""Patterns made of the word lists in ``trust_words.yaml``."""

from __future__ import annotations

import re

from ingest.word_lists import word_patterns

__all__ = ["any_of"]


def any_of(name: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that finds any of a list, in a word too; raise KeyError for an unknown list."""
    return re.compile("|".join(word_patterns("trust", name)), flags)
