"""``allOf`` of JSON Schema as one schema without it, for runtimes that do not know it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Merged", "merged_all_of"]

_MAX_PARTS = 100


class Merged(NamedTuple):
    """The merged schema; with the problem where the parts cannot be merged."""

    schema: Mapping[str, Any]
    problem: str = ""


def merged_all_of(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Merged:
    """Merge the parts of ``allOf`` and the keywords beside it: fields and required names are united.

    :param definitions: the schemas that references name.
    """
    merged: dict[str, Any] = {}
    parts: list[Any] = [schema]
    for number, part in enumerate(parts):
        if number > _MAX_PARTS:
            return Merged(schema, "parts of allOf that refer to themselves")
        if not isinstance(part, Mapping):
            continue
        own = {key: value for key, value in part.items() if key != "allOf"}
        ref = own.get("$ref")
        if isinstance(ref, str) and (len(part) > 1 or number):
            own.pop("$ref")
            parts.append(definitions.get(ref.removeprefix("#/$defs/")))
        parts.extend(part.get("allOf") or ())
        if problem := _add(merged, own):
            return Merged(schema, problem)
    return Merged(merged)


def _add(merged: dict[str, Any], part: Mapping[str, Any]) -> str:
    """Add the keywords of a part; return the problem, or empty."""
    for key, value in part.items():
        known = merged.get(key)
        if known is None or key in ("description", "title", "default", "examples"):
            merged.setdefault(key, value)
        elif key == "properties" and isinstance(value, Mapping):
            both = [name for name in value if name in known and value[name] != known[name]]
            if both:
                return f"the parts of allOf state the field {both[0]!r} in two ways"
            merged[key] = {**known, **value}
        elif key == "required" and isinstance(value, list):
            merged[key] = list(dict.fromkeys([*known, *value]))
        elif known != value:
            return f"the parts of allOf state {key} in two ways"
    return ""
