"""The closed lists of English words of the parser by rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

__all__ = ["REQUEST_WORDS"]

_TEXTS: Mapping[str, str] = yaml.safe_load((Path(__file__).parent / "request_words.yaml").read_text(encoding="utf-8"))

REQUEST_WORDS: Mapping[str, frozenset[str]] = {name: frozenset(text.split()) for name, text in _TEXTS.items()}
"""Name of a list → its words, in lower case."""
