"""Filters that need no call, because the entities carry the fields that they name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import date
from typing import TypeAlias

from planners.dfs.execution.day_intervals import interval_id, read_interval
from planners.dfs.resolver import Entity
from planners.query.domain import FieldType
from planners.query.field_comparison import compare
from planners.query.query_graph import FilterConstraint

__all__ = ["ResolveDate", "carry_all", "meets"]

ResolveDate: TypeAlias = Callable[[FilterConstraint], tuple[date | None, date | None]]
"""Turns a filter by a date expression into a half-open range; None is an open end."""


def carry_all(entities: Collection[Entity], filters: Collection[FilterConstraint]) -> bool:
    """Whether each entity has a value in each field that the filters name."""
    names = {each.field for each in filters}
    return all(entity.fields.get(name) is not None for entity in entities for name in names)


def meets(entity: Entity, each: FilterConstraint, fields: Mapping[str, FieldType], resolve_date: ResolveDate) -> bool:
    """Whether an entity meets a filter by what it carries; of a list, whether one of its values does.

    Text is compared without regard to case and to blanks at its ends. A field of kind ``date`` meets a filter whose range it lies in.

    :raises EgotoolsError: when a date expression cannot be read.
    """
    value = entity.fields[each.field]
    values = value if isinstance(value, list | tuple) else [value]
    if fields[each.field].kind == "date":
        wanted = interval_id([resolve_date(each)])
        outer = read_interval(wanted) if wanted else None
        inner = (read_interval(str(one)) for one in values)
        return outer is not None and any(one is not None and outer.holds(one) for one in inner)
    return any(compare(one, each.op, each.value) for one in values)
