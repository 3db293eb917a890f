"""A question in the terms of a graph: conditions on its labels, properties and types, which any query language can say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from planners.graphs.property_graph import Scalar
from planners.kgot.asked import Combination, Comparison, Measure

__all__ = [
    "AnswerOrder",
    "CallCondition",
    "CallJoin",
    "Condition",
    "PropertyCondition",
    "ReferenceJoin",
    "ResolvedQuestion",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyCondition:
    """A property compares with a value; texts without regard to case."""

    variable: str
    property: str
    operator: Comparison
    value: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCondition:
    """A call of a tool, with an argument of this value, gave the thing.

    :param argument: name of the property of the call; empty: any call of the tool.
    """

    variable: str
    tool: str
    argument: str = ""
    value: Scalar = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceJoin:
    """An edge of a type leads from one to the other."""

    source: str
    type: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallJoin:
    """A call with the identifier of one thing gave the other.

    :param identifier: property of the thing that is known.
    :param argument: property of the call.
    """

    known: str
    identifier: str
    tool: str
    argument: str
    given: str


Condition: TypeAlias = PropertyCondition | CallCondition | ReferenceJoin | CallJoin


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOrder:
    """An order of the answers, of which one is meant.

    :param nth: from 1.
    """

    variable: str
    property: str
    descending: bool
    nth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedQuestion:
    """A question whose words are found in the graph.

    :param labels: variable → label.
    :param variable: that the answer is of.
    :param names: alternatives of properties that name it, best first; those of one alternative are joined by a blank.
    :param property: that a measure is of, or that answers by itself; empty of a count, and where a thing is named.
    :param groups: further conditions, of which each gives a measure.
    """

    labels: dict[str, str]
    conditions: tuple[Condition, ...]
    variable: str
    measure: Measure = "find"
    property: str = ""
    names: tuple[tuple[str, ...], ...] = ()
    order: AnswerOrder | None = None
    groups: tuple[tuple[Condition, ...], ...] = field(default=())
    combination: Combination = ""
