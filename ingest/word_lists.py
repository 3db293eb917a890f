"""Word lists from YAML files, one in each folder that uses some; a file is read once, when its first list is used."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["word_groups", "word_list", "word_sets"]

_ROOT = Path(__file__).parent


def word_list(folder: str, name: str) -> frozenset[str]:
    """The words of one list of ``ingest/FOLDER/FOLDER_words.yaml``."""
    return frozenset(_lists(folder)[name].split())


def word_groups(folder: str, name: str) -> dict[str, frozenset[str]]:
    """The words of a list in groups, by the name of the group."""
    return {group: frozenset(words.split()) for group, words in _lists(folder)[name].items()}


def word_sets(folder: str, name: str) -> list[frozenset[str]]:
    """The words of a list in groups without names."""
    return [frozenset(words.split()) for words in _lists(folder)[name]]


@cache
def _lists(folder: str) -> dict[str, Any]:
    text = (_ROOT / folder / f"{folder}_words.yaml").read_text(encoding="utf-8")
    lists: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return lists
