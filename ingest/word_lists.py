"""Word lists from the YAML files beside the modules that use them; each file is read once, when its first list is used."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["word_groups", "word_list", "word_sets"]

_FOLDER = Path(__file__).parent


def word_list(file: str, name: str) -> frozenset[str]:
    """The words of one list.

    :param file: path of the YAML file inside ``ingest/``.
    """
    return frozenset(_lists(file)[name].split())


def word_groups(file: str, name: str) -> dict[str, frozenset[str]]:
    """The words of a list in groups, by the name of the group."""
    return {group: frozenset(words.split()) for group, words in _lists(file)[name].items()}


def word_sets(file: str, name: str) -> list[frozenset[str]]:
    """The words of a list in groups without names."""
    return [frozenset(words.split()) for words in _lists(file)[name]]


@cache
def _lists(file: str) -> dict[str, Any]:
    lists: dict[str, Any] = yaml.safe_load((_FOLDER / file).read_text(encoding="utf-8"))
    return lists
