"""The Sampler: the random choices of one request, and its sample values, drawn from the pools or made up."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from datagen.generation.arguments import Argument
from datagen.generation.data_files import fill, read_data
from datagen.generation.dates import TIMES, Dates
from datagen.generation.grammar import article, plural
from datagen.generation.lexicon import Lexicon, Noun
from datagen.synthetic_request import SampleValue
from ontology.names import noun_lemma, words

__all__ = ["KINDS", "Sampler", "draw", "number_like"]

_KEEP = 0.5
"""How likely an option with words of the tool's documents stays a candidate where there are others."""
_BARE, _DETERMINED = 0.5, 0.3
"""How likely a login stands without its noun, and a name stands behind its noun with an article."""

_CAPITALS = "ABCDEFGHKLMPRSTVWX"
_DATA = read_data("value_formats")
_PATTERNS: Mapping[str, Sequence[str]] = _DATA["patterns"]
_NUMBERS: Mapping[str, Sequence[str]] = _DATA["numbers"]
_FORMATS: Mapping[str, Sequence[str]] = _DATA["formats"]
_SLOT = re.compile(r"\{([^{}]+)\}")
_RANGE = re.compile(r"(\d+)-(\d+)(?:x(\d+))?")


@lru_cache(maxsize=20_000)
def _lemmas(option: str) -> frozenset[str]:
    return frozenset(map(noun_lemma, words(option)))


@dataclass(slots=True)
class Sampler:
    """The choices so far. Equal calls in an equal order make equal choices.

    :param shares_numbers: whether a thing that several tools need has one number; else each tool gets its own.
    :param verbose: whether at least one optional value is stated, where there is one.
    :param values: the values that were stated.
    :param numbers: the key of a thing → its number.
    :param named: the keys of things that stood in the text with their noun.
    :param systems: the names of the systems that stood in the text.
    :param names: the names of things that stood in the text and fill no input: a list has them beside the identifiers.
    """

    rng: random.Random
    lexicon: Lexicon
    shares_numbers: bool = True
    verbose: bool = False
    values: list[SampleValue] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    systems: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    dates: Dates = field(init=False)

    def __post_init__(self) -> None:
        self.dates = Dates(self.rng)

    def pick(self, options: Sequence[str], avoid: frozenset[str] = frozenset()) -> str:
        """One of the options; rarely one with a word to avoid."""
        fresh = [option for option in options if avoid.isdisjoint(_lemmas(option))] if avoid else []
        if fresh and len(fresh) < len(options) and self.rng.random() > _KEEP:
            return self.rng.choice(fresh)
        return self.rng.choice(options)

    def phrase(self, options: Sequence[str], **slots: str) -> str:
        """One of the templates, with its slots filled."""
        return fill(self.rng.choice(options), **slots)

    def chance(self, share: float) -> bool:
        """True in this share of the calls."""
        return self.rng.random() < share

    def noun(self, noun: Noun, avoid: frozenset[str] = frozenset(), *, many: bool = False) -> str:
        """A word for a thing."""
        if not many or noun.uncountable:
            return self.pick(noun.words, avoid)
        return self.pick(noun.plurals or tuple(map(plural, noun.words)), avoid)

    def number(self, tool: str, argument: Argument) -> str:
        """The number of the thing that an argument identifies."""
        key = argument.noun.key if argument.noun is not None else argument.names[0]
        value = self.numbers.get(key) if self.shares_numbers else None
        if value is None:
            value = self._new_value(argument.shape, argument.pattern)
            self.numbers[key] = value
        self.record(tool, argument, value)
        if self.shares_numbers:
            for known in (self.numbers.get(whole.noun.key) for whole in argument.within):
                if known is not None:
                    self.record(tool, argument, known)
        return value

    def _wholes(self, tool: str, argument: Argument) -> str:
        """What a thing is in, by its composed name, after a space; each is noted, and one that stood in the text is pointed to."""
        said = ""
        for whole in argument.within:
            key, word = whole.noun.key, whole.noun.words[0]
            is_known = self.shares_numbers and key in self.numbers
            if not is_known:
                self.numbers[key] = self._new_value(whole.shape, whole.pattern)
            value = self.numbers[key]
            self.record(tool, argument, value)
            if is_known:
                called = f"that {word}"
            elif whole.shape == "region_name" and self.chance(_BARE):
                called = value
            else:
                called = f"the {word} {value}"
            self.named.add(key)
            said += f" {'in' if whole.is_place else 'of'} {called}"
        return said

    def is_stated(self, argument: Argument) -> bool:
        """Whether the thing that an argument identifies stood in the text with its number, which all tools share."""
        key = argument.noun.key if argument.noun is not None else ""
        return self.shares_numbers and key in self.named and key in self.numbers

    def _new_value(self, shape: str, pattern: str) -> str:
        """A value that no thing of the request has yet."""
        while True:
            value = draw(shape, self.rng, self.lexicon) if shape else number_like(pattern, self.rng)
            if value not in self.numbers.values():
                return value

    def identifier(self, tool: str, argument: Argument, avoid: frozenset[str] = frozenset()) -> str:
        """A thing by its number: ``order 4500123``; the number alone where the thing was named before, or by chance."""
        noun, number = argument.noun, self.number(tool, argument)
        if noun is None or noun.key in self.named:
            return number
        self.named.add(noun.key)
        word = self.noun(noun, avoid)
        if argument.composed:
            determined = argument.within or self.chance(_DETERMINED)
            return f"{'the ' if determined else ''}{word} {number}{self._wholes(tool, argument)}"
        if argument.shape in ("login", "email") and self.chance(_BARE):
            return number
        return f"the {word} {number}" if argument.shape and self.chance(_DETERMINED) else f"{word} {number}"

    def thing_name(self, kind: str) -> str:
        """A name of a thing that fills no input."""
        name = draw(kind, self.rng, self.lexicon)
        self.names.append(name)
        return name

    def value(self, tool: str, argument: Argument, kind: str) -> str:
        """A plain value of a kind."""
        value = self.dates.state(kind) if kind in TIMES else draw(kind, self.rng, self.lexicon)
        self.record(tool, argument, value)
        return value

    def record(self, tool: str, argument: Argument, value: str) -> None:
        """Note the value that the text states for an argument."""
        self.values.extend(SampleValue(tool=tool, parameter=name, value=value) for name in argument.names)


