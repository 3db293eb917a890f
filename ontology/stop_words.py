"""Stop words from ``stop_words.yaml``: one list for each use."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

__all__ = ["stop_words"]

_FILE = Path(__file__).with_name("stop_words.yaml")


def stop_words(use: str) -> frozenset[str]:
    """Return the lower-case words of one list of ``stop_words.yaml``; raise KeyError for an unknown list."""
    return _lists()[use]


@cache
def _lists() -> dict[str, frozenset[str]]:
    lists: dict[str, str] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return {use: frozenset(words.split()) for use, words in lists.items()}
