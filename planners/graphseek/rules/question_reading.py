"""A question as the rules read it: what is asked for, by which conditions, over which chains of types and names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from planners.graphseek.rules.phrase_lexicon import PropertyOf, ValueOf
from planners.graphseek.rules.question_cues import Bound
from planners.graphseek.rules.question_mentions import Mention

__all__ = [
    "NO_VALUE",
    "OPPOSITES",
    "TIES",
    "Condition",
    "Counted",
    "Joined",
    "JoinedBy",
    "Kind",
    "Rank",
    "Reading",
    "Relation",
    "Stop",
    "When",
    "value_conditions",
]

_FIRST = 10
"""Of several that are ranked, where no number is said: a page of them."""
TIES = 100
"""Further ones that are looked at for the value of the last of the first ones: a page."""
JoinedBy: TypeAlias = Literal["and", "or", "not"]
Kind: TypeAlias = Literal["list", "count", "property", "total", "blueprint", "loss", "change"]
"""What is done with what is found: it is listed, counted, a property of it is told or aggregated; its flows; what depends on it."""


NO_VALUE = "no"
"""Operator of "no price" until it is known whether nodes without one have no value, or 0."""
OPPOSITES = {
    "is_null": "is_not_null",
    "is_not_null": "is_null",
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
"""Operators of filters, and those that the others fulfil."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A filter on nodes of the type that owns the property.

    :param value: several of them with the operator ``in``.
    """

    of: PropertyOf
    operator: str
    value: str | float | bool | tuple[str, ...]

    @property
    def filter(self) -> dict[str, Any]:
        """As operators take it."""
        if self.operator in ("is_null", "is_not_null"):
            return {"key": self.of.key.name, "operator": self.operator}
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return {"key": self.of.key.name, "operator": self.operator, "value": value}

    @property
    def values(self) -> tuple[str, ...]:
        """Its values as text."""
        return self.value if isinstance(self.value, tuple) else (str(self.value),)

    @property
    def opposite(self) -> list[Condition]:
        """What nodes with a value fulfil, all of it, that do not fulfil this one."""
        if isinstance(self.value, tuple):
            return [Condition(of=self.of, operator="!=", value=each) for each in self.value]
        return [Condition(of=self.of, operator=OPPOSITES[self.operator], value=self.value)]


def value_conditions(values: Iterable[ValueOf]) -> list[Condition]:
    """Return a condition for each property: one of the values that a word means."""
    by_property: dict[PropertyOf, list[str]] = {}
    for each in values:
        by_property.setdefault(each.property, []).append(each.value)
    return [
        Condition(of=of, operator="=", value=said[0])
        if len(said) == 1
        else Condition(of=of, operator="in", value=tuple(said))
        for of, said in by_property.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The first ones by a property, or by an aggregation of it.

    :param total: ``SUM`` or ``AVG`` over what relationships carry; empty: the property itself.
    :param at: place of the type whose first ones they are, where it stands behind the superlative; None: it is not said.
    """

    properties: tuple[PropertyOf, ...]
    descending: bool
    total: str = ""
    at: int | None = None