def draw(kind: str, rng: random.Random, lexicon: Lexicon) -> str:
    """A value of a kind: one of :data:`KINDS`, or a pool of the lexicon; for an unknown kind the pool ``thing``."""
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
    """A number of this pattern: ``#`` is a digit, ``@`` a capital; the first ``#`` in a run of digits is never 0.

    >>> len(number_like("INC00###", random.Random(1)))
    8
    """
    made: list[str] = []
    for at, sign in enumerate(pattern):
        if sign == "#":
            made.append(str(rng.randint(0 if pattern[at - 1 : at] == "#" else 1, 9)))
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
    return f"{rng.choice(lexicon.pools['first'])[0].lower()}{rng.choice(lexicon.pools['last']).lower()}"


def _slug(rng: random.Random, lexicon: Lexicon) -> str:
    return f"{rng.choice(lexicon.pools['slug_first'])}-{rng.choice(lexicon.pools['slug_last'])}"


def _equipment(rng: random.Random, lexicon: Lexicon) -> str:
    return article(rng.choice(lexicon.pools["equipment"]))


_COMPOSED: Mapping[str, Callable[[random.Random, Lexicon], str]] = {
    "email": _email,
    "address": _address,
    "route": _route,
    "login": _login,
    "slug": _slug,
    "equipment_one": _equipment,
}
"""Kinds that no format can express."""
KINDS = frozenset((*TIMES, *_COMPOSED, *_PATTERNS, *_FORMATS))
"""Kinds that are made up; kinds that are not here are pools of the lexicon."""
