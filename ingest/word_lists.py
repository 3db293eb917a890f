"""Word lists from the YAML files ``ingest/FOLDER/FOLDER_words.yaml``. A file is read once, when its first list is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ontology.files import read_yaml

_ROOT = Path(__file__).parent


def word_list(folder: str, name: str) -> frozenset[str]:
    """Return the words of one list; raise KeyError for an unknown list."""
    return frozenset(_lists(folder)[name].split())


def word_groups(folder: str, name: str) -> dict[str, frozenset[str]]:
    """Return a map from group name to the words of the group; raise KeyError for an unknown list."""
    return {group: frozenset(words.split()) for group, words in _lists(folder)[name].items()}


def word_rows(folder: str, name: str) -> list[str]:
    """Return the rows of a list whose entries have no names; raise KeyError for an unknown list."""
    return list(_lists(folder)[name])


def _lists(folder: str) -> Any:
    return read_yaml(_ROOT / folder / f"{folder}_words.yaml")
