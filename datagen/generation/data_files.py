"""The data files of this folder: word classes and sentence templates as YAML, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ontology.yaml_data import read_yaml

__all__ = ["fill", "read_data", "synonyms", "templates", "word_classes"]


def read_data(name: str) -> dict[str, Any]:
    """The content of ``<name>.yaml``; callers must not change it."""
    content: dict[str, Any] = read_yaml(Path(__file__).with_name(f"{name}.yaml"))
    return content


def word_classes(section: str) -> Mapping[str, frozenset[str]]:
    """Name → words, of one section of ``word_classes.yaml``."""
    rows = read_data("word_classes")[section]
    return {name: frozenset(row.split() if isinstance(row, str) else row) for name, row in rows.items()}


def templates(section: str) -> Mapping[str, tuple[str, ...]]:
    """Name → templates, of one section of ``sentence_templates.yaml``; one with a weight is there that many times."""
    rows = read_data("sentence_templates")[section]
    return {name: tuple(text for entry in row for text in _weighted(entry)) for name, row in rows.items()}


def synonyms(noun: str) -> frozenset[str]:
    """The words of the synonyms of a noun in the singular; a synonym of a synonym is none."""
    return frozenset(read_data("near_words").get(noun, "").split())


def fill(template: str, **slots: str) -> str:
    """A template with the texts of these slots; slots of other names are left as they are."""
    for name, text in slots.items():
        template = template.replace(f"{{{name}}}", text)
    return template


def _weighted(entry: str | Mapping[str, int]) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    return [text for text, weight in entry.items() for _ in range(weight)]
