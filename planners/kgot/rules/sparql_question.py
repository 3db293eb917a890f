"""A resolved question as a query in SPARQL over the graph's triples."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planners.graphs.property_graph import Scalar
from planners.graphs.rdf.rdf_terms import iri_of_name, literal_of_value, term_text
from planners.kgot.asked import Measure
from planners.kgot.rules.resolved_question import (
    CallCondition,
    CallJoin,
    Condition,
    PropertyCondition,
    ReferenceJoin,
    ResolvedQuestion,
)
from planners.kgot.rules.shape_names import CALL, GAVE

__all__ = ["sparql_of"]

_AGGREGATES: dict[Measure, str] = {"sum": "SUM", "mean": "AVG", "least": "MIN", "most": "MAX"}
_SIMPLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def sparql_of(question: ResolvedQuestion) -> str:
    """Return the query; its columns are those that the query in Cypher has."""
    thing = f"?{question.variable}"
    if question.groups:
        names = ("part", "whole") if question.combination == "share" else ("first", "second")
        parts = [
            f"{{ {_measured(question, group, name)} }}" for name, group in zip(names, question.groups, strict=True)
        ]
        return f"SELECT {' '.join(f'?{name}' for name in names)} WHERE {{ {' '.join(parts)} }}"
    if question.measure != "find":
        return _measured(question, (), "answer")
    order = question.order
    if order is None:
        return f"SELECT ?answer WHERE {{ {_things(question, (), thing)} {_said(question)} }} ORDER BY ?answer"
    placed = f"?{order.variable} {_name(order.property)} ?place ."
    owner = "" if order.variable == question.variable else f" ?{order.variable}"
    if order.nth == 1:  # several may share the greatest or the least value
        function = "MAX" if order.descending else "MIN"
        inner = f"{{ {_things(question, (), thing + owner)} {placed} }}".replace("?place", "?each")
        foremost = f"{{ SELECT ({function}(?each) AS ?foremost) WHERE {inner} }}"
        return (
            f"SELECT DISTINCT ?answer ?place WHERE {{ {foremost} {_things(question, (), thing + owner)} {placed} "
            f"FILTER(?place = ?foremost) {_said(question)} }} ORDER BY ?answer"
        )
    way = "DESC" if order.descending else "ASC"
    return (
        f"SELECT DISTINCT ?answer ?place WHERE {{ {_things(question, (), thing + owner)} {placed} {_said(question)} }} "
        f"ORDER BY {way}(?place) ?answer OFFSET {order.nth - 1} LIMIT 1"
    )


def _measured(question: ResolvedQuestion, group: Sequence[Condition], name: str) -> str:
    thing = f"?{question.variable}"
    if question.measure == "count":
        return f"SELECT (COUNT(DISTINCT {thing}) AS ?{name}) WHERE {{ {_pattern(question, group)} }}"
    function = _AGGREGATES[question.measure]
    value = f"{thing} {_name(question.property)} ?value ."
    return f"SELECT ({function}(?value) AS ?{name}) WHERE {{ {_things(question, group, thing)} {value} }}"


def _things(question: ResolvedQuestion, group: Sequence[Condition], names: str) -> str:
    return f"{{ SELECT DISTINCT {names} WHERE {{ {_pattern(question, group)} }} }}"


def _pattern(question: ResolvedQuestion, group: Sequence[Condition]) -> str:
    parts = [f"?{name} a {_name(label)} ." for name, label in question.labels.items()]
    parts += [_condition(each, number) for number, each in enumerate((*question.conditions, *group), start=1)]
    return " ".join(parts)


def _condition(condition: Condition, number: int) -> str:
    call, value = f"?call{number}", f"?value{number}"
    match condition:
        case PropertyCondition():
            triple = f"?{condition.variable} {_name(condition.property)} {value} ."
            return f"{triple} FILTER({_compared(value, condition)})"
        case ReferenceJoin():
            return f"?{condition.source} {_name(condition.type)} ?{condition.target} ."
        case CallCondition():
            if not condition.argument:
                return _gave(call, condition.tool, condition.variable)
            triple = f"{call} {_name(condition.argument)} {value} . FILTER({_equal(value, condition.value)})"
            return f"{_gave(call, condition.tool, condition.variable)} {triple}"
        case CallJoin():
            known = f"?{condition.known} {_name(condition.identifier)} {value} ."
            given = f"{call} {_name(condition.argument)} {value}argument ."
            same = f"FILTER(STR({value}) = STR({value}argument))"
            return f"{_gave(call, condition.tool, condition.given)} {known} {given} {same}"


def _gave(call: str, tool: str, variable: str) -> str:
    return f"{call} a {_name(CALL)} ; {_name('tool')} {_literal(tool)} ; {_name(GAVE)} ?{variable} ."


def _compared(value: str, condition: PropertyCondition) -> str:
    if condition.operator == "=":
        return _equal(value, condition.value)
    if condition.operator == "contains":
        return f"CONTAINS(LCASE(STR({value})), {_literal(str(condition.value).lower())})"
    return f"{value} {condition.operator} {_literal(condition.value)}"


def _equal(value: str, wanted: Scalar) -> str:
    if isinstance(wanted, str):
        return f"LCASE(STR({value})) = {_literal(wanted.lower())}"
    return f"{value} = {_literal(wanted)}"


def _said(question: ResolvedQuestion) -> str:
    """Return the patterns that bind what answers: a property, or the first name that a thing has."""
    thing = f"?{question.variable}"
    if question.property:
        return f"{thing} {_name(question.property)} ?answer ."
    parts, names = [], []
    for number, properties in enumerate(question.names, start=1):
        held = [f"?name{number}part{place}" for place in range(len(properties))]
        triples = " ".join(f"{thing} {_name(each)} {name} ." for each, name in zip(properties, held, strict=True))
        parts.append(f"OPTIONAL {{ {triples} }}")
        joined = ", ' ', ".join(f"STR({name})" for name in held)
        names.append(f"CONCAT({joined})" if len(held) > 1 else held[0])
    return f"{' '.join(parts)} BIND(COALESCE({', '.join(names)}) AS ?answer) FILTER(BOUND(?answer))"


def _name(text: str) -> str:
    return f":{text}" if _SIMPLE.fullmatch(text) else f"<{iri_of_name(text).value}>"


def _literal(value: Scalar) -> str:
    return term_text(literal_of_value(value))
