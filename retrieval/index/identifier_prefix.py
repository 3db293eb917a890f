"""What the letters of an identifier abbreviate: ``PO-4711`` is a purchase order, ``INC0012345`` an incident, ``cus_8s`` a customer.

Systems number their objects with a prefix that abbreviates the object's name: the initials of its words, its first letters, or
its letters in order (``PRJ``, ``TKT``). So an identifier whose shape no document shows still says which objects it may be.
Of a single letter only the initial of a name of one word counts, and little.

Found on the formats of the shipped company's identifiers; the strengths are chosen, not tuned.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["PrefixIndex", "letters_before_digits"]

_PREFIX = re.compile(r"[#_]?([A-Za-z]{1,6})(?:[-_/.:]?(?=\d)|[-_](?=\w*\d))")
_INITIALS, _BEGINNING, _IN_ORDER, _INITIAL = 1.0, 1.0, 0.6, 0.5
_LEAST_IN_ORDER = 3  # letters: of two almost any name has them in order


def letters_before_digits(identifier: str) -> str:
    """The letters before the number of an identifier, lower case; empty where it begins otherwise or has no digit."""
    found = _PREFIX.match(identifier)
    return found[1].lower() if found else ""


class PrefixIndex:
    """The names that a prefix may abbreviate.

    :param names: name → number of what it names; a name is lower-case words.
    """

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        found: defaultdict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)
        for name, number in names:
            words = tuple(name.split())
            for first in {word[0] for word in (words[0], words[-1])} if words else ():
                found[first].append((words, number))
        self._by_letter: Mapping[str, Sequence[tuple[tuple[str, ...], int]]] = dict(found)

    def named(self, prefix: str) -> dict[int, float]:
        """What a prefix may abbreviate → how well it does, in (0, 1].

        :param prefix: lower-case letters.
        """
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
    for word in (words[0], words[-1]):
        if word.startswith(prefix):
            return _BEGINNING
    in_order = len(prefix) >= _LEAST_IN_ORDER and any(_in_order(prefix, word) for word in ("".join(words), words[-1]))
    return _IN_ORDER if in_order else 0.0


def _in_order(letters: str, word: str) -> bool:
    """Whether a word begins with the first of some letters and has the others in this order."""
    rest = iter(word)
    return word[:1] == letters[:1] and all(letter in rest for letter in letters)
