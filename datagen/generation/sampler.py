"""Speech: the choices made while one request is worded, and the values that it says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from datagen.generation.arguments import Argument
from datagen.generation.dates import TIMES, Dates
from datagen.generation.grammar import plural
from datagen.generation.lexicon import Lexicon, Noun
from datagen.generation.value_sampler import draw, number_like
from datagen.synthetic_request import SampleValue
from ontology.names import noun_lemma, words

__all__ = ["Filler", "Speech"]

_KEEP = 0.25
"""How likely a word stays a candidate that the tool's documents use too, where another is at hand."""


@lru_cache(maxsize=20_000)
def _lemmas(option: str) -> frozenset[str]:
    return frozenset(map(noun_lemma, words(option)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """What stands for an input that an earlier step fills.

    :param text: a noun phrase: ``it``, ``that vendor``, ``the vendor behind order 4500123``.
    :param many: whether it stands for several.
    """

    text: str
    many: bool = False


@dataclass(slots=True)
class Speech:
    """The words said so far.

    :param remembers: whether a thing that several tools need is one and the same; else each gets a value of its own.
    :param talkative: whether more is said than need be, where there is more.
    """

    rng: random.Random
    lexicon: Lexicon
    remembers: bool = True
    talkative: bool = False
    values: list[SampleValue] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    dates: Dates = field(init=False)

    def __post_init__(self) -> None:
        self.dates = Dates(self.rng)

    def pick(self, options: Sequence[str], heard: frozenset[str] = frozenset()) -> str:
        """One of the options; those that repeat the tool's documents rarely."""
        fresh = [option for option in options if heard.isdisjoint(_lemmas(option))] if heard else []
        if fresh and len(fresh) < len(options) and self.rng.random() > _KEEP:
            return self.rng.choice(fresh)
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        """Yes, so often."""
        return self.rng.random() < share

    def noun(self, noun: Noun, heard: frozenset[str] = frozenset(), *, many: bool = False) -> str:
        """A word for a thing."""
        if not many or noun.mass or noun.plural:
            return self.pick(noun.say, heard)
        return self.pick(noun.plurals or tuple(map(plural, noun.say)), heard)

    def number(self, tool: str, argument: Argument) -> str:
        """The number of a thing, the same for the same thing where this request remembers."""
        key = argument.noun.key if argument.noun is not None else argument.names[0]
        value = self.known.get(key) if self.remembers else None
        if value is None:
            value = number_like(argument.pattern, self.rng)
            while value in self.known.values():
                value = number_like(argument.pattern, self.rng)
            self.known[key] = value
        self.record(tool, argument, value)
        return value

    def thing(self, tool: str, argument: Argument, heard: frozenset[str] = frozenset()) -> str:
        """A thing with its number: ``order 4500123``; the number alone where it was named before, or now and then."""
        noun = argument.noun
        number = self.number(tool, argument)
        if noun is None or noun.key in self.named:
            return number
        self.named.add(noun.key)
        shown = self.noun(noun, heard)
        bare = self.chance(0.8 if any(sign.isalpha() for sign in number) else 0.55)
        return number if bare else f"{shown} {number}"

    def value(self, tool: str, argument: Argument, kind: str) -> str:
        """A plain value."""
        said = self.dates.say(kind) if kind in TIMES else draw(kind, self.rng, self.lexicon)
        self.record(tool, argument, said)
        return said

    def record(self, tool: str, argument: Argument, said: str) -> None:
        """Keep what is said for an argument."""
        self.values.extend(SampleValue(tool=tool, parameter=name, value=said) for name in argument.names)
