"""Filters that are checked on what an entity carries, where a tool has no input for them."""

from __future__ import annotations

from planners.dfs.resolver import Entity
from planners.query.field_comparison import compare
from planners.query.query_graph import FilterConstraint

__all__ = ["carried", "meets"]


def carried(entity: Entity, each: FilterConstraint) -> bool:
    """Whether an entity has a value in the field of a filter; ``id`` is its identifier."""
    return each.field == "id" or entity.fields.get(each.field) is not None


def meets(entity: Entity, each: FilterConstraint) -> bool:
    """Whether an entity meets a filter by a field that it carries; of a list, whether one of its values does."""
    value = entity.id if each.field == "id" and "id" not in entity.fields else entity.fields[each.field]
    return any(compare(one, each.op, each.value) for one in (value if isinstance(value, list) else [value]))
