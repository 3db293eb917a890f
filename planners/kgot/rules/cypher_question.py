"""A resolved question as a query in Cypher, of the parts that Ladybug and Neo4j both have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from planners.graphs.cypher_names import quoted_name
from planners.graphs.property_graph import Scalar
from planners.kgot.asked import Measure
from planners.kgot.rules.resolved_question import (
    AnswerOrder,
    CallCondition,
    CallJoin,
    Condition,
    PropertyCondition,
    ReferenceJoin,
    ResolvedQuestion,
)
from planners.kgot.rules.shape_names import CALL, GAVE

__all__ = ["cypher_of"]

_BLANK = " + ' ' + "
_AGGREGATES: dict[Measure, str] = {"sum": "sum", "mean": "avg", "least": "min", "most": "max"}


def cypher_of(question: ResolvedQuestion) -> str:
    """Return the query; its columns are ``answer``, or ``part`` and ``whole`` of two groups."""
    patterns = [f"({quoted_name(name)}:{quoted_name(label)})" for name, label in question.labels.items()]
    wheres: list[str] = []
    for number, condition in enumerate(question.conditions, start=1):
        pattern, where = _condition(condition, f"call{number}")
        patterns += pattern
        wheres += where
    matched = f"MATCH {', '.join(patterns)}" + (f" WHERE {' AND '.join(wheres)}" if wheres else "")
    order = question.order
    if order is not None and order.nth == 1 and question.measure == "find" and not question.groups:
        return _foremost(question, order, matched, "AND" if wheres else "WHERE")
    return f"{matched} {_returned(question)}"


def _foremost(question: ResolvedQuestion, order: AnswerOrder, matched: str, joined: str) -> str:
    """Return the query of all things that have the greatest or the least value: several may share it."""
    by, function = _field(order.variable, order.property), "max" if order.descending else "min"
    first = f"{matched} WITH {function}({by}) AS foremost"
    distinct = f"WITH DISTINCT {quoted_name(question.variable)}, {by} AS place, {_said(question)} AS answer"
    return f"{first} {matched} {joined} {by} = foremost {distinct} RETURN answer, place ORDER BY answer"


def _condition(condition: Condition, call: str) -> tuple[list[str], list[str]]:
    """Return the patterns and the tests of a condition."""
    match condition:
        case PropertyCondition():
            return [], [_compared(condition)]
        case ReferenceJoin():
            return [
                f"({quoted_name(condition.source)})-[:{quoted_name(condition.type)}]->({quoted_name(condition.target)})"
            ], []
        case CallCondition():
            argument = condition.argument
            tests = [_equal(f"{call}.{quoted_name(argument)}", condition.value)] if argument else []
            return [_gave(call, condition.variable)], [_equal(f"{call}.tool", condition.tool, exact=True), *tests]
        case CallJoin():
            same = f"{call}.{quoted_name(condition.argument)} = {_field(condition.known, condition.identifier)}"
            return [_gave(call, condition.given)], [_equal(f"{call}.tool", condition.tool, exact=True), same]


def _gave(call: str, variable: str) -> str:
    return f"({call}:{CALL})-[:{GAVE}]->({quoted_name(variable)})"


def _compared(condition: PropertyCondition) -> str:
    field = _field(condition.variable, condition.property)
    if condition.operator == "=":
        return _equal(field, condition.value)
    if condition.operator == "contains":
        return f"lower({field}) CONTAINS {_literal(str(condition.value).casefold())}"
    return f"{field} {condition.operator} {_literal(condition.value)}"


def _equal(field: str, value: Scalar, *, exact: bool = False) -> str:
    if isinstance(value, str) and not exact and value.casefold() != value.upper():  # digits have no case
        return f"lower({field}) = {_literal(value.lower())}"
    return f"{field} = {_literal(value)}"


def _returned(question: ResolvedQuestion) -> str:
    variable = quoted_name(question.variable)
    if question.groups:
        names = ("part", "whole") if question.combination == "share" else ("first", "second")
        parts = [f"{_of_group(question, group)} AS {name}" for name, group in zip(names, question.groups, strict=True)]
        return f"WITH DISTINCT {variable} RETURN {', '.join(parts)}"
    if question.measure == "count":
        return f"RETURN count(DISTINCT {variable}) AS answer"
    if question.measure in _AGGREGATES:
        field = _field(question.variable, question.property)
        return f"WITH DISTINCT {variable} RETURN {_AGGREGATES[question.measure]}({field}) AS answer"
    said = _said(question)
    order = question.order
    if order is None:
        return f"WITH DISTINCT {variable} RETURN {said} AS answer ORDER BY answer"
    by, way = _field(order.variable, order.property), " DESC" if order.descending else ""
    skip = f" SKIP {order.nth - 1}" if order.nth > 1 else ""
    known = f"{by} IS NOT NULL"
    return f"WITH DISTINCT {variable}, {by} AS place, {said} AS answer WHERE {known.replace(by, 'place')} RETURN answer, place ORDER BY place{way}, answer{skip} LIMIT 1"


def _of_group(question: ResolvedQuestion, group: Sequence[Condition]) -> str:
    test = " AND ".join(_tests(group))
    field = _field(question.variable, question.property) if question.property else "1"
    if question.measure == "count":
        return f"sum(CASE WHEN {test} THEN 1 ELSE 0 END)" if test else f"count({quoted_name(question.variable)})"
    function = _AGGREGATES[question.measure]
    return f"{function}(CASE WHEN {test} THEN {field} END)" if test else f"{function}({field})"


def _tests(group: Sequence[Condition]) -> Iterator[str]:
    for condition in group:
        yield from _condition(condition, "call0")[1]


def _said(question: ResolvedQuestion) -> str:
    """Return the expression of what answers: a property, or the first name that a thing has."""
    variable = question.variable
    if question.property:
        return _field(variable, question.property)
    made = [_joined([_field(variable, each) for each in parts]) for parts in question.names]
    return f"coalesce({', '.join(made)})" if len(made) > 1 else made[0]


def _joined(fields: Sequence[str]) -> str:
    """Return fields side by side, where all of them have a value: engines differ on a text and nothing."""
    if len(fields) == 1:
        return fields[0]
    held = " AND ".join(f"{field} IS NOT NULL" for field in fields)
    return f"CASE WHEN {held} THEN {_BLANK.join(fields)} END"


def _field(variable: str, name: str) -> str:
    return f"{quoted_name(variable)}.{quoted_name(name)}"


def _literal(value: Scalar) -> str:
    """Return a value; a text in double quotes, with the escapes that JSON and Cypher share."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\\/", "/")
    return json.dumps(value)
