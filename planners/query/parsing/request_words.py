"""The closed lists of English words of the parser by rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ontology.yaml_data import read_yaml

__all__ = ["REQUEST_WORDS"]

_TEXTS: Mapping[str, str] = read_yaml(Path(__file__).parent / "request_words.yaml")

REQUEST_WORDS: Mapping[str, frozenset[str]] = {name: frozenset(text.split()) for name, text in _TEXTS.items()}
"""Name of a list → its words, in lower case."""
