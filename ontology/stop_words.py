"""Stop words from ``stop_words.yaml``: one list for each use."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ontology.yaml_data import read_yaml

__all__ = ["stop_words"]

_FILE = Path(__file__).with_name("stop_words.yaml")


@cache
def stop_words(use: str) -> frozenset[str]:
    """Return the lower-case words of one list of ``stop_words.yaml``; raise KeyError for an unknown list."""
    return frozenset(read_yaml(_FILE)[use].split())
