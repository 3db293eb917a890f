"""The differences between two JSON values, each with its place: what changed in a tool, and in a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Change", "json_changes"]


class Change(NamedTuple):
    """One difference.

    :param field: its place, ``inputs.order_id.type``.
    :param before: the JSON value before; None where there was none.
    :param after: the JSON value now; None where there is none.
    """

    field: str
    before: Any
    after: Any


def json_changes(before: Any, after: Any, field: str = "") -> Iterator[Change]:
    """Yield the innermost differences of two JSON values, in the order of the second.

    Objects are compared by key; lists of objects with names by these, and their order too; all else as a whole.

    :param field: the place of the two values.
    """
    old, new = _by_name(before), _by_name(after)
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        if old != new:
            yield Change(field, before, after)
        return
    prefix = f"{field}." if field else ""
    for key in [*new, *(key for key in old if key not in new)]:
        if key not in old:
            yield Change(f"{prefix}{key}", None, new[key])
        elif key not in new:
            yield Change(f"{prefix}{key}", old[key], None)
        else:
            yield from json_changes(old[key], new[key], f"{prefix}{key}")
    if isinstance(before, list) and old.keys() == new.keys() and [*old] != [*new]:
        yield Change(f"{field} order", [*old], [*new])


def _by_name(value: Any) -> Any:
    """Return a list of objects with different names as an object; any other value as it is."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) and "name" in item for item in value):
        return value
    named = {str(item["name"]): {key: inner for key, inner in item.items() if key != "name"} for item in value}
    return named if len(named) == len(value) else value
