"""The set of nodes that a question is about: chains are followed from their far ends, and what they lead to is intersected."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, TypeAlias

from planners.graphseek.results.result import Result
from planners.graphseek.rules.name_finding import Found
from planners.graphseek.rules.phrase_lexicon import Lexicon, PropertyOf
from planners.graphseek.rules.question_reading import Condition, Reading, Stop
from planners.graphseek.rules.relation_choice import RelationChoice, UnconnectedError
from planners.graphseek.rules.replayed_calls import ReplayedCalls
from planners.graphseek.rules.said_question import DATES, UnreadableError
from planners.graphseek.rules.schema_routes import Hop

__all__ = ["MOST_HOPS", "EmptyError", "Selected", "SetFinding", "filters_of", "without_value"]

Selected: TypeAlias = dict[str, Any]
"""Nodes as operators take them: ``{"type": …, "filters": […]}``, or ``{"handle": …}``."""

MOST_HOPS = 6
"""Of a blueprint four, of what is missed for want of a thing six, and of a relationship that leads on: all that the operators go."""


class EmptyError(Exception):
    """A set on the way is empty, so that what is asked for is too."""

    def __init__(self, result: Result) -> None:
        super().__init__("nothing fulfils the conditions")
        self.result = result


class SetFinding:
    """Finds sets by invocations."""

    def __init__(
        self, reading: Reading, lexicon: Lexicon, calls: ReplayedCalls, choice: RelationChoice, found: dict[int, Found]
    ) -> None:
        self._reading, self._lexicon, self._calls, self._choice, self._found = reading, lexicon, calls, choice, found

    def selected(self) -> Selected:
        """Return the nodes of the target.

        :raises EmptyError: when a chain leads to none.
        """
        reading = self._reading
        named = [chain for chain in reading.chains if self.is_itself(chain)]
        found = [self.followed(chain) for chain in reading.chains if chain not in named]
        if named:  # a thing is not two: "compare the price of A with B"
            found.insert(0, self._merged([self.followed(chain) for chain in named], "union"))
        if self._is_timed():
            found.append(self._time_slice())
        if not found and not reading.without:
            return {"type": self._type, **filters_of(reading.target.conditions)}
        if reading.without:
            reading.planned.add("not")
            found = [self._without(self._merged(found, "intersection") if found else self._every())]
        if len(found) == 1:
            return {"handle": found[0].handle}
        return {"handle": self._merged(found, "intersection").handle}

    def table(self, nodes: Selected, **arguments: Any) -> Result:
        """Return what an operator makes of nodes: their order, groups, aggregations."""
        if "handle" in nodes:
            return self._calls.result("filter", **nodes, **arguments)
        named = {("node_type" if name == "type" else name): value for name, value in nodes.items()}
        return self._calls.result("get_nodes", **named, **arguments)

    def listed(self, nodes: Selected, **arguments: Any) -> Result:
        """Return a table of nodes, of no more than are asked for."""
        if self._reading.limit:
            arguments = {"limit": self._reading.limit, **arguments}
        if "handle" in nodes and not arguments:
            return self._calls.stored(nodes["handle"])
        return self.table(nodes, **arguments)

    def _every(self) -> Result:
        return self._calls.result("get_nodes", node_type=self._type, **filters_of(self._reading.target.conditions))

    def _without(self, every: Result) -> Result:
        """Leave out what the chains with "not" lead to."""
        left_out = []
        for chain in self._reading.without:
            with contextlib.suppress(EmptyError), self._calls.as_said():  # else nothing is left out
                left_out.append(self.followed(chain))
        return self._merged([every, *left_out], "difference")

    @property
    def _type(self) -> str:
        return self._reading.target.types[0]

    def start(self, stop: Stop) -> Selected:
        """Return the nodes of the far end of a chain."""
        if stop.name:
            found = self._found[stop.at]
            if stop.conditions or stop.presumed:
                return {"handle": self._named(stop).handle}
            if len(found.names) == 1:
                return {"handle": found.handle}
            table = self._calls.result("find", text=found.text, match="exact", node_type=stop.types[0])
            return {"handle": table.handle}
        return {"handle": stop.handle} if stop.handle else {"type": stop.types[0], **filters_of(stop.conditions)}

    def followed(self, chain: Sequence[Stop], near: Stop | None = None) -> Result:
        """Return what a chain leads to.

        :param near: the place before it; by default the target.
        :raises EmptyError: when it is nothing.
        """
        places = [near or self._reading.target, *chain]
        if near is None and self.is_itself(chain):
            return self._merged([self._named(each) for each in self._read_row(chain[0])], "union")
        at = self.start(chain[-1])
        result: Result | None = None
        for to, far in zip(reversed(places[:-1]), reversed(places[1:]), strict=True):
            if far.only and not far.name and result is None:
                result = self._only(to, far)
            else:
                result = self._with_joined(self._link(at, far, to), far, to)
            if not result.size:
                raise EmptyError(result)
            at = {"handle": result.handle}
        if result is None:
            raise LookupError("a chain has no places")
        return result

    def _with_joined(self, result: Result, far: Stop, near: Stop) -> Result:
        """Put what a place leads to together with what the names that are joined to it lead to."""
        for each in far.joined:
            self._reading.done.update(each.cues)
            if each.by != "not":
                other = self._link(self.start(each.stop), each.stop, near)
                both = self._merged([result, other], "union" if each.by == "or" else "intersection")
                if result.size and other.size and not both.size:
                    self._calls.notes.append(
                        f"“{far.name}” and “{each.stop.name}” were read as both; say “or” for either"
                    )
                result = both
                continue
            with contextlib.suppress(EmptyError), self._calls.as_said():  # nothing is left out
                other = self._link(self.start(each.stop), each.stop, near)
                result = self._merged([result, *([other] if other.size else [])], "difference")
        return result

    def _read_row(self, stop: Stop) -> list[Stop]:
        """Return a name and those that are joined to it, all of which are meant.

        :raises UnconnectedError: when one is left out.
        """
        for each in stop.joined:
            if each.by == "not":
                raise UnconnectedError(f"it is not clear how “{each.stop.name}” is left out")
            self._reading.done.update(each.cues)
        return stop.row

    def starts(self, stop: Stop) -> Selected:
        """Return the nodes of a name and of those that are joined to it."""
        tables = [self._calls.stored(self.start(each)["handle"]) for each in self._read_row(stop)]
        return {"handle": self._merged(tables, "union").handle}

    def is_itself(self, chain: Sequence[Stop]) -> bool:
        """Whether a chain is the name of what is asked for."""
        stop = chain[0]
        if self._reading.is_target_said:
            return False
        target = self._reading.target
        is_alone = len(chain) == 1 and bool(stop.name) and stop.types == target.types and not stop.related
        return is_alone and not self._choice.said_hops(stop, target, target)  # "what reaches Payslips" asks for others

    def _named(self, stop: Stop) -> Result:
        """Return the nodes that a name is of and that fulfil the conditions. What is only presumed of them, and is not so, is told.

        :raises EmptyError: when none of them fulfils the conditions.
        """
        if presumed := [each for each in stop.presumed if each.of.owner in stop.types[:1]]:
            with contextlib.suppress(EmptyError), self._calls.as_said():
                return self.itself(stop, [*presumed, *stop.conditions])
            said = " and ".join(f"{each.of.key.name} {' or '.join(each.values)}" for each in presumed)
            self._calls.notes.append(f"“{stop.name}” is not of the {said}")
        return self.itself(stop, stop.conditions)

    def itself(self, stop: Stop, conditions: Sequence[Condition] = ()) -> Result:
        """Return the nodes that a name is of, with their properties.

        :raises EmptyError: when none of them fulfils the conditions.
        """
        found, type_ = self._found[stop.at], stop.types[0]
        for key in self._lexicon.naming[type_]:
            named = {"key": key, "operator": "=", "value": found.names[type_]}
            filters = [named, *(each.filter for each in conditions)]
            result = self._calls.result("get_nodes", node_type=type_, filters=filters)
            if result.size:
                return result
            if conditions:
                raise EmptyError(result)
        raise LookupError(f"{found.text} was found and is gone")

    def _only(self, near: Stop, far: Stop) -> Result:
        """Return the places all of whose neighbours fulfil the conditions, and that have any.

        A neighbour without the value, which is not known, fulfils none.
        """
        self._reading.planned.add("only")
        fulfil = self._link(self.start(far), far, near)
        others = [self._link({"type": far.types[0], **filters_of(each.opposite)}, far, near) for each in far.conditions]
        for each in (e.of for e in far.conditions if e.of.role == "category"):
            unknown = self._link({"type": far.types[0], "filters": [without_value(each)]}, far, near)
            others.append(unknown)
            if unknown.size:
                self._calls.notes.append(
                    f"nodes of type {near.types[0]} left out for a {each.owner} whose {each.key.name} is not known: {unknown.size:,}"
                )
        return self._merged([fulfil, *(each for each in others if each.size)], "difference")

    def _link(self, at: Selected, far: Stop, near: Stop) -> Result:
        said = self._choice.said_hops(far, near, near)
        wanted = [each.hops for each in said if not each.negated]
        if wanted:
            found = [self._any_of(at, hops, far, near) for hops in wanted]
            result = self._merged(found, "union" if self._reading.either else "intersection")
            if len(found) > 1 and self._reading.either:
                self._reading.planned.add("or")
        elif said:  # only what is left out is said
            if far.name and far.types == near.types:
                self._calls.notes.append(f"“{far.name}” itself was not left out")
            result = self._calls.result("get_nodes", node_type=near.types[0], **filters_of(near.conditions))
        else:
            result = self._routed(at, far, near)
        negative = []
        for hop, hops in ((hop, each.hops) for each in said if each.negated for hop in each.hops):
            with self._calls.as_said():  # else nothing is left out
                negative.append(self._traverse(at, hop, hops, []))
        if any(each.negated for each in said):
            self._reading.planned.add("not")
        return self._merged([result, *(each for each in negative if each.size)], "difference")

    def _any_of(self, at: Selected, hops: Sequence[Hop], far: Stop, near: Stop) -> Result:
        """Follow a word that means several relationships along all of them; one that leads nowhere along its synonyms: found on the paraphrase
        of a country that something is "part of"."""
        found = [self._traverse(at, hop, hops, near.conditions) for hop in hops]
        others = (
            self._choice.synonyms(hops[0], far.types[0], near.types[0]) if not any(each.size for each in found) else []
        )
        for hop in others:
            other = self._traverse(at, hop, [hop], near.conditions)
            if other.size:
                self._calls.notes.append(
                    f"{hops[0].relationship} leads nowhere; {hop.relationship} was followed, which is said alike"
                )
                return other
        if len(hops) > 1:
            names = " and by ".join(hop.relationship for hop in hops)
            self._calls.notes.append(f"what was said may mean several relationships; it was followed by {names}")
        return self._merged(found, "union")

    def _routed(self, at: Selected, far: Stop, near: Stop) -> Result:
        """Follow the cheapest way; all of several ones of one hop, since nothing says which is meant."""
        routes = self._choice.routes(far.types[0], near.types[0])
        if len(routes) > 1 and self._reading.unread:  # the word may say which
            raise UnreadableError(
                f"“{self._reading.unread[0]}” was not understood, and several relationships connect {near.types[0]} with {far.types[0]}"
            )
        if len(routes) > 1:
            names = " and by ".join(sorted({each.hops[0].relationship for each in routes}))
            self._calls.notes.append(
                f"what connects {near.types[0]} with {far.types[0]} was not said; it was followed by {names}"
            )
        ways = []
        for route in routes:
            on, step = at, None
            for hop in route.hops:
                step = self._traverse(on, hop, route.hops, near.conditions if hop is route.hops[-1] else [])
                if not step.size:
                    break
                on = {"handle": step.handle}
            if step is not None:
                ways.append(step)
        return self._merged(ways, "union")

    def _traverse(self, at: Selected, hop: Hop, hops: Sequence[Hop], conditions: Sequence[Condition]) -> Result:
        relationship_filters = self._choice.conditions(hops, hop)
        far = self._reading.steps or (MOST_HOPS if hop.chained else 1)
        self._reading.planned.add("steps")
        arguments: dict[str, Any] = {
            "start": at,
            "relationship_types": [hop.relationship],
            "direction": hop.direction,
            "node_type": hop.target,
            **({"max_hops": far} if far > 1 else {}),
            **({"relationship_filters": relationship_filters} if relationship_filters else {}),
        }
        result = self._calls.result("traverse", **arguments, **filters_of(conditions))
        wider = [self._wider(each) for each in conditions]
        if not result.size and wider != list(conditions):
            result = self._calls.result("traverse", **arguments, **filters_of(wider))
            self._calls.notes.append(f"“{conditions[0].value}” was read as {wider[0].value}")
        return result

    def _wider(self, condition: Condition) -> Condition:
        """Return a condition with the last word of its value, where that is a value too: "Federal district", "District"."""
        if isinstance(condition.value, tuple):
            return condition
        last = str(condition.value).split()[-1:]
        value = next((each.value for each in self._lexicon.values_of(condition.of, *last)), condition.value)
        return Condition(of=condition.of, operator=condition.operator, value=value)

    def _is_timed(self) -> bool:
        return bool(self._reading.when.said) and not self._choice.is_time_used

    def _time_slice(self) -> Result:
        if any(each.negated for each in self._reading.relations) or self._reading.without:
            raise UnreadableError("it is not clear whether what “not” leaves out is of that time alone")
        via = self._choice.to_times(self._type)
        if not via:
            self._refuse_open_time()
        return self._calls.result(
            "time_slice",
            node_type=self._type,
            **filters_of(self._reading.target.conditions),
            **self._reading.when.said,
            **({"via": via} if via else {}),
        )

    def _refuse_open_time(self) -> None:
        """Refuse a time that may be of another thing than what is asked for, or of what relates them.

        :raises UnreadableError: when it may; the text says of what.
        """
        reading = self._reading
        types = {name for stop in (reading.target, *reading.stops) for name in stop.types}
        types |= {each.name for relation in reading.relations for each in relation.mention.relations}
        keys = [each for each in self._lexicon.properties if each.owner in types and each.role in DATES]
        own = [each for each in keys if each.owner == self._type]
        said = " ".join(f"{name} {value}" for name, value in reading.when.said.items())
        if not own:
            return
        if len(own) == 1 and not reading.relations and not reading.stops:
            if own[0].key.name not in DATES:
                self._calls.notes.append(f"“{said}” was read as the {own[0].key.name} of {self._type}")
            return
        names = " or ".join(f"{each.key.name} of {each.owner}" for each in keys)
        raise UnreadableError(f"it is not clear what was in “{said}”; say it right behind {names}")

    def _merged(self, results: Sequence[Result], how: str) -> Result:
        if len(results) == 1:
            return results[0]
        return self._calls.result("merge", handles=[each.handle for each in results], how=how)


def without_value(key: PropertyOf) -> dict[str, Any]:
    """Return the filter of nodes that have no value of a property."""
    return {"key": key.key.name, "operator": "is_null"}


def filters_of(conditions: Sequence[Condition]) -> dict[str, Any]:
    """Return the argument ``filters``, where there are conditions."""
    return {"filters": [each.filter for each in conditions]} if conditions else {}
