"""Aggregations: counts, sums, means and extremes of a property, and the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planners.graphseek.dialects.cypher_text import CypherText
from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.property_filter import Owner, property_of
from planners.graphseek.operators.table_arguments import object_schema
from planners.graphseek.results.result import ColumnType, ResultColumn
from planners.stores.graph_schema import PropertyKey

__all__ = ["COUNT", "Aggregation", "aggregation_schema", "aggregation_text", "column_type", "parse_aggregations"]

_GROUPING_TYPES = ("COUNT", "COUNT_DISTINCT", "SUM", "AVG", "MIN", "MAX")
_CALCULATED = ("SUM", "AVG")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """One aggregation; without ``key`` it counts nodes."""

    kind: str
    key: PropertyKey | None = None

    @property
    def column(self) -> ResultColumn:
        """Its column: ``count``, ``count_distinct_name``, ``sum_price``."""
        name = self.kind.lower() + (f"_{self.key.name}" if self.key else "")
        if self.kind in ("COUNT", "COUNT_DISTINCT") or self.key is None:
            return ResultColumn(name=name, type="integer")
        return ResultColumn(name=name, type="number" if self.kind == "AVG" else column_type(self.key))


COUNT = Aggregation(kind="COUNT")


def aggregation_schema(name: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of one aggregation, of a property or of a column of a table.

    :param name: the schema of its name.
    """
    kinds = {"type": "string", "enum": list(_GROUPING_TYPES)}
    return object_schema(["grouping_type"], grouping_type=kinds, property=name)


def parse_aggregations(
    raw: Sequence[Mapping[str, Any]], owners: Sequence[Owner], instead: str = ""
) -> tuple[Aggregation, ...]:
    """Return aggregations of properties of types.

    :param instead: the property that all of them take but those of ``*``, where one is given.
    :raises OperatorFault: for an unknown property, or one that is not of numbers where a sum or a mean is asked for.
    """
    found = [_parsed(each, owners, instead) for each in raw]
    return tuple(dict.fromkeys(found))


def aggregation_text(text: CypherText, variable: str, each: Aggregation) -> str:
    """Return the expression of an aggregation over the nodes or relationships of a variable."""
    if each.key is None:
        distinct = each.kind == "COUNT_DISTINCT"
        return f"count(DISTINCT {text.dialect.identity(variable)})" if distinct else "count(*)"
    value = text.property(variable, each.key.name)
    if each.kind == "COUNT_DISTINCT":
        return f"count(DISTINCT {value})"
    return text.dialect.total(value) if each.kind == "SUM" else f"{each.kind.lower()}({value})"


def column_type(key: PropertyKey) -> ColumnType:
    """Return the type of a column that has a property: dates and lists stand as text."""
    if key.type in ("integer", "number", "boolean"):
        return key.type
    return "string"


def _parsed(raw: Mapping[str, Any], owners: Sequence[Owner], instead: str) -> Aggregation:
    kind, name = raw["grouping_type"], raw.get("property", "*")
    if kind not in _GROUPING_TYPES:
        raise OperatorFault("arguments", f"{kind!r} is no aggregation", f"Use one of {', '.join(_GROUPING_TYPES)}")
    if name == "*" and kind in ("COUNT", "COUNT_DISTINCT"):
        return Aggregation(kind=kind)
    key = property_of(owners, instead or str(name))
    numeric = key.type in ("integer", "number")
    if (kind in _CALCULATED and not numeric) or (kind in ("MIN", "MAX") and key.type in ("list", "boolean")):
        hint = "Take COUNT, or a property of numbers"
        raise OperatorFault("arguments", f"{kind} does not go with {key.name}, which is of type {key.type}", hint)
    return Aggregation(kind=kind, key=key)
