"""Whether all that a question asks is bound in the graph: if so, the question in the graph's terms; if not, what to get next.

Things are bound from the surest one outward, edge by edge: what a name or an identifier finds first, then what is joined to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planners.finding.typed_binding import Wanted
from planners.graphs.property_graph import GraphNode
from planners.kgot.asked import Asked, AskedEdge, AskedFilter, AskedLookup, AskedVariable, Unreadable
from planners.kgot.kgot_task import MadeCall
from planners.kgot.rules.graph_facts import ROW_KEYS, GraphFacts, meets, property_for
from planners.kgot.rules.made_calls import CallLog, arguments_text
from planners.kgot.rules.resolved_question import (
    AnswerOrder,
    CallCondition,
    CallJoin,
    Condition,
    PropertyCondition,
    ReferenceJoin,
    ResolvedQuestion,
)
from planners.kgot.rules.run_needs import Need, RulesMemory, ToolUse, entity_name, wanted_by_edge, wanted_by_lookup
from planners.kgot.rules.shape_names import reference_type
from planners.kgot.rules.thing_names import (
    as_held,
    identifiers,
    naming_properties,
    noun_of,
    once,
    reference_of,
    said_identifier,
)

__all__ = ["bind_question"]

_MOST_CALLS = 200
"""For one step of a question: three times what the largest of the shipped tasks needs."""
_SURE = ("name", "id", "email")


class _NeedError(Exception):
    """Something has to be got first."""

    def __init__(self, need: Need) -> None:
        super().__init__(need.request)
        self.need = need


class _CannotError(Exception):
    """A part of the question has no counterpart in the graph."""


def bind_question(
    asked: Asked, facts: GraphFacts, calls: Sequence[MadeCall], memory: RulesMemory
) -> ResolvedQuestion | Need | Unreadable:
    """Return a question in the terms of the graph, or what is missing, or why it cannot be answered from there.

    :param calls: that were made so far, those that failed among them: these are not made again.
    """
    binder = _Binder(asked, facts, CallLog.of(facts, calls), memory)
    try:
        return binder.resolve()
    except _NeedError as missing:
        return missing.need
    except _CannotError as fault:
        return Unreadable(reason=str(fault))


@dataclass(slots=True)
class _Binder:
    asked: Asked
    facts: GraphFacts
    log: CallLog
    memory: RulesMemory
    bound: dict[str, list[GraphNode]] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)

    def resolve(self) -> ResolvedQuestion:
        asked = self.asked
        joined = set[int]()
        start = self._start()
        self.bound[start] = self._first(asked.of(start))
        while edge := self._next_edge(joined):
            joined.add(id(edge))
            self._join(edge)
        return self._resolved()

    def _start(self) -> str:
        """Return the surest variable: of a name, then who asks, then of any condition, then what is asked for."""

        def place(each: AskedVariable) -> int:
            fields = [one.field for one in self._filters(each.name)]
            if any(one in _SURE for one in fields):
                return 0
            if each.is_self:
                return 1
            return 2 if fields else 3 if each.name == self.asked.variable else 4

        return min(self.asked.variables, key=place).name

    def _next_edge(self, joined: set[int]) -> AskedEdge | None:
        left = [edge for edge in self.asked.edges if id(edge) not in joined]
        return next((edge for edge in left if edge.source in self.bound or edge.target in self.bound), None)

    def _filters(self, name: str) -> list[AskedFilter]:
        return [each for each in self.asked.filters if each.variable == name]

    # Things by themselves

    def _first(self, variable: AskedVariable) -> list[GraphNode]:
        if not variable.identifier:
            nodes = self.facts.labelled(variable.label)
            return self._filtered(variable, nodes)
        use, arguments = self._looked_up(variable, self._filters(variable.name))
        nodes = self.log.given(use.tool_id, arguments)
        nodes = [node for node in nodes if node.label == variable.label]
        if variable.is_self or not self._filters(variable.name):
            self.conditions.append(CallCondition(variable=variable.name, tool=use.tool_id))
        found = self._filtered(variable, nodes)
        sure = [each for each in self._filters(variable.name) if each.field in _SURE]
        if sure and not found:  # how many of its things there are is then no question
            said = " and ".join(f"{each.field} is {each.value}" for each in sure)
            raise _CannotError(f"no {noun_of(variable)} was found whose {said}")
        return found

    def _looked_up(self, variable: AskedVariable, filters: Sequence[AskedFilter]) -> tuple[ToolUse, dict[str, object]]:
        """Return the tool that finds things by their fields, and the arguments of the call that was made."""
        lookup, purpose = variable.lookup, f"find {variable.label}"
        if lookup is None:
            raise _CannotError(f"nothing says how a {noun_of(variable)} is found")
        values = {each.field: str(each.value) for each in filters if each.operator in ("=", "contains")}
        need = Need(request=lookup.request, purpose=purpose, wanted=wanted_by_lookup(variable, lookup), filters=values)
        use = self._use(need)
        arguments = self.log.arguments_of_lookup(use.binding, values)
        if not self.log.was_called(use.tool_id, arguments):
            raise _NeedError(need)
        self._refuse_fault(use, arguments)
        return use, arguments

    def _refuse_fault(self, use: ToolUse, arguments: Mapping[str, object]) -> None:
        """Give up where a call failed: of what it would have given nothing is known."""
        if fault := self.log.fault(use.tool_id, arguments):
            raise _CannotError(f"the call of {use.tool_id} with {arguments_text(arguments)} failed ({fault})")

    def _use(self, need: Need) -> ToolUse:
        if need.purpose in self.memory.failed:
            raise _CannotError(f"no tool was found to {need.request}: {self.memory.failed[need.purpose]}")
        if need.purpose not in self.memory.uses:
            raise _NeedError(need)
        return self.memory.uses[need.purpose]

    def _filtered(self, variable: AskedVariable, nodes: list[GraphNode]) -> list[GraphNode]:
        for each in self._filters(variable.name):
            condition = self._condition(variable, each, nodes)
            self.conditions.append(condition)
            nodes = [node for node in nodes if self._holds(condition, node)]
        return nodes

    def _condition(
        self, variable: AskedVariable, each: AskedFilter, nodes: list[GraphNode]
    ) -> PropertyCondition | CallCondition:
        """Return a condition on a property where some thing has the value there, else on the call that asked for it."""
        every = self.facts.labelled(variable.label)
        name = property_for(every, self._field_of(variable, each))
        equal = bool(name) and any(meets(node.properties.get(name), each) for node in every)
        told = each.operator in ("=", "contains")
        value = as_held([node.properties[name] for node in every if name in node.properties], each.value)
        found = PropertyCondition(variable=variable.name, property=name, operator=each.operator, value=value)
        if not variable.identifier:
            if not name:
                raise _CannotError(f"the table has no column called {each.field}")
            if told and not equal:
                raise _CannotError(f"no row has {each.value} in the column {name}")
            return found
        lookup = variable.lookup
        can_ask = told and lookup is not None and (each.field in lookup.fields or each.field == "id")
        if equal and not (can_ask and any(name not in node.properties for node in nodes)):
            return found
        if can_ask:
            use, arguments = self._looked_up(variable, self._filters(variable.name))
            argument = use.binding.fields.get(each.field, "")
            if equal or argument not in arguments:
                return found
            return CallCondition(
                variable=variable.name, tool=use.tool_id, argument=self.log.property(argument), value=str(each.value)
            )
        if lacking := [node for node in nodes if not name or name not in node.properties]:
            self._details(variable, lacking)
        if not name:
            raise _CannotError(f"no {noun_of(variable)} has a field called {each.field}")
        return found

    def _field_of(self, variable: AskedVariable, each: AskedFilter) -> str:
        return variable.identifier if each.field == "id" else each.field

    def _holds(self, condition: PropertyCondition | CallCondition, node: GraphNode) -> bool:
        if isinstance(condition, CallCondition):
            return self.log.gave(condition.tool, condition.argument, condition.value, node)
        each = AskedFilter(variable=condition.variable, field="", operator=condition.operator, value=condition.value)
        return meets(node.properties.get(condition.property), each)

    def _details(self, variable: AskedVariable, nodes: Sequence[GraphNode]) -> None:
        """Have each of some things got by its identifier, where a tool does that."""
        noun = noun_of(variable)
        need = Need(
            request=f"get one {noun} with its details by {said_identifier(variable.identifier)}",
            purpose=f"get {variable.label}",
            wanted=Wanted(
                source=entity_name(variable),
                target=entity_name(variable),
                takes=variable.identifier,
                gives=variable.identifier,
            ),
            values=identifiers(variable, nodes),
        )
        if need.purpose not in self.memory.failed:
            self._called_with(need)

    def _called_with(self, need: Need) -> ToolUse | None:
        """Return the tool of a need once it was called with each of its values; None where there is nothing to call it with."""
        if not need.values:
            return None
        use = self.memory.uses.get(need.purpose) if need.purpose not in self.memory.failed else self._use(need)
        if use is None:
            raise _NeedError(need)
        left = tuple(
            value
            for value in need.values
            if not self.log.was_called(use.tool_id, self.log.arguments_of_value(use.binding, value))
        )
        if len(left) > _MOST_CALLS:
            raise _CannotError(f"{len(left)} calls would be needed to {need.request}")
        if left:
            raise _NeedError(need)
        for value in need.values:
            self._refuse_fault(use, self.log.arguments_of_value(use.binding, value))
        return use

    # Things that are joined

    def _join(self, edge: AskedEdge) -> None:
        forward = edge.source in self.bound
        known, other = (edge.source, edge.target) if forward else (edge.target, edge.source)
        variable, wanted = self.asked.of(known), self.asked.of(other)
        nodes = self.bound[known]
        kind = reference_type(reference_of(edge.field)) if edge.field else ""
        found = self._after(edge, variable, wanted, nodes, kind) if forward else None
        if found is None:
            found = self._before(edge, variable, wanted, nodes, kind, forward=forward)
        found = [node for node in found if node.label == wanted.label]
        if other in self.bound:
            ids = {node.id for node in found}
            self.bound[other] = [node for node in self.bound[other] if node.id in ids]
        else:
            self.bound[other] = self._filtered(wanted, found)

    def _after(
        self, edge: AskedEdge, known: AskedVariable, other: AskedVariable, nodes: list[GraphNode], kind: str
    ) -> list[GraphNode] | None:
        """Return the targets of sources whose records name them; None where no record does."""
        if not kind:
            return None
        lacking = [node for node in nodes if not self.facts.after(node, kind)]
        self._called_with(self._edge_need(edge.forward, edge.name, known, other, lacking))
        self.conditions.append(ReferenceJoin(source=edge.source, type=kind, target=edge.target))
        return once(target for node in nodes for target in self.facts.after(node, kind))

    def _before(
        self,
        edge: AskedEdge,
        known: AskedVariable,
        other: AskedVariable,
        nodes: list[GraphNode],
        kind: str,
        *,
        forward: bool,
    ) -> list[GraphNode]:
        lookup = edge.forward if forward else edge.backward
        way = edge.name if forward else f"{edge.name} backward"
        use = self._called_with(self._edge_need(lookup, way, known, other, nodes))
        if use is None:  # nothing is known at this end, so nothing is joined to it
            nothing = CallJoin(
                known=known.name, identifier=known.identifier, tool="", argument="tool", given=other.name
            )
            self.conditions.append(nothing)
            return []
        found = [
            each
            for value in identifiers(known, nodes)
            for each in self.log.given(use.tool_id, self.log.arguments_of_value(use.binding, value))
            if each.label == other.label
        ]
        if kind and all(self.facts.after(each, kind) for each in found):
            self.conditions.append(ReferenceJoin(source=edge.source, type=kind, target=edge.target))
            return once(source for node in nodes for source in self.facts.before(node, kind))
        self.conditions.append(
            CallJoin(
                known=known.name,
                identifier=known.identifier,
                tool=use.tool_id,
                argument=self.log.property(use.binding.takes),
                given=other.name,
            )
        )
        return once(found)

    def _edge_need(
        self,
        lookup: AskedLookup,
        way: str,
        known: AskedVariable,
        other: AskedVariable,
        nodes: Sequence[GraphNode],
    ) -> Need:
        return Need(
            request=lookup.request,
            purpose=f"{known.label} {way} {other.label}",
            wanted=wanted_by_edge(known, other, lookup),
            values=identifiers(known, nodes),
        )

    # What is said of them

    def _resolved(self) -> ResolvedQuestion:
        asked = self.asked
        variable = asked.of(asked.variable)
        nodes, every = self.bound[variable.name], self.facts.labelled(variable.label)
        if variable.identifier and (stubs := [node for node in nodes if len(node.properties) == 1]):
            self._details(variable, stubs)
        numeric = asked.measure not in ("find", "count")
        name = ""
        if asked.fields and asked.measure != "count":
            name = property_for(nodes or every, asked.fields[0], numeric=numeric)
            if not name:
                raise _CannotError(
                    f"no {noun_of(variable)} has a {'number' if numeric else 'field'} called {asked.fields[0]}"
                )
        elif numeric:
            raise _CannotError("it is not said which number is meant")
        names = naming_properties(variable, every)
        if asked.measure == "find" and not name and not names:
            held = dict.fromkeys(each for node in every for each in node.properties if each not in ROW_KEYS)
            raise _CannotError(f"no column names a {noun_of(variable)}; ask for one of these: {', '.join(held)}")
        return ResolvedQuestion(
            labels={each.name: each.label for each in asked.variables},
            conditions=tuple(dict.fromkeys(self.conditions)),
            variable=variable.name,
            measure=asked.measure,
            property=name,
            names=names,
            order=self._order(),
            groups=tuple(tuple(self._condition(variable, each, nodes) for each in group) for group in asked.groups),
            combination=asked.combination,
        )

    def _order(self) -> AnswerOrder | None:
        order = self.asked.order
        if order is None:
            return None
        label = self.asked.of(order.variable).label
        name = property_for(self.facts.labelled(label), order.field)
        if not name:
            raise _CannotError(f"nothing is known by which they could be ordered ({order.field})")
        return AnswerOrder(variable=order.variable, property=name, descending=order.descending, nth=order.nth)
