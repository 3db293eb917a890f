"""Everyday phrases for the verbs of tools, from ``verb_phrases.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ontology.yaml_data import read_yaml

__all__ = ["phrases_of_verbs"]

_FILE = Path(__file__).with_name("verb_phrases.yaml")


@cache
def phrases_of_verbs() -> Mapping[str, tuple[str, ...]]:
    """Map from a verb in its base form to phrases; ``~`` stands for the object."""
    return {verb: tuple(phrases) for verb, phrases in read_yaml(_FILE)["verbs"].items()}
