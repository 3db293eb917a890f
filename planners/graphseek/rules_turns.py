"""Turns without a model: the reader by rules makes a query graph of a question, and that becomes invocations of operators.

A graph's schema with the words of its semantic catalog is a domain of the reader. A plan is written as if each operator answered at
once: it is gone through anew in each turn, and what has not run yet ends the turn. What an operator cannot be asked is refused with a
hint to name a model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any, Literal, TypeAlias

from ontology.errors import EgotoolsError
from ontology.names import verb_lemma, words
from planners.graphseek.catalog import (
    TIME_ROLES,
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    Role,
    SemanticCatalog,
    naming_properties,
    roles_of_owner,
)
from planners.graphseek.results import Cell, Result, ResultStore
from planners.graphseek.turn import Answer, Fault, Invocation, Outcome, StepRecord, StepView, Turn
from planners.query.dates import DateRange, read_range
from planners.query.domain import Domain, EdgeType, EntityType, FieldType, Operator
from planners.query.query_graph import EdgeConstraint, FilterConstraint, Measure, QueryGraph
from planners.query.rules_reader import RulesParser
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey

_MOST_HOPS = 6  # of a relationship that leads on by way of other nodes
_MOST_NAMED = 25  # nodes of one name
_SHOWN = 20  # names that an answer tells; all stand in its table
_MODEL = "Say it in other words, or name a model with --llm-url"
# The type of times, and the edge that says when a node, or what joins it to another one, was
_TIME, _OWN_TIME = "Time__", "time__"
_AUXILIARIES = frozenset("is are was were be been can may".split())
_Kind: TypeAlias = tuple[Literal["text", "number", "boolean", "date"], tuple[Operator, ...]]
_TEXT: _Kind = ("text", ("=", "contains"))
_FIELDS: Mapping[str, _Kind] = {
    **dict.fromkeys(("integer", "number"), ("number", ("=", "<", ">", "<=", ">="))),
    "boolean": ("boolean", ("=",)),
    "date": ("date", ("=", "<", ">")),
}
_NAMED = ("named", "called")
# Nodes as operators take them: ``{"type": …, "filters": […]}``, or ``{"handle": …}``
_Selected: TypeAlias = dict[str, Any]


class _NeededError(Exception):
    """The plan cannot go on before these invocations have outcomes."""

    def __init__(self, invocations: Sequence[Invocation]) -> None:
        super().__init__("operators have to run")
        self.invocations = tuple(invocations)


class _RefusedError(Exception):
    """The question cannot be answered without a model, or has to be asked back."""

    def __init__(self, why: str, *, asks_back: bool = False) -> None:
        super().__init__(why)
        self.asks_back = asks_back


class RulesTurns:
    """Plans turns without a model, a network or a key; the same view gives the same turn."""

    def __init__(self) -> None:
        self._parser = RulesParser()
        self._known: tuple[str, SemanticCatalog, _AskedDomain] | None = None

    async def turn(self, view: StepView) -> Turn:
        """Return invocations, or an answer."""
        if self._known is None or self._known[0] != view.schema.fingerprint or self._known[1] is not view.catalog:
            self._known = (view.schema.fingerprint, view.catalog, _asked_domain(view.schema, view.catalog))
        asked, calls, today = self._known[2], _Calls(view.records), date.today()
        known: dict[str, list[tuple[str, str]]] = {}
        try:
            for invocation, outcome in (pair for record in view.records for pair in record.pairs):
                if invocation.operator == "find" and isinstance(outcome, Result):
                    rows = await view.results.rows(outcome.handle, limit=_MOST_NAMED)
                    named = ((str(row[1]), str(row[2])) for row in rows if row[1] in asked.naming)
                    known[str(invocation.arguments["text"])] = list(dict.fromkeys(named))
            graph = self._parser.parse(view.question, asked.domain, today, names=partial(calls.names, known)).graph
            return await _Compiled(graph, asked, calls, view.results, today).answer()
        except _NeededError as needed:
            return needed.invocations
        except _RefusedError as error:
            if error.asks_back:
                return Answer(text=str(error), kind="question")
            why = str(error)
        except EgotoolsError as error:
            why = error.problem
        return Answer(text=f"This could not be answered without a model: {why}. {_MODEL}.", kind="unreadable")


class _Calls:
    """The invocations of the turns so far."""

    def __init__(self, records: Sequence[StepRecord]) -> None:
        self._known: dict[str, Outcome] = {
            call.key: outcome
            for call, outcome in (pair for record in records for pair in record.pairs)
            if not (isinstance(outcome, Fault) and outcome.kind == "repeated")
        }
        self.notes: list[str] = []
        self.emptied = ""

    def outcomes(self, invocations: Sequence[Invocation]) -> list[Outcome]:
        """Return the outcomes of invocations that do not depend on one another."""
        missing = {each.key: each for each in invocations if each.key not in self._known}
        if missing:
            raise _NeededError(list(missing.values()))
        return [self._known[each.key] for each in invocations]

    def result(self, operator: str, **arguments: Any) -> Result | None:
        """Return the result of one invocation; None where nothing was found. An argument that is empty is left out."""
        given = {name: value for name, value in arguments.items() if value not in (None, [], {})}
        (outcome,) = self.outcomes([Invocation(operator=operator, arguments=given)])
        if isinstance(outcome, Fault):
            if outcome.kind == "empty":
                self.emptied = self.emptied or _condition(given)
                return None
            raise _RefusedError(f"{outcome.problem}. {outcome.hint}")
        if outcome.cut and "limit" not in given:
            said = f"{outcome.handle} has the first {outcome.size:,} rows only"
            self.notes.append(f"{said}, so what rests on it may lack some")
        if not outcome.size:
            self.emptied = self.emptied or _condition(given)
        return outcome if outcome.size else None

    def names(
        self, known: Mapping[str, Sequence[tuple[str, str]]], texts: Sequence[str], quoted: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Look names up in the graph, all of a question at once; a quoted text that is none is asked back with the
        nearest ones. ``known`` are the names that were looked up in earlier turns, each with the types that it is of.
        """
        common = {"match": "exact", "limit": _MOST_NAMED}
        finds = [Invocation(operator="find", arguments={"text": each, **common}) for each in texts]
        for text, outcome in zip(texts, self.outcomes(finds), strict=True):
            if text in quoted and not (isinstance(outcome, Result) and outcome.size):
                hint = outcome.hint if isinstance(outcome, Fault) and outcome.kind == "empty" else ""
                near = f" Is {hint.removeprefix('There is ')} meant?" if hint else ""
                raise _RefusedError(f"Nothing is called “{text}”.{near}", asks_back=True)
        return known


