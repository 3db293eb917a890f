"""A query graph with its domain: what binds each variable, and the depth-first tree along which it is traversed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple, TypeAlias

from ontology.errors import EgotoolsError
from planners.dfs.intervals import interval_id, read_interval
from planners.dfs.resolver import Entity, Step
from planners.query.domain import Domain, EntityType
from planners.query.field_comparison import compare
from planners.query.query_graph import Constraint, EdgeConstraint, FilterConstraint, QueryGraph

__all__ = ["SELF", "BoundGraph", "Branch", "Own", "ResolveDate", "Task", "holds"]

SELF = "self"
"""Identifier of the one entity of a type of kind ``self``."""
ResolveDate: TypeAlias = Callable[[FilterConstraint], tuple[date | None, date | None]]
"""Turns a filter by a date expression into a half-open range; None is an open end."""


class Branch(NamedTuple):
    """An edge of the tree, from a variable to one that is entered from it."""

    edge: EdgeConstraint
    var: str
    child: str


class Own(NamedTuple):
    """What binds a variable itself: its filters, or that it is the user or an interval."""

    var: str


Task: TypeAlias = Own | Branch
"""What is to be applied to a variable."""


@dataclass(slots=True)
class BoundGraph:
    """The graph, searched depth first from its return variable, the neighbours of a variable in the order of its constraints.

    :ivar fixed: variable → its candidates that are known without a call: the user, or the interval of a date's filters.
    :ivar unread: date variable → why its filters could not be read.
    :ivar below: variable → itself and all that are entered from it by ``branches``.
    :ivar closing: edges that close a cycle, each once.
    """

    graph: QueryGraph
    domain: Domain
    resolve_date: ResolveDate
    fixed: dict[str, frozenset[str]] = field(default_factory=dict)
    unread: dict[str, EgotoolsError] = field(default_factory=dict)
    branches: dict[str, tuple[Branch, ...]] = field(default_factory=dict)
    below: dict[str, tuple[str, ...]] = field(default_factory=dict)
    closing: tuple[EdgeConstraint, ...] = ()
    depth: int = 0

    def __post_init__(self) -> None:
        for var in self.graph.vars:
            kind, filters = self.type_of(var).kind, self.filters(var)
            if kind == "self":
                self.fixed[var] = frozenset({SELF})
            elif kind == "date" and filters:
                try:
                    interval = interval_id([self.resolve_date(each) for each in filters])
                    self.fixed[var] = frozenset({interval} if interval else ())
                except EgotoolsError as error:
                    self.unread[var] = error
        self.depth = self._enter(self.root, {self.root})
        used = {branch.edge for mine in self.branches.values() for branch in mine}
        self.closing = tuple(edge for edge in dict.fromkeys(self.graph.edges) if edge not in used)

    def _enter(self, var: str, seen: set[str]) -> int:
        mine: list[Branch] = []
        deepest = 0
        for edge in self.graph.edges_of(var):
            child = edge.target if edge.source == var else edge.source
            if child not in seen:
                seen.add(child)
                mine.append(Branch(edge, var, child))
                deepest = max(deepest, 1 + self._enter(child, seen))
        self.branches[var] = tuple(mine)
        self.below[var] = (var, *(one for branch in mine for one in self.below[branch.child]))
        return deepest

    @property
    def root(self) -> str:
        """The return variable."""
        return self.graph.return_var

    def type_of(self, var: str) -> EntityType:
        """The type of a variable, as the domain describes it."""
        return self.domain.types[self.graph.vars[var]]

    def is_date(self, var: str) -> bool:
        """Whether a variable stands for dates."""
        return self.type_of(var).kind == "date"

    def filters(self, var: str, *, ordinal: bool = False) -> tuple[FilterConstraint, ...]:
        """The filters of a variable that are ordinals, or those that are none."""
        fields = self.type_of(var).fields
        return tuple(each for each in self.graph.filters_of(var) if (fields[each.field].kind == "ordinal") == ordinal)

    def is_bound(self, var: str) -> bool:
        """Whether a variable has candidates of its own, without its neighbours."""
        return var in self.fixed or (not self.is_date(var) and bool(self.filters(var)))

    def step(self, edge: EdgeConstraint, start: str) -> Step:
        """The step along an edge that starts at one of its variables."""
        forward = start == edge.source
        source, target = (self.graph.vars[var] for var in (edge.source, edge.target)[:: 1 if forward else -1])
        return Step(source=source, edge=edge.edge, target=target, forward=forward)

    def touching(self, variables: Collection[str]) -> tuple[Constraint, ...]:
        """The constraints that name one of some variables."""

        def named(each: Constraint) -> set[str]:
            return {each.source, each.target} if isinstance(each, EdgeConstraint) else {each.var}

        return tuple(each for each in self.graph.constraints if not named(each).isdisjoint(variables))

    def distances(self) -> dict[str, int]:
        """How many edges each variable is away from the return variable, by the shortest way."""
        found, wave = {self.root: 0}, [self.root]
        while wave:
            near = [end for var in wave for edge in self.graph.edges_of(var) for end in (edge.source, edge.target)]
            wave = [var for var in dict.fromkeys(near) if var not in found]
            found.update(dict.fromkeys(wave, max(found.values()) + 1))
        return found

    def can_check(self, var: str, entities: Collection[Entity]) -> bool:
        """Whether the filters of a variable can be applied to what its candidates carry, without a call.

        What a text filter means is the tool's own affair where one filters by the field: what it finds by "Jane".
        """
        kind, filters = self.type_of(var), self.filters(var)
        known = kind.lookup.fields if kind.lookup else ()
        mine = all(kind.fields[each.field].kind != "text" or each.field not in known for each in filters)
        return mine and all(entity.fields.get(each.field) is not None for entity in entities for each in filters)

    def meets(self, entity: Entity, each: FilterConstraint) -> bool:
        """Whether an entity meets a filter by what it carries; of a list, whether one of its values does.

        :raises EgotoolsError: when a date expression cannot be read.
        """
        value = entity.fields[each.field]
        if self.type_of(each.var).fields[each.field].kind != "date":
            return holds(value, each)
        wanted = interval_id([self.resolve_date(each)])
        outer = read_interval(wanted) if wanted else None
        inner = (read_interval(str(one)) for one in _listed(value))
        return outer is not None and any(one is not None and outer.holds(one) for one in inner)


def holds(value: Any, each: FilterConstraint) -> bool:
    """Whether a value meets a filter that is not by date; of a list, whether one of its values does."""
    return any(compare(one, each.op, each.value) for one in _listed(value))


def _listed(value: Any) -> Collection[Any]:
    return value if isinstance(value, list | tuple) else [value]
