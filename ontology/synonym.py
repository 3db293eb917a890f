"""A synonym: the canonical name that stands for another one, as the owner of a catalogue declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

__all__ = ["Synonym", "Synonyms", "preferred_name"]


class Synonym(NamedTuple):
    """The name that replaces another one.

    :param name: canonical.
    :param origin: where it is declared: ``overlay.yaml:12``.
    """

    name: str
    origin: str


Synonyms: TypeAlias = Mapping[str, Synonym]
"""Canonical name → the synonym that replaces it. No replacement is a key."""


def preferred_name(name: str, synonyms: Synonyms) -> str:
    """Return the name that replaces a canonical name; the name itself where none does."""
    found = synonyms.get(name)
    return found.name if found is not None else name