def _condition(arguments: Mapping[str, Any]) -> str:
    """What an invocation asked for, to name the constraint that left nothing."""
    # A day that a date expression became stands in no result and in no question: only its property is named.
    said = (f"{each['key']} {each['operator']} {each['value']}" for each in arguments.get("filters", ()))
    filters = " and ".join(dict.fromkeys(re.sub(r" [<>]=? \d{4}-\d\d-\d\d$", " as asked", each) for each in said))
    kind, along = arguments.get("node_type", ""), ", ".join(arguments.get("relationship_types", ()))
    narrowed = (f"along {along}" if along else "", f"with {filters}" if filters else "")
    return " ".join(filter(None, (kind and f"no {kind}", *narrowed)))


class _Compiled:
    """A query graph as invocations."""

    def __init__(
        self, graph: QueryGraph, asked: _AskedDomain, calls: _Calls, results: ResultStore, today: date
    ) -> None:
        self._graph, self._asked, self._calls, self._results, self._today = graph, asked, calls, results, today

    async def answer(self) -> Answer:
        """Return the answer."""
        graph, measure = self._graph, self._graph.measure
        if len({frozenset((each.source, each.target)) for each in graph.edges}) >= len(graph.vars):
            raise _RefusedError("what is said goes round in a circle")
        if graph.action == "group":
            return await self._told(self._degrees(graph.by, Measure(var=graph.return_var), at_least=0), pairs=True)
        if graph.action == "measure" and measure is not None:
            kind = {"sum": "SUM", "average": "AVG"}[measure.function]
            sums = [{"grouping_type": kind, "property": measure.field}]
            result = self._table(self._nodes(graph.return_var), aggregations=sums)
            return await self._told(result, cell=True)
        if graph.action == "top" and measure is not None:
            return await self._top(measure)
        nodes: _Selected | None
        if measure is not None:
            result = self._degrees(graph.return_var, measure, **_bounds(measure.op, int(measure.value)))
            nodes = {"handle": result.handle} if result else None
        else:
            nodes = self._nodes(graph.return_var)
        if graph.action == "count":
            table = self._table(nodes, aggregations=[{"grouping_type": "COUNT"}])
            rows = await self._results.rows(table.handle, limit=1) if table else [(0,)]
            return self._reply(f"There are {rows[0][0]:,}.", table)
        return await self._told(self._table(nodes), shown=graph.show)

    async def _top(self, measure: Measure) -> Answer:
        """The first ones, with those that equal the last of them."""
        graph = self._graph
        if measure.function == "count":
            order = {"order": "ascending", "at_least": 0} if graph.ascending else {"order": "descending"}
            table, column = self._degrees(graph.return_var, measure, **order), "count"
        else:
            if measure.var != graph.return_var:
                raise _RefusedError(f"{measure.field} is of something else than what is asked for")
            column = measure.field
            table = self._table(self._nodes(graph.return_var), order_by=column, descending=not graph.ascending)
        rows = await self._results.rows(table.handle, limit=graph.limit) if table else []
        last = rows[-1][[each.name for each in table.columns].index(column)] if table and rows else None
        if table is None or last is None:
            return self._reply(self._none(), table)
        kept = [{"key": column, "operator": "<=" if graph.ascending else ">=", "value": last}]
        first = self._calls.result("filter", handle=table.handle, filters=kept)
        return await self._told(first, shown=column, pairs=True)

    # Sets of nodes

    def _nodes(self, var: str, came: str = "", without: str = "") -> _Selected | None:
        """The nodes of a variable that meet what lies behind it, seen from the variable by which it came, and without looking at another; None:
        there are none."""
        sets = self._named(var)
        if None in sets:
            return None
        negative: list[Result | None] = []
        far_ends = [edge.target if edge.source == var else edge.source for edge in self._graph.edges_of(var)]
        for far in dict.fromkeys(each for each in far_ends if each not in (came, without)):
            if self._graph.vars[far] == _TIME:
                continue
            edges = [each for each in self._graph.edges_of(var) if far in (each.source, each.target)]
            nodes = self._nodes(far, var)
            if nodes and len(edges) > 1 and (table := self._table(nodes)) and table.size > 1:
                raise _RefusedError("what two relationships lead to is more than one thing")
            for edge in edges:
                reached = self._traversed(edge, nodes, var) if nodes else None
                if edge.negated:
                    negative.append(reached)
                elif reached is None:
                    return None
                else:
                    sets.append(reached)
                    negative += [self._others(edge, far, nodes, var)] if edge.only else []
        subtracted = [each for each in negative if each]
        own: _Selected = {} if sets else {"type": self._graph.vars[var], "filters": self._filters(var)}
        if own and not subtracted:
            return own if own["filters"] else {"type": own["type"]}
        first = self._table(own) if own else self._merged(sets, "intersection")
        kept = self._merged([first, *subtracted], "difference") if first else None
        return {"handle": kept.handle} if kept else None

    def _is_name(self, each: FilterConstraint) -> bool:
        known = self._asked.domain.types[self._graph.vars[each.var]].fields[each.field]
        return each.op == "=" and "named" in known.words

    def _named(self, var: str) -> list[Result | None]:
        """The nodes that have each of the names of a variable, by their name or their key, and meet its conditions; None: there are none."""

        def called(name: Any) -> Result | None:
            for key in self._asked.naming[self._graph.vars[var]]:
                filters = [{"key": key, "operator": "=", "value": name}, *self._filters(var)]
                if found := self._calls.result("get_nodes", node_type=self._graph.vars[var], filters=filters):
                    return found
            return None

        sets: list[Result | None] = []
        for each in filter(self._is_name, self._graph.filters_of(var)):
            found = [one for one in map(called, each.values) if one]
            sets.append(self._merged(found, "union") if found else None)
        return sets

    def _filters(self, var: str) -> list[dict[str, Any]]:
        """The conditions on the properties of a variable, without its name; a date too, unless a relationship says it."""
        kind, filters = self._graph.vars[var], list[dict[str, Any]]()
        for each in self._graph.filters_of(var):
            if self._is_name(each):
                continue
            if self._asked.domain.types[kind].fields[each.field].kind == "date":
                filters += self._days(each, each.field)
                continue
            meant, words_of = (
                self._asked.values,
                ((one, (kind, each.field, str(one).casefold())) for one in each.values),
            )
            values = [value for one, said in words_of for value in meant.get(said, (one,))]
            form = {"key": each.field, "operator": each.op, "value": values[0]}
            filters.append(form if len(values) == 1 else {**form, "operator": "in", "value": values})
        if (when := self._when(var)) and self._dated(var) is None:
            filters += self._of_time(when, self._asked.times.get(kind, {}))
        return filters

    def _when(self, var: str) -> str:
        ends = (each.target for each in self._graph.edges_of(var))
        return next((end for end in ends if self._graph.vars[end] == _TIME), "")

    def _dated(self, var: str) -> EdgeConstraint | None:
        """The edge of a variable with a date whose relationship says itself when it was: the date is of it."""
        edges = [each for each in self._graph.edges_of(var) if self._asked.times.get(each.edge)]
        return edges[0] if len(edges) == 1 and self._when(var) else None

    def _of_time(self, when: str, keys: Mapping[Role, PropertyKey]) -> list[dict[str, Any]]:
        """The conditions that a date puts on properties that say when: on a date, or on a year, a quarter or a month."""
        filters = self._graph.filters_of(when)
        if key := keys.get("date"):
            return [form for each in filters for form in self._days(each, key.name)]
        days = read_range(str(filters[0].value), self._today).range if len(filters) == 1 else DateRange()
        start, end, months = days.start, days.end, 0
        if start and end:
            months = (end.year - start.year) * 12 + end.month - start.month
        whole = start and end and filters[0].op == "=" and start.day == end.day == 1
        if not whole or start is None or months not in (1, 3, 12) or (start.month - 1) % months:
            raise _RefusedError(f"“{days.iso()}” is not one year, quarter or month")
        asked: dict[Role, int] = {"year": start.year}
        if months < 12:
            asked |= {"quarter": (start.month + 2) // 3} if months == 3 else {"month": start.month}
        if not asked.keys() <= keys.keys():
            raise _RefusedError(f"no property says of which {' and '.join(asked)} it is")
        return [{"key": keys[role].name, "operator": "=", "value": value} for role, value in asked.items()]

    def _days(self, each: FilterConstraint, key: str) -> list[dict[str, Any]]:
        """The days of a date expression, as conditions on a property."""
        days = read_range(str(each.value), self._today, each.op).range  # type: ignore[arg-type]  # a date has no other operator
        ends = ((">=", days.start), ("<", days.end))
        return [{"key": key, "operator": op, "value": end.isoformat()} for op, end in ends if end]

    def _others(self, edge: EdgeConstraint, far: str, nodes: _Selected | None, var: str) -> Result | None:
        """What is joined to anything but some nodes: "only"."""
        every, own = self._table({"type": self._graph.vars[far]}), self._table(nodes)
        others = self._merged([every, own], "difference") if every and own else None
        return self._traversed(edge, {"handle": others.handle}, var) if others else None

    def _traversed(self, edge: EdgeConstraint, start: _Selected | None, to: str) -> Result | None:
        kinds = edge.edge, self._graph.vars[edge.source], self._graph.vars[edge.target]
        hops = max(edge.max_hops, _MOST_HOPS if kinds in self._asked.chained else 1)
        dated = next((var for var in (edge.source, edge.target) if self._dated(var) is edge), "")
        return self._calls.result(
            "traverse",
            start=start,
            **self._way(edge, "out" if edge.target == to else "in"),
            max_hops=hops if hops > 1 else None,
            node_type=self._graph.vars[to],
            filters=self._filters(to),
            relationship_filters=self._of_time(self._when(dated), self._asked.times[edge.edge]) if dated else None,
        )

    def _way(self, edge: EdgeConstraint, direction: str) -> dict[str, Any]:
        return {"relationship_types": [edge.edge], "direction": direction}

    def _merged(self, sets: Sequence[Result | None], how: str) -> Result | None:
        found = [each for each in sets if each]
        if len(found) == 1:
            return found[0]
        return self._calls.result("merge", handles=[each.handle for each in found], how=how)

    def _table(self, nodes: _Selected | None, **arguments: Any) -> Result | None:
        if nodes is None:
            return None
        if "handle" in nodes:
            return self._calls.result("filter", **nodes, **arguments)
        return self._calls.result("get_nodes", node_type=nodes["type"], filters=nodes.get("filters"), **arguments)

    def _degrees(self, var: str, measure: Measure, **bounds: Any) -> Result | None:
        """The nodes of a variable with the number of those of another one that are joined to each."""
        joining = [each for each in self._graph.edges_of(var) if measure.var in (each.source, each.target)]
        edge = joining[0] if len(joining) == 1 else None
        kinds = edge and (edge.edge, self._graph.vars[edge.source], self._graph.vars[edge.target])
        lone = len(self._graph.edges_of(measure.var)) == 1
        lone = lone and not any(map(self._is_name, self._graph.filters_of(measure.var)))
        if edge is None or not lone or edge.negated or kinds in self._asked.chained:
            raise _RefusedError("what is counted is more than one step away, or is narrowed by something else")
        start = self._nodes(var, without=measure.var)
        if start is None:
            return None
        return self._calls.result(
            "degree",
            start=start,
            **self._way(edge, "out" if edge.source == var else "in"),
            neighbour_type=self._graph.vars[measure.var],
            neighbour_filters=self._filters(measure.var),
            **bounds,
        )

    # Answers

    def _reply(self, text: str, result: Result | None) -> Answer:
        return Answer(text=text, of=(result.handle,) if result else (), notes=tuple(dict.fromkeys(self._calls.notes)))

    def _none(self) -> str:
        return f"There is none: {self._calls.emptied}." if self._calls.emptied else "There is none."

    async def _told(self, result: Result | None, *, shown: str = "", pairs: bool = False, cell: bool = False) -> Answer:
        if result is None:
            return self._reply(self._none(), None)
        rows = await self._results.rows(result.handle, limit=_SHOWN * 3 if pairs else _SHOWN)
        columns = [each.name for each in result.columns]
        if cell:
            return self._reply(f"{columns[-1].replace('_', ' ')}: {_said(rows[0][-1])}.", result)
        kind = next((each.node_type for each in result.columns if each.type == "node"), "")
        texts = [each.name for each in result.columns if each.type == "string"]
        names = (*self._asked.naming.get(kind, ())[:1], "name", *texts)
        name = next((columns.index(each) for each in names if each in columns), 0)
        value = columns.index(shown) if shown in columns else len(columns) - 1
        told = [f"{_said(row[name])}: {_said(row[value])}" if pairs or shown else _said(row[name]) for row in rows]
        rest = "." if result.size <= len(rows) else f"; the others stand in {result.handle}."
        count = f"{result.size:,} found: " if result.size > 1 and not pairs else ""
        return self._reply(count + "; ".join(dict.fromkeys(told)) + rest, result)


def _bounds(op: str, number: int) -> dict[str, int]:
    least = {">": number + 1, ">=": number, "=": number}.get(op)
    most = {"<": max(0, number - 1), "<=": number, "=": number}.get(op)
    return {name: bound for name, bound in (("at_least", least), ("at_most", most)) if bound is not None}


def _said(value: Cell) -> str:
    """A number as the result has it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return f"{int(value)}"
    return str(value)


# The domain of a graph


@dataclass(slots=True)
class _AskedDomain:
    """The domain, and what its words are in the graph."""

    domain: Domain = field(init=False)
    # (type, property, word) → the values that the word means
    values: dict[tuple[str, str, str], tuple[Any, ...]] = field(default_factory=dict)
    # type → the properties that its nodes are called by, what people say first
    naming: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # type or edge → the properties that say when, by their role
    times: dict[str, Mapping[Role, PropertyKey]] = field(default_factory=dict)
    # (edge, source, target): it also leads there by way of other nodes, as a city lies in a county that lies in a state
    chained: set[tuple[str, str, str]] = field(default_factory=set)


def _asked_domain(schema: GraphSchema, catalog: SemanticCatalog) -> _AskedDomain:
    asked, edges = _AskedDomain(), list[EdgeType]()
    entities = {node.name: _entity(f"n{at}_", node, catalog, asked) for at, node in enumerate(schema.nodes)}
    timed = {name for name in entities if asked.times[name]}
    for relationship in schema.relationships:
        name = relationship.name
        asked.times[name] = _times(relationship, catalog)
        phrases = tuple(dict.fromkeys(_phrases(name, catalog.relationships.get(name))))
        pairs = {(each.source, each.target): None for each in relationship.ends}
        for source, target in pairs:
            edges.append(_edge(name, source, target, phrases))
            if source != target and any((end, target) in pairs for begin, end in pairs if begin == source):
                asked.chained.add((name, source, target))
            timed |= {source, target} if asked.times[name] else set()
    if timed:
        value = FieldType(operators=("=", "<", ">"), kind="date")
        entities[_TIME] = EntityType(variable="when", kind="date", fields={"value": value})
        edges[:0] = [_edge(_OWN_TIME, name, _TIME, ()) for name in entities if name in timed]
    about = catalog.about or "a property graph"
    asked.domain = Domain.model_construct(
        name="graph", extended=True, description=about, types=entities, edges=tuple(edges)
    )
    return asked


def _entity(variable: str, node: NodeType, catalog: SemanticCatalog, asked: _AskedDomain) -> EntityType:
    name, described = node.name, catalog.nodes.get(node.name, NodeDescriptor())
    roles = roles_of_owner(node, catalog)
    asked.naming[name] = tuple(sorted(naming_properties(node, catalog), key=lambda each: roles.get(each) != "name"))
    asked.times[name] = _times(node, catalog)
    fields = {}
    for key in node.properties:
        said = described.properties.get(key.name, PropertyDescriptor())
        meanings = (
            *((value, (value,)) for value in dict.fromkeys(said.values.values())),
            *((word, (value,)) for word, value in said.values.items()),
            *((word, tuple(group)) for word, group in said.groups.items()),
        )
        for word, meant in ((each.casefold(), meant) for each, meant in meanings):
            asked.values.setdefault((name, key.name, word), meant)
            asked.values.setdefault((name, key.name, verb_lemma(word)), meant)
        own = () if roles.get(key.name) == "key" else (" ".join(words(key.name)),)
        is_name = key.name in asked.naming[name][:1]
        kind, operators = _FIELDS.get(key.type, _TEXT)
        if kind == "boolean":  # "is_active" is said as "active"
            word = " ".join(each for each in words(key.name) if each not in _AUXILIARIES)
            asked.values.setdefault((name, key.name, word), (True,))
        fields[key.name] = FieldType(
            operators=operators,
            kind=kind,
            words=tuple(dict.fromkeys([*own, *said.words, *(_NAMED if is_name else ())])),
            values=tuple(word for kind, of, word in asked.values if (kind, of) == (name, key.name)),
            description=said.unit,
        )
    spoken = dict.fromkeys([" ".join(words(node.name)), *described.words])
    return EntityType.model_construct(variable=variable, words=tuple(filter(None, spoken)), fields=fields)


def _times(owner: Any, catalog: SemanticCatalog) -> dict[Role, PropertyKey]:
    roles = roles_of_owner(owner, catalog)
    return {roles[key.name]: key for key in owner.properties if roles.get(key.name) in TIME_ROLES}


def _edge(name: str, source: str, target: str, phrases: tuple[str, ...]) -> EdgeType:
    return EdgeType.model_construct(
        name=name, source=source, targets=(target,), words=phrases, description="", forward={}, backward={}
    )


def _phrases(name: str, described: RelationshipDescriptor | None) -> Iterator[str]:
    """A relationship's phrases with their ends, verbs in the infinitive: "offered by" → ``{target} offer {source}``."""
    known = described or RelationshipDescriptor()
    for phrases, own, other in (
        ((" ".join(words(name)), *known.forward), "{source}", "{target}"),
        (known.backward, "{target}", "{source}"),
    ):
        for phrase in phrases:
            parts = phrase.casefold().split()
            while len(parts) > 1 and parts[0] in _AUXILIARIES:
                parts = parts[1:]
            if not parts:
                continue
            if parts[-1] == "of" and len(parts) > 1 and verb_lemma(parts[0]) == parts[0]:
                yield f"{' '.join(parts)} {other}"  # "input of"
            elif parts[-1] == "by" and len(parts) > 1:
                yield " ".join([other, verb_lemma(parts[0]), *parts[1:-1], own])
            elif parts[0] in ("has", "have"):
                yield f"{own} have {other}"
                yield f"{' '.join(parts[1:])} of {own}" if parts[1:] else f"{other} of {own}"
            else:
                yield " ".join([own, verb_lemma(parts[0]), *parts[1:], other])
