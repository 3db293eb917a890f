"""What a question asks, as data: things of which some are known, how they are joined, and what is to be said of one of them.

The rule-based steps of a run know no language; whoever reads questions gives them this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from planners.graphs.property_graph import Scalar

__all__ = [
    "Asked",
    "AskedEdge",
    "AskedFilter",
    "AskedLookup",
    "AskedOrder",
    "AskedVariable",
    "Combination",
    "Comparison",
    "Measure",
    "QuestionReader",
    "TableShape",
    "Unreadable",
]

Comparison: TypeAlias = Literal["=", "contains", "<", "<=", ">", ">="]
Measure: TypeAlias = Literal["find", "count", "sum", "mean", "least", "most"]
Combination: TypeAlias = Literal["", "share", "difference"]
"""What is made of the measures of two groups: the first in percent of the second; the absolute difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLookup:
    """How things are found by a tool.

    :param request: what the tool service is asked.
    :param takes: input of the tool for the identifier that is known.
    :param gives: path of the identifiers in its answer.
    :param fields: field → input that filters by it.
    :param every: input that the tool demands → words that find everything.
    """

    request: str
    takes: str = ""
    gives: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    every: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedVariable:
    """A thing that the question names.

    :param label: of its nodes.
    :param nouns: what it is called, the first one is shown.
    :param identifier: property that names it for good; empty of a row of a table.
    :param lookup: how such things are found by their fields; None where no tool finds them.
    :param is_self: whether it is who asks.
    """

    name: str
    label: str
    nouns: tuple[str, ...] = ()
    identifier: str = ""
    lookup: AskedLookup | None = None
    is_self: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFilter:
    """A condition on a field of a variable; texts are compared without regard to case.

    :param field: words of the field's name, which need not be the property's.
    """

    variable: str
    field: str
    operator: Comparison
    value: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedEdge:
    """Two variables that are joined.

    :param field: path in the source's records of the target's identifier.
    :param forward: how targets are found of a source.
    :param backward: how sources are found of a target.
    """

    name: str
    source: str
    target: str
    field: str
    forward: AskedLookup
    backward: AskedLookup


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOrder:
    """Which one is meant, of several in an order.

    :param nth: from 1.
    """

    variable: str
    field: str
    descending: bool = False
    nth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question.

    :param variable: name of the variable that the answer is about.
    :param fields: names of the fields that answer, or that the measure is of; empty: what the thing is called.
    :param groups: further conditions, of which each gives a measure of its own.
    :param combination: what is made of the measures of two groups.
    :param decimals: to which the answer is rounded; None: not at all.
    :param in_order: whether a list is to be sorted.
    :param descending: whether a list that is sorted begins with its last member.
    :param expression: of a question that only computes, in Python; then there are no variables.
    """

    variables: tuple[AskedVariable, ...] = ()
    edges: tuple[AskedEdge, ...] = ()
    filters: tuple[AskedFilter, ...] = ()
    order: AskedOrder | None = None
    measure: Measure = "find"
    variable: str = ""
    fields: tuple[str, ...] = ()
    groups: tuple[tuple[AskedFilter, ...], ...] = ()
    combination: Combination = ""
    decimals: int | None = None
    in_order: bool = False
    descending: bool = False
    expression: str = ""

    def of(self, name: str) -> AskedVariable:
        """Return a variable by its name."""
        return next(each for each in self.variables if each.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Why a question cannot be read, one sentence without a full stop."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """A table that stands in the graph, a node a row.

    :param columns: property → its different values, at most so many as are looked at.
    """

    label: str
    columns: Mapping[str, tuple[Scalar, ...]]


class QuestionReader(Protocol):
    """Reads questions by rules."""

    def read(self, question: str, tables: Sequence[TableShape], files: Sequence[str]) -> Asked | Unreadable:
        """Return what a question asks, or why it cannot be read.

        :param tables: of the task's files, as far as they were read.
        :param files: names of the task's files; where there are some the question is about these.
        """
        ...
