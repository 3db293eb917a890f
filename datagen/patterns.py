"""English patterns and word lists, stored in YAML files next to the code that uses them and compiled once.

A file has two objects. ``words`` maps a name to words with spaces between them, or to phrases with commas between
them. ``patterns`` maps a name to an alternative or a list of alternatives, each a regular expression of one line in
this notation:

* a space stands for any white space, ``_`` for one space, ``’`` for an apostrophe, but in a character class for
  themselves;
* ``{name}`` stands for any phrase of a word list, or for any alternative of a pattern above it.

An alternative may also be an object: ``match`` holds the expression, ``not_after`` the words that must not stand
before it with one white space between, ``not_attached_to`` those that must not stand before it directly (``*is`` is
any word ending in ``is``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import yaml

__all__ = ["Patterns", "load_patterns"]

_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\{(?P<name>[a-z_]+)\}|(?P<mark>[ _’])", re.DOTALL)
_MARKS = {" ": r"\s+", "_": " ", "’": "'"}

_Alternative = str | Mapping[str, str]


class Patterns:
    """The patterns and word lists of one file.

    :raises ValueError: for a name that the file uses and does not define above.
    """

    def __init__(self, file: Path) -> None:
        # Every scalar is text: "no" and "on" are words here, "0" is one too.
        data = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
        self._words = {name: _split(words) for name, words in data["words"].items()}
        self._sets = {name: frozenset(words) for name, words in self._words.items()}
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._sources: dict[str, str] = {}
        for name, alternatives in {**self._words, **data.get("patterns", {})}.items():
            listed = [alternatives] if isinstance(alternatives, (str, dict)) else alternatives
            self._sources[name] = "|".join(map(self._source, listed))

    def __getitem__(self, name: str) -> re.Pattern[str]:
        """A compiled pattern; of a word list one that matches any of its phrases."""
        if name not in self._compiled:
            self._compiled[name] = re.compile(self._sources[name])
        return self._compiled[name]

    def words(self, name: str) -> frozenset[str]:
        """A word list."""
        return self._sets[name]

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """A list of pairs, each written ``one/other``."""
        return tuple((one, other) for one, other in (pair.split("/") for pair in self._words[name]))

    def groups(self, name: str) -> tuple[tuple[str, ...], ...]:
        """A list of groups, each written ``one/other/third``."""
        return tuple(tuple(group.split("/")) for group in self._words[name])

    def _source(self, alternative: _Alternative) -> str:
        """The regular expression of one alternative."""
        if isinstance(alternative, str):
            return _TOKEN.sub(self._expanded, alternative)
        before = [_not_after(word, r"\s") for word in alternative.get("not_after", "").split()]
        before += [_not_after(word, "") for word in alternative.get("not_attached_to", "").split()]
        return "".join(before) + self._source(alternative["match"])

    def _expanded(self, token: re.Match[str]) -> str:
        if token["mark"]:
            return _MARKS[token["mark"]]
        if not token["name"]:
            return token[0]
        if token["name"] not in self._sources:
            raise ValueError(f"{token[0]} is not defined above its use")
        return f"(?:{self._sources[token['name']]})"


@cache
def load_patterns(name: str) -> Patterns:
    """The patterns of a file, named by its path from this folder without the suffix: ``validation/cues``."""
    return Patterns(Path(__file__).parent / f"{name}.yaml")


def _split(words: str) -> Sequence[str]:
    return [phrase.strip() for phrase in words.split(",")] if "," in words else words.split()


def _not_after(word: str, end: str) -> str:
    """A lookbehind that fails after a word."""
    if word.startswith("*"):
        return f"(?<!{word[1:]}{end})"
    boundary = r"\b" if word[0].isalnum() else ""
    return f"(?<!{boundary}{word.replace('’', _MARKS['’'])}{end})"
