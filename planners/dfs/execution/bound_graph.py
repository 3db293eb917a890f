"""A query graph with its domain: what each variable is, and what binds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ontology.errors import EgotoolsError
from planners.dfs.execution.carried_fields import ResolveDate
from planners.dfs.execution.day_intervals import interval_id
from planners.dfs.resolver import Step
from planners.query.domain import Domain, EntityType
from planners.query.query_graph import Constraint, EdgeConstraint, FilterConstraint, QueryGraph

__all__ = ["SELF", "BoundGraph", "bind"]

SELF = "self"
"""Identifier of the one entity of a type of kind ``self``."""


@dataclass(frozen=True, slots=True)
class BoundGraph:
    """The graph.

    :param fixed: variable → its candidates that are known without a call: the user, or the interval of a date's filters.
    :param unread: date variable → why its filters could not be read.
    """

    graph: QueryGraph
    domain: Domain
    resolve_date: ResolveDate
    fixed: Mapping[str, frozenset[str]]
    unread: Mapping[str, EgotoolsError]

    def type_of(self, var: str) -> EntityType:
        """The type of a variable, as the domain describes it."""
        return self.domain.types[self.graph.vars[var]]

    def is_date(self, var: str) -> bool:
        """Whether a variable stands for dates."""
        return self.type_of(var).kind == "date"

    def filters(self, var: str) -> tuple[FilterConstraint, ...]:
        """The filters of a variable but its ordinals."""
        return tuple(each for each in self.graph.filters_of(var) if not self._is_ordinal(each))

    def ordinals(self, var: str) -> tuple[FilterConstraint, ...]:
        """The ordinals of a variable."""
        return tuple(each for each in self.graph.filters_of(var) if self._is_ordinal(each))

    def is_bound(self, var: str) -> bool:
        """Whether a variable has candidates of its own, without its neighbours."""
        return var in self.fixed or (not self.is_date(var) and bool(self.filters(var)))

    def is_checked_here(self, each: FilterConstraint) -> bool:
        """Whether what a filter means is known without the tools, so that it can be applied to what entities carry.

        Of text it is not where a tool filters by the field: what the tool finds by "Jane" is its own affair.
        """
        kind = self.type_of(each.var)
        return kind.fields[each.field].kind != "text" or kind.lookup is None or each.field not in kind.lookup.fields

    def step(self, edge: EdgeConstraint, start: str) -> Step:
        """The step along an edge that starts at one of its variables."""
        forward = start == edge.source
        ends = (edge.source, edge.target) if forward else (edge.target, edge.source)
        source, target = (self.graph.vars[var] for var in ends)
        return Step(source=source, edge=edge.edge, target=target, forward=forward)

    def touching(self, variables: tuple[str, ...]) -> tuple[Constraint, ...]:
        """The constraints that name one of some variables."""
        return tuple(each for each in self.graph.constraints if set(_variables(each)) & set(variables))

    def _is_ordinal(self, each: FilterConstraint) -> bool:
        return self.type_of(each.var).fields[each.field].kind == "ordinal"


def bind(graph: QueryGraph, domain: Domain, resolve_date: ResolveDate) -> BoundGraph:
    """Read what binds the variables of a graph without a fault."""
    fixed: dict[str, frozenset[str]] = {}
    unread: dict[str, EgotoolsError] = {}
    for var, name in graph.vars.items():
        kind = domain.types[name].kind
        if kind == "self":
            fixed[var] = frozenset({SELF})
        fields = domain.types[name].fields
        filters = [each for each in graph.filters_of(var) if fields[each.field].kind != "ordinal"]
        if kind == "date" and filters:
            try:
                interval = interval_id([resolve_date(each) for each in filters])
                fixed[var] = frozenset({interval} if interval else ())
            except EgotoolsError as error:
                unread[var] = error
    return BoundGraph(graph, domain, resolve_date, fixed, unread)


def _variables(constraint: Constraint) -> tuple[str, ...]:
    if isinstance(constraint, EdgeConstraint):
        return constraint.source, constraint.target
    return (constraint.var,)
