"""Counts neighbours: within a bound, in an order, for each of something, or added up over what relationships carry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planners.graphseek.results.result import Result
from planners.graphseek.rules.question_cues import Bound
from planners.graphseek.rules.question_reading import OPPOSITES, Counted, Reading, Stop
from planners.graphseek.rules.relation_choice import RelationChoice, TwoReadingsError, UnconnectedError
from planners.graphseek.rules.replayed_calls import ReplayedCalls
from planners.graphseek.rules.schema_routes import Hop
from planners.graphseek.rules.set_finding import MOST_HOPS, Selected, SetFinding, filters_of

__all__ = ["NeighbourCounting"]


class NeighbourCounting:
    """Counts by invocations."""

    def __init__(self, reading: Reading, calls: ReplayedCalls, choice: RelationChoice, sets: SetFinding) -> None:
        self._reading, self._calls, self._choice, self._sets = reading, calls, choice, sets

    @property
    def _type(self) -> str:
        return self._reading.target.types[0]

    def counted(self, nodes: Selected, counted: Counted) -> Result:
        """Return nodes with the number of their neighbours: those within a bound, or the first ones of an order."""
        self._reading.planned |= {"top", "bound", "count"}
        near, of = self._reading.target, counted.of
        far = Stop(at=of.at, types=self._choice.nearest(self._type, of.types))
        hop = self.hop(near, far)
        is_ascending = counted.bound is None and not counted.descending
        limit = {"limit": self._reading.page} if counted.bound is None else {}
        arguments = self._neighbours(
            hop, far.types[0], filters_of([each for each in of.conditions if each.of.owner in far.types])
        )
        if hop.chained:
            arguments |= {"max_hops": MOST_HOPS, "aggregations": [{"grouping_type": "COUNT"}], "order_by": "count"}
            if is_ascending:  # those without any have no row
                counts = self._calls.result("aggregate_neighbours", start=nodes, **arguments)
                none = self._bounded(nodes, counts, Bound("=", 0))
                if none.size:
                    self._calls.notes.append(f"{none.size:,} have none")
                    return none
            counts = self._calls.result(
                "aggregate_neighbours", start=nodes, **arguments, descending=not is_ascending, **limit
            )
            return self._bounded(nodes, counts, counted.bound) if counted.bound else counts
        if counted.bound is not None:
            return self._calls.result(
                "degree", start=nodes, **arguments, **_bounds(counted.bound.operator, counted.bound.number)
            )
        order: dict[str, Any] = {"order": "ascending", "at_least": 0} if is_ascending else {"order": "descending"}
        return self._calls.result("degree", start=nodes, **arguments, **order, **limit)

    def _bounded(self, nodes: Selected, counts: Result, bound: Bound) -> Result:
        """Return the rows within a bound; nodes without a row have 0."""
        is_without = _fulfils(0, bound)
        operator = OPPOSITES[bound.operator] if is_without else bound.operator
        kept = [{"key": "count", "operator": operator, "value": bound.number}]
        found = self._calls.result("filter", handle=counts.handle, filters=kept)
        if not is_without:
            return found
        return self._calls.result("merge", handles=[self._sets.listed(nodes).handle, found.handle], how="difference")

    def _neighbours(self, hop: Hop, type_: str, narrowed: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of neighbours of a type over a hop."""
        filters = self._choice.conditions([hop], hop)
        return {
            "relationship_types": [hop.relationship],
            "direction": hop.direction,
            "neighbour_type": type_,
            **({"neighbour_filters": narrowed["filters"]} if narrowed else {}),
            **({"relationship_filters": filters} if filters else {}),
        }

    def hop(self, near: Stop, far: Stop) -> Hop:
        """Return the one hop from the target to what is counted."""
        said = [hop for each in self._choice.said_hops(near, far, near) for hop in each.hops]
        if said:
            return said[0]
        routes = self._choice.routes(near.types[0], far.types[0])
        if len(routes) > 1:
            names = " or by ".join(sorted(each.hops[0].relationship for each in routes))
            raise TwoReadingsError(f"{near.types[0]} and {far.types[0]} are connected by {names}. Which is meant?")
        hops = routes[0].hops
        if len(hops) > 1:
            raise UnconnectedError(
                f"{far.types[0]} is more than one step from {near.types[0]}, so it is not counted here"
            )
        return hops[0]

    def per_each(self) -> Result:
        """Return what is asked for, counted for each of what it is grouped by."""
        reading = self._reading
        reading.planned |= {"each", "count", "sum"}
        each = Stop(at=len(reading.each_words) + reading.target.at, types=reading.each)
        same = self._choice.property_like(self._type, reading.each_words, reading.each)
        if same and not self._choice.is_direct(self._type, reading.each):
            grouping = {"group_by": [same.key.name], "aggregations": [{"grouping_type": "COUNT"}]}
            return self._sets.table(self._sets.selected(), **grouping)
        if not each.types:
            raise UnconnectedError(f"“{reading.each_words}” is nothing to group by here")
        each.types = self._choice.nearest(self._type, each.types)
        hop = self.hop(each, reading.target)
        counting = {"aggregations": [{"grouping_type": "COUNT"}]}
        if reading.chains:
            back = hop if hop.direction == "both" else replace(hop, direction="in" if hop.direction == "out" else "out")
            arguments = self._neighbours(back, each.types[0], {})
            return self._calls.result(
                "aggregate_neighbours", start=self._sets.selected(), **arguments, group_by="neighbour", **counting
            )
        arguments = self._neighbours(hop, self._type, filters_of(reading.target.conditions))
        start = {"type": each.types[0]}
        if hop.chained:
            return self._calls.result("aggregate_neighbours", start=start, **arguments, max_hops=MOST_HOPS, **counting)
        return self._calls.result("degree", start=start, **arguments, at_least=0)

    def ranked_total(self) -> tuple[Result, str]:
        """Return the first ones by the sum of what their relationships to a named thing carry, and the column of it."""
        reading, rank = self._reading, self._reading.target.rank
        reading.planned |= {"top", "sum"}
        named = [chain[0] for chain in reading.chains if chain[0].is_alone]
        if rank is None or len(named) != 1:
            raise UnconnectedError("it does not say to what they contribute")
        hop = self.hop(named[0], reading.target)
        key = next((each for each in rank.properties if each.of_relationship and each.owner == hop.relationship), None)
        if key is None:
            raise UnconnectedError(f"{hop.relationship} has no such property")
        filters = self._choice.conditions([hop], hop)
        by = f"{rank.total.lower()}_{key.key.name}"
        result = self._calls.result(
            "aggregate_neighbours",
            start=self._sets.start(named[0]),
            relationship_types=[hop.relationship],
            direction=hop.direction,
            neighbour_type=self._type,
            group_by="neighbour",
            relationship_property=key.key.name,
            aggregations=[{"grouping_type": rank.total}],
            order_by=by,
            descending=rank.descending,
            limit=self._reading.page,
            **({"relationship_filters": filters} if filters else {}),
        )
        return result, by


def _fulfils(number: float, bound: Bound) -> bool:
    compared = {"=": number == bound.number, "<": number < bound.number, ">": number > bound.number}
    return any(compared[each] for each in bound.operator)


def _bounds(operator: str, number: float) -> dict[str, int]:
    whole = int(number)
    if operator == ">":
        return {"at_least": whole + 1}
    if operator == ">=":
        return {"at_least": whole}
    if operator == "<":
        return {"at_most": max(0, whole - 1)}
    if operator == "<=":
        return {"at_most": whole}
    return {"at_least": whole, "at_most": whole} if whole else {"at_most": 0}
