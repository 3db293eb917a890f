"""When something is: conditions on properties that the catalog gives the roles of time, and of plan or actual."""

from __future__ import annotations

import calendar
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from planners.graphseek.catalog.semantic_catalog import Role, SemanticCatalog
from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators.node_naming import described_by, properties_with_role
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.property_filter import Owner
from planners.stores.graph_schema import PropertyKey
from planners.stores.property_graph import Scalar

__all__ = ["TimeAsked", "TimeValues", "plan_values", "time_conditions"]

TimeValues: TypeAlias = tuple[PropertyKey, tuple[Scalar, ...]]
"""A property, and the values that are meant; of a date, its first day and the first day after."""

_MONTHS_OF_QUARTER = 3
_LAST_MONTH = 12
_YEARS = (1, 9998)
_SAID = {"planned": "plan", "scheduled": "plan", "actually": "actual", "current": "actual", "currently": "actual"}
"""What people say of plans and of what happened: the words of the paper's 15 questions on its EV graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAsked:
    """What is asked for; None: anything."""

    year: int | None = None
    quarter: int | None = None
    month: int | None = None
    plan_or_actual: str | None = None

    @classmethod
    def parse(cls, arguments: Mapping[str, Any]) -> TimeAsked:
        """Return what arguments ask for.

        :raises OperatorFault: when it is nothing, or out of range.
        """
        asked = {name: arguments.get(name) for name in ("year", "quarter", "month", "plan_or_actual")}
        if all(value is None for value in asked.values()):
            hint = "Give year, quarter, month or plan_or_actual; use get_nodes for all"
            raise OperatorFault("arguments", "no time is given", hint)
        for name, least, most in (("year", *_YEARS), ("quarter", 1, 4), ("month", 1, _LAST_MONTH)):
            value = asked[name]
            if value is not None and not least <= value <= most:
                raise OperatorFault("arguments", f"{name} is {value}", f"Use {least} to {most}")
        return cls(**asked)

    @property
    def shown(self) -> str:
        """Return the words for it in the title of a result."""
        named = ((self.year, "year"), (self.quarter, "quarter"), (self.month, "month"), (self.plan_or_actual, ""))
        return ", ".join(f"{name} {value}".strip() for value, name in named if value is not None)

    def on(self, owner: Owner, catalog: SemanticCatalog) -> list[TimeValues] | None:
        """Return properties of a type and the values that are meant; None: its properties do not say all that is asked."""
        found: list[TimeValues] = []
        if self.plan_or_actual is not None:
            plan = _first(owner, catalog, "plan or actual")
            if plan is None:
                return None
            found.append((plan, plan_values(plan, self.plan_or_actual, owner, catalog)))
        periods = self._periods(owner, catalog)
        return None if periods is None else found + periods

    def _periods(self, owner: Owner, catalog: SemanticCatalog) -> list[TimeValues] | None:
        asked: list[tuple[Role, Sequence[int]]] = []
        if self.year is not None:
            asked.append(("year", [self.year]))
        if self.quarter is not None:
            asked.append(("quarter", [self.quarter]))
        if self.month is not None:
            asked.append(("month", [self.month]))
        found = []
        for role, numbers in asked:
            key = _first(owner, catalog, role)
            if key is None and role == "quarter":  # a quarter is three months
                key, role = _first(owner, catalog, "month"), "month"
                numbers = range(_MONTHS_OF_QUARTER * numbers[0] - 2, _MONTHS_OF_QUARTER * numbers[0] + 1)
            if key is None:
                return self._dates(owner, catalog)
            found.append((key, tuple(value for number in numbers for value in _said(key, role, number, self.year))))
        return found

    def _dates(self, owner: Owner, catalog: SemanticCatalog) -> list[TimeValues] | None:
        key = _first(owner, catalog, "date")
        if key is None or self.year is None:
            return None
        first, last = 1, _LAST_MONTH
        if self.quarter is not None:
            first, last = _MONTHS_OF_QUARTER * self.quarter - 2, _MONTHS_OF_QUARTER * self.quarter
        if self.month is not None:
            first, last = max(first, self.month), min(last, self.month)
        after = (self.year + last // _LAST_MONTH, last % _LAST_MONTH + 1)
        return [(key, (f"{self.year:04d}-{first:02d}-01", f"{after[0]:04d}-{after[1]:02d}-01"))]


def time_conditions(text: CypherText, variable: str, values: Sequence[TimeValues], dates: Sequence[str]) -> list[str]:
    """Return the conditions of what :meth:`TimeAsked.on` gives.

    :param dates: properties with the role of a date.
    """
    found = []
    for key, meant in values:
        name = text.property(variable, key.name)
        if key.name in dates:
            first, after = (text.parameter(each) for each in meant)
            cast = ("date({})" if key.type == "date" else "{}").format
            found += [f"{name} >= {cast(first)}", f"{name} < {cast(after)}"]
        elif key.type == "string":
            found.append(f"lower({name}) IN {text.parameter(meant)}")
        else:
            found.append(f"{name} IN {text.parameter(meant)}")
    return found


def plan_values(key: PropertyKey, said: str, owner: Owner, catalog: SemanticCatalog) -> tuple[Scalar, ...]:
    """Return the values of a property of plan or actual that a word means, in lower case."""
    word = said.strip().lower()
    word = _SAID.get(word, word)
    described = described_by(owner, catalog)
    words = described.properties[key.name].values if described and key.name in described.properties else {}
    stem = word.removesuffix("s")
    meant = [words[each] for each in (said.strip().lower(), word, stem) if each in words]
    if key.type == "boolean":
        return ((meant[0].lower() == "true") if meant else stem == "plan",)
    return tuple(dict.fromkeys([*(each.lower() for each in meant), word, stem, f"{stem}s"]))


def _first(owner: Owner, catalog: SemanticCatalog, role: Role) -> PropertyKey | None:
    names = properties_with_role(owner, catalog, role)
    return next((each for each in owner.properties if each.name in names[:1]), None)


def _said(key: PropertyKey, role: str, number: int, year: int | None) -> list[Scalar]:
    """Return how a property may write a number of a year, quarter or month."""
    if key.type != "string":
        return [number]
    if role == "quarter":
        return [f"{number}", f"q{number}", *([f"{year}-q{number}", f"q{number} {year}"] if year else [])]
    if role == "month":
        names = [calendar.month_name[number].lower(), calendar.month_abbr[number].lower()]
        return [f"{number}", f"{number:02d}", *names, *([f"{year}-{number:02d}"] if year else [])]
    return [f"{number}"]
