"""Filters on properties: checked against the types that the schema has, and written as conditions; values are parameters."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.table_arguments import nearest_hint, object_schema
from planners.stores.graph_schema import NodeType, PropertyKey, RelationshipType
from planners.stores.property_graph import Scalar

__all__ = ["Filter", "Owner", "filter_conditions", "filter_schema", "parse_filters", "property_of"]

Owner: TypeAlias = NodeType | RelationshipType
_COMPARED = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TEXTS = {"contains": "CONTAINS", "starts_with": "STARTS WITH", "ends_with": "ENDS WITH"}
_NULLS = {"is_null": "IS NULL", "is_not_null": "IS NOT NULL"}
_OPERATORS = (*_COMPARED, *_TEXTS, "in", *_NULLS)
_VALUE_TYPES = {
    "string": ("string", "date"),
    "integer": ("number",),
    "number": ("number",),
    "boolean": ("boolean",),
    "date": ("date", "string"),
    "list": ("string", "number", "boolean"),
}
_SCALAR = {"type": ["string", "number", "boolean"]}
_ORDERED = ("string", "integer", "number", "date")
_MOST_VALUES = 1_000
"""Of ``in``: engines compare each with each node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """One condition on a property; ``values`` has one for most operators, none for those about null."""

    key: PropertyKey
    operator: str
    values: tuple[Scalar, ...] = ()

    @property
    def shown(self) -> str:
        """Return the words for it in the title of a result."""
        values = ", ".join(str(each) for each in self.values)
        return f"{self.key.name} {self.operator} {values}".strip()[:80]


def filter_schema(key: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of one filter, on a property or on a column of a table.

    :param key: the schema of its name.
    """
    return object_schema(
        ["key", "operator"],
        key=key,
        operator={"type": "string", "enum": list(_OPERATORS)},
        value={"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]},
        value_type={"type": "string", "enum": ["string", "number", "boolean", "date"]},
    )


def property_of(owners: Sequence[Owner], name: str) -> PropertyKey:
    """Return a property that one of the types has.

    :raises OperatorFault: when none has it, or they have it with different types of values.
    """
    found = {each.type: each for owner in owners for each in owner.properties if each.name == name}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        said = "different types have it with different types of values"
        raise OperatorFault("arguments", f"{name} is ambiguous: {said}", "Name the type of the nodes")
    known = list(dict.fromkeys(each.name for owner in owners for each in owner.properties))
    of = ", ".join(owner.name for owner in owners[:3])
    raise OperatorFault("unknown name", f"{of} has no property {name[:60]}", nearest_hint(name, known))


def parse_filters(raw: Sequence[Mapping[str, Any]], owners: Sequence[Owner]) -> tuple[Filter, ...]:
    """Return filters on properties of types.

    :raises OperatorFault: for an unknown property, or a value or an operator that does not fit its type.
    """
    return tuple(_parsed(each, property_of(owners, str(each["key"]))) for each in raw)


def filter_conditions(text: CypherText, variable: str, filters: Sequence[Filter]) -> list[str]:
    """Return the conditions of filters."""
    return [_condition(text, text.property(variable, each.key.name), each) for each in filters]


def _parsed(raw: Mapping[str, Any], key: PropertyKey) -> Filter:
    operator, said = raw["operator"], raw.get("value_type")
    if operator not in _OPERATORS:
        raise OperatorFault("arguments", f"{operator!r} is no operator", f"Use one of {', '.join(_OPERATORS)}")
    if operator in _NULLS:
        return Filter(key=key, operator=operator)
    if said and said not in _VALUE_TYPES[key.type]:
        hint = f"Use value_type {_VALUE_TYPES[key.type][0]}, or another property"
        raise OperatorFault("arguments", f"{key.name} is of type {key.type}, not {said}", hint)
    _check_operator(key, operator)
    value = raw.get("value")
    values = list(value) if operator == "in" and isinstance(value, list | tuple) else [value]
    if not 0 < len(values) <= _MOST_VALUES:
        raise OperatorFault("arguments", f"in has {len(values):,} values", f"Give 1 to {_MOST_VALUES:,}")
    return Filter(key=key, operator=operator, values=_of_one_type([_value(key, each) for each in values]))


def _check_operator(key: PropertyKey, operator: str) -> None:
    if key.type == "list":
        fits = operator == "contains"
    elif operator in _TEXTS:
        fits = key.type == "string"
    else:
        fits = operator in ("=", "!=", "in") or key.type in _ORDERED
    if not fits:
        hint = "Use contains" if key.type == "list" else "Use = or another property"
        raise OperatorFault("arguments", f"{operator} does not go with {key.name}, which is of type {key.type}", hint)


def _value(key: PropertyKey, value: Any) -> Scalar:
    """Return a value as the property has it; a number or a truth written as a text is read."""
    read: Scalar | None = None
    if key.type in ("integer", "number"):
        read = _number(value)
    elif key.type == "boolean":
        known = {"true": True, "false": False}
        read = value if isinstance(value, bool) else known.get(str(value).lower())
    elif key.type == "date":
        read = value if isinstance(value, str) and _is_date(value) else None
    elif key.type == "list":
        read = value if isinstance(value, str | int | float) else None
    elif isinstance(value, str) and _is_text(value):
        read = value
    if read is None:
        kind = {"date": "a date like 2024-03-31", "integer": "a number"}.get(key.type, f"a {key.type}")
        problem = f"{key.name} is of type {key.type}, and {str(value)[:60]!r} is not"
        raise OperatorFault("arguments", problem, f"Give {kind}, or take another property")
    return read


def _number(value: Any) -> int | float | None:
    if isinstance(value, str):
        try:
            value = float(value) if any(each in value for each in ".eE") else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63
    return value if fits else None


def _is_date(value: str) -> bool:
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return len(value) == len("2024-03-31")


def _is_text(value: str) -> bool:
    """Whether engines take it: it has no half of a surrogate pair and no NUL."""
    return "\0" not in value and not any("\ud800" <= each <= "\udfff" for each in value)


def _of_one_type(values: list[Scalar]) -> tuple[Scalar, ...]:
    """Engines take lists of one type alone: integers beside numbers become numbers."""
    if {type(each) for each in values} == {int, float}:
        return tuple(float(each) for each in values)
    return tuple(values)


def _condition(text: CypherText, name: str, each: Filter) -> str:
    if each.operator in _NULLS:
        return f"{name} {_NULLS[each.operator]}"
    if each.operator == "in" and each.key.type != "date":
        return f"{name} IN {text.parameter(each.values)}"
    parameters = [text.parameter(value) for value in each.values]
    if each.key.type == "list":
        return f"{parameters[0]} IN {name}"
    if each.operator in _TEXTS:
        return f"lower({name}) {_TEXTS[each.operator]} lower({parameters[0]})"
    if each.key.type == "date":
        parameters = [f"date({parameter})" for parameter in parameters]
    if each.operator == "in":
        return f"{name} IN [{', '.join(parameters)}]"
    return f"{name} {_COMPARED[each.operator]} {parameters[0]}"
