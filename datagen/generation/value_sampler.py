"""Sample values: what a request states for an input, by the kind of value, drawn from the pools or made up."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from datagen.generation.data_files import read_data
from datagen.generation.dates import TIMES, Dates
from datagen.generation.grammar import article
from datagen.generation.lexicon import Lexicon

__all__ = ["KINDS", "draw", "number_like"]

_CAPITALS = "ABCDEFGHKLMPRSTVWX"
_DATA = read_data("value_formats")
_PATTERNS: Mapping[str, Sequence[str]] = _DATA["patterns"]
_NUMBERS: Mapping[str, Sequence[str]] = _DATA["numbers"]
_FORMATS: Mapping[str, Sequence[str]] = _DATA["formats"]
_SLOT = re.compile(r"\{([^{}]+)\}")
_RANGE = re.compile(r"(\d+)-(\d+)(?:x(\d+))?")


def draw(kind: str, rng: random.Random, lexicon: Lexicon) -> str:
    """A value of a kind: one of :data:`KINDS` or of the lexicon's pools; of an unknown kind a value of the pool ``thing``."""
    if kind in TIMES:
        return Dates(rng).state(kind)
    if kind in _COMPOSED:
        return _COMPOSED[kind](rng, lexicon)
    if kind in _PATTERNS:
        return number_like(_one(_PATTERNS[kind], rng), rng)
    if kind in _FORMATS:
        number = _formatted(_NUMBERS[kind], "", rng, lexicon) if kind in _NUMBERS else ""
        return _formatted(_FORMATS[kind], number, rng, lexicon)
    return rng.choice(lexicon.pools.get(kind) or lexicon.pools["thing"])


def number_like(pattern: str, rng: random.Random) -> str:
    """A number of this pattern: ``#`` is a digit, ``@`` a capital; the first digit is never 0.

    >>> len(number_like("INC00###", random.Random(1)))
    8
    """
    made: list[str] = []
    for at, sign in enumerate(pattern):
        if sign == "#":
            made.append(str(rng.randint(0 if at and pattern[at - 1] in "#0123456789" else 1, 9)))
        else:
            made.append(rng.choice(_CAPITALS) if sign == "@" else sign)
    return "".join(made)


def _one(options: Sequence[str], rng: random.Random) -> str:
    return options[0] if len(options) == 1 else rng.choice(options)


def _formatted(formats: Sequence[str], number: str, rng: random.Random, lexicon: Lexicon) -> str:
    """All formats with their slots filled, then one of them."""

    def slot(found: re.Match[str]) -> str:
        name: str = found[1]
        if name in ("n", "n,"):
            return number if name == "n" else f"{int(number):,}"
        if "|" in name:
            return rng.choice(name.split("|"))
        if (bounds := _RANGE.fullmatch(name)) is not None:
            return str(rng.randint(int(bounds[1]), int(bounds[2])) * int(bounds[3] or 1))
        return draw(name, rng, lexicon)

    return _one([_SLOT.sub(slot, one) for one in formats], rng)


def _email(rng: random.Random, lexicon: Lexicon) -> str:
    first, last = rng.choice(lexicon.pools["first"]).lower(), rng.choice(lexicon.pools["last"]).lower()
    name = rng.choice((f"{first[0]}.{last}", f"{first}.{last}", f"{first}_{last[0]}"))
    return f"{name}@{rng.choice(lexicon.pools['domain'])}"


def _address(rng: random.Random, lexicon: Lexicon) -> str:
    street = rng.choice(lexicon.pools["street"])
    return f"{rng.randint(1, 140)} {street}"


def _route(rng: random.Random, lexicon: Lexicon) -> str:
    start, end = rng.sample(lexicon.pools["city"], 2)
    return f"{start} to {end}, return"


def _login(rng: random.Random, lexicon: Lexicon) -> str:
    return f"{rng.choice(lexicon.pools['first']).lower()}{rng.randint(1, 99)}"


def _equipment(rng: random.Random, lexicon: Lexicon) -> str:
    return article(rng.choice(lexicon.pools["equipment"]))


_COMPOSED: Mapping[str, Callable[[random.Random, Lexicon], str]] = {
    "email": _email,
    "address": _address,
    "route": _route,
    "login": _login,
    "equipment_one": _equipment,
}
"""Kinds that no format can express."""
KINDS = frozenset((*TIMES, *_COMPOSED, *_PATTERNS, *_FORMATS))
"""Kinds that are made up; kinds that are not here are pools of the lexicon."""
