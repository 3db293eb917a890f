"""Lookup tables from a text to numbers: sorted 64-bit hashes in memory-mapped arrays.

One format serves node keys (``tool:hr/getEmployee`` → node), names (n-gram → nodes) and filters
(``department=finance`` → tools).
"""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.index.bm25 import hash_texts
from retrieval.index.records import load_mapped

_PREFIX = re.compile(r"[#_]?([A-Za-z]{1,6})(?:[-_/.:]?(?=\d)|[-_](?=\w*\d))")
_INITIALS, _BEGINNING, _IN_ORDER, _INITIAL = 1.0, 1.0, 0.6, 0.5
_LEAST_IN_ORDER = 3  # letters: of two almost any name has them in order


def letters_before_digits(identifier: str) -> str:
    """The letters before the number of an identifier, lower case; empty where it begins otherwise or has no digit."""
    found = _PREFIX.match(identifier)
    return found[1].lower() if found else ""


class PrefixIndex:
    """The names that a prefix may abbreviate. ``names``: name → number of what it names; a name is lower-case words."""

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        found: defaultdict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)
        for name, number in names:
            words = tuple(name.split())
            for first in {word[0] for word in (words[0], words[-1])} if words else ():
                found[first].append((words, number))
        self._by_letter: Mapping[str, Sequence[tuple[tuple[str, ...], int]]] = dict(found)

    def named(self, prefix: str) -> dict[int, float]:
        """What a prefix may abbreviate → how well it does, in (0, 1]."""
        best: dict[int, float] = {}
        for words, number in self._by_letter.get(prefix[:1], ()):
            strength = _strength(prefix, words)
            if strength > best.get(number, 0.0):
                best[number] = strength
        return best


def _strength(prefix: str, words: tuple[str, ...]) -> float:
    if len(prefix) == 1:
        return _INITIAL if len(words) == 1 and words[0][0] == prefix else 0.0
    if len(words) > 1 and "".join(word[0] for word in words) == prefix:
        return _INITIALS
    if words[0].startswith(prefix) or words[-1].startswith(prefix):
        return _BEGINNING
    for word in ("".join(words), words[-1]) if len(prefix) >= _LEAST_IN_ORDER else ():
        rest = iter(word)
        if word[:1] == prefix[:1] and all(letter in rest for letter in prefix):
            return _IN_ORDER
    return 0.0


_EMPTY: NDArray[np.int32] = np.empty(0, dtype=np.int32)


def write_lookup(folder: Path, name: str, entries: Iterable[tuple[str, int]]) -> None:
    """Write the table ``name``. One text may map to several numbers; they are stored in ascending order."""
    found = list(dict.fromkeys(entries))
    keys = hash_texts(text for text, _ in found)
    numbers = np.asarray([number for _, number in found], dtype=np.int32)
    order = np.lexsort((numbers, keys))
    np.save(folder / f"{name}.keys.npy", keys[order])
    np.save(folder / f"{name}.values.npy", numbers[order])


class Lookup:
    """A lookup table of a snapshot."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys: NDArray[np.uint64] = load_mapped(folder / f"{name}.keys.npy")
        self._values: NDArray[np.int32] = load_mapped(folder / f"{name}.values.npy")

    def __getitem__(self, text: str) -> NDArray[np.int32]:
        """Return the numbers of one text, ascending, int32; empty for an unknown text."""
        return self.many((text,))[0]

    def many(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the numbers of each text, in the order of the texts."""
        if not len(self._keys) or not texts:
            return [_EMPTY] * len(texts)
        keys = hash_texts(texts)
        starts = np.searchsorted(self._keys, keys, side="left")
        stops = np.searchsorted(self._keys, keys, side="right")
        return [self._values[start:stop] for start, stop in zip(starts, stops, strict=True)]

    def kept(self, numbers: NDArray[np.bool_]) -> Lookup:
        """Return the table without the other numbers: a text that has only these is then unknown. ``numbers``: the
        numbers that stay, bool [numbers of the table]."""
        table = copy.copy(self)
        stay = numbers[self._values]
        table._keys, table._values = self._keys[stay], self._values[stay]
        return table