@dataclass(slots=True, kw_only=True)
class Stop:
    """A type, or a named thing, on the way from what is asked for.

    :param types: that it may be of; none where only its name is known.
    :param related: whether a word of place or origin stands before its name.
    :param only: whether all neighbours must fulfil the conditions.
    :param presumed: what the question says of what is named, and does not ask: "the state of Morelos".
    :param is_value: whether its name is the value of a property, and one of its conditions.
    :param rank: by which it is the first ones of its type.
    :param handle: of the table of these.
    :param joined: other names in its place: "A and B", "A or B", "A but not B".
    :param read_cues: of those of them that were values.
    :param is_plain: whether its name is a plain word.
    :param is_subject: whether "of" stands before its name or a relationship right behind it, so that the type before it may be of
        another thing.
    :param of: that type, where it is.
    """

    at: int
    types: tuple[str, ...] = ()
    name: str = ""
    related: bool = False
    only: bool = False
    is_value: bool = False
    conditions: list[Condition] = field(default_factory=list)
    presumed: list[Condition] = field(default_factory=list)
    rank: Rank | None = None
    handle: str = ""
    joined: list[Joined] = field(default_factory=list)
    read_cues: tuple[Mention, ...] = ()
    is_plain: bool = False
    is_subject: bool = False
    of: tuple[str, ...] = ()

    def join_values(self) -> None:
        """Take names that are values of one property, and joined by "or" or "not", as conditions."""
        for each in self.joined[:]:
            if not (self.is_value and each.stop.is_value):
                continue
            mine, other = self.conditions[0], each.stop.conditions[0]
            if mine.of != other.of:
                continue
            self.joined.remove(each)
            self.read_cues += each.cues
            if each.by == "or":
                self.conditions[0] = Condition(of=mine.of, operator="in", value=(*mine.values, *other.values))
            else:
                self.conditions += [other] if each.by == "and" else other.opposite

    @property
    def is_alone(self) -> bool:
        """Whether it is one name."""
        return bool(self.name) and not self.joined

    @property
    def row(self) -> list[Stop]:
        """It and what is joined to it."""
        return [self, *(each.stop for each in self.joined)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A name in the place of another one.

    :param cues: that say how it is joined.
    """

    by: JoinedBy
    stop: Stop
    cues: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Neighbours that are counted: at least, at most so many, or by their number.

    :param of: their types, and conditions on them.
    :param descending: of an order; None: a bound.
    """

    of: Stop
    bound: Bound | None = None
    descending: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relationship that is said.

    :param negated: by "not" before it.
    :param only_for: place of the only stop that it is said of; None: of any.
    """

    mention: Mention
    negated: bool = False
    only_for: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A time; None: none is said."""

    year: int | None = None
    quarter: int | None = None
    month: int | None = None

    @property
    def said(self) -> dict[str, int]:
        """What is said, by name."""
        named = (("year", self.year), ("quarter", self.quarter), ("month", self.month))
        return {name: value for name, value in named if value is not None}


@dataclass(slots=True, kw_only=True)
class Reading:
    """What was read.

    :param targets: types that are asked for; several of an impact; none where the chain tells ("where").
    :param asked: properties that are asked for, by their owners; ``asked_at``: the place of their word.
    :param total: aggregation: ``SUM``, ``AVG``, ``MAX``, ``MIN``.
    :param target: conditions on what is asked for, and its place.
    :param chains: each from what is asked for outward.
    :param without: chains whose nodes are left out: "but do not take …".
    :param refers_back: whether "it" or "they" stands for what was found before.
    :param pronoun: "it", "they" or "them", where nothing that the question names may be meant.
    :param doer: the relation word right behind "who", whose subject is asked for: "who wrote …".
    :param each: types by which is grouped; ``each_words``: as it is said.
    :param plan: the value of what is planned or actual; empty: both.
    :param steps: how far, where it is said.
    :param either: whether relationships are joined by "or".
    :param is_target_said: whether a word says the type that is asked for; else it is that of a property, or of a name.
    :param siblings: whether "other" ones beside a named thing are asked for too.
    :param is_other_target: whether "other" stands before what is asked for: "which other captains".
    :param is_open: whether it asks "what" or "who", without a type.
    :param where: whether a place is asked for.
    :param planned: kinds of cues that the plan made use of.
    :param done: cues that it made use of, where one of a kind may be used and another one not.
    :param words: of the question, in all base forms.
    :param unread: words that were not read, as written.
    :param mentions: all that was recognised.
    """

    kind: Kind
    targets: tuple[str, ...]
    target: Stop
    asked: tuple[PropertyOf, ...] = ()
    asked_at: int = -1
    total: str = ""
    chains: list[list[Stop]] = field(default_factory=list)
    without: list[list[Stop]] = field(default_factory=list)
    refers_back: bool = False
    pronoun: str = ""
    doer: Mention | None = None
    counted: Counted | None = None
    each: tuple[str, ...] = ()
    each_words: str = ""
    relations: list[Relation] = field(default_factory=list)
    when: When = field(default_factory=When)
    plan: str = ""
    limit: int | None = None
    steps: int = 0
    either: bool = False
    siblings: bool = False
    is_other_target: bool = False
    where: bool = False
    is_target_said: bool = False
    is_open: bool = False
    is_plural: bool = False
    planned: set[str] = field(default_factory=set)
    done: set[Mention] = field(default_factory=set)
    words: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()

    @property
    def stops(self) -> list[Stop]:
        """Places of the chains, without those that are left out."""
        return [stop for chain in self.chains for stop in chain]

    @property
    def all_stops(self) -> list[Stop]:
        """What is asked for, the places of all chains, also of those that are left out, and what is counted."""
        stops = [self.target, *(stop for chain in (*self.chains, *self.without) for stop in chain)]
        return [*stops, self.counted.of] if self.counted else stops

    @property
    def named(self) -> list[Stop]:
        """Those of them that have a name, with what is joined to them."""
        return [stop for stop in self.stops for stop in stop.row if stop.name]

    @property
    def first(self) -> int:
        """How many of the first ones are asked for: what is said, else ten of "the dearest modules" and one of "the dearest module"."""
        return self.limit or (_FIRST if self.is_plural else 1)

    def join_conditions(self) -> None:
        """Take values that are joined as one condition, and move conditions to the place before, where it is of the same type: "agencies from Europe"."""
        for chain in self.chains[:]:
            near = self.target
            for stop in chain[:]:
                stop.join_values()
                self.done.update(stop.read_cues)
                if stop.is_value and set(stop.types) & set(near.types):
                    near.types = stop.types
                    near.conditions += stop.conditions
                    chain.remove(stop)
                else:
                    near = stop
            if not chain:
                self.chains.remove(chain)

    def part_subjects(self) -> None:
        """Make a place of its own for the type before a name of something else: "the ships Mia steers"."""
        for chain in self.chains:
            for at, stop in enumerate(chain):
                if not stop.of:
                    continue
                is_target = not at and not self.is_target_said
                if is_target and (not self.target.types or set(stop.of) & set(self.target.types)):
                    self.target.types = self.targets = stop.of
                    if (
                        self.total in ("MAX", "MIN") and stop.at < self.asked_at
                    ):  # "which captain of Norline has the highest wage"
                        self.target.rank = Rank(properties=self.asked, descending=self.total == "MAX")
                        self.kind, self.asked, self.total = "list", (), ""
                else:
                    chain.insert(at, Stop(at=stop.at - 1, types=stop.of))
                stop.of = ()
                break

    @property
    def has_ties(self) -> bool:
        """Whether the first ones are so many as is said, so that others with the value of the last one belong to them."""
        return self.limit is not None or not self.is_plural

    @property
    def page(self) -> int:
        """How many are looked at for the first ones."""
        return self.first + (TIES if self.has_ties else 0)

    @property
    def is_descending(self) -> bool:
        """Whether the first ones are the greatest."""
        return bool(self.counted.descending if self.counted else self.target.rank and self.target.rank.descending)

    @property
    def is_limited(self) -> bool:
        """Whether the first ones alone are told: they are listed, ranked, or told with a property, without a bound."""
        is_bounded = self.counted is not None and self.counted.bound is not None
        return self.kind in ("list", "property", "blueprint") and not is_bounded

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but a type is said: names, conditions, numbers, a time."""
        return bool(
            self.chains
            or self.without
            or self.target.conditions
            or self.counted
            or self.target.rank
            or self.when.said
            or self.total
        )
