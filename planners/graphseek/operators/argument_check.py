"""Whether arguments are inside the JSON schema of an operator; what is not comes back with the nearest name that is.

The schemas are ours: of JSON Schema they use types, enums, constants, members, items, bounds of lists, numbers and texts, and
alternatives. A planner without a model needs no package for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from planners.graphseek.operators.operator import OperatorFault
from planners.graphseek.operators.table_arguments import nearest_hint

__all__ = ["check_arguments"]

_SHOWN = 100  # characters of a value
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


class _Problem(NamedTuple):
    """A part outside the schema; ``depth`` says how far the rest fits: of alternatives the deepest problem is told.

    ``hint`` is made when it is told: the nearest of many names takes longer than all checks together.
    """

    depth: int
    kind: str
    problem: str
    hint: str | Callable[[], str]


def check_arguments(arguments: Any, schema: Mapping[str, Any], *, called: str = "the arguments") -> None:
    """Check the arguments of an invocation.

    :param called: what a fault calls the whole.
    :raises OperatorFault: for the first part that is outside the schema.
    """
    found = _problem(arguments, schema, called, 0)
    if found is not None:
        hint = found.hint if isinstance(found.hint, str) else found.hint()
        raise OperatorFault("unknown name" if found.kind == "name" else "arguments", found.problem, hint)


def _problem(value: Any, schema: Mapping[str, Any], place: str, depth: int) -> _Problem | None:
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _of_alternatives(value, schema[key], place, depth)
    if "const" in schema and value != schema["const"]:
        return _Problem(depth, "value", f"{place} is {_shown(value)}", f"It must be {schema['const']}")
    if "enum" in schema and value not in schema["enum"]:
        known = [each for each in schema["enum"] if isinstance(each, str)]
        problem = f"{place} names {_shown(value)}, which there is not"
        return _Problem(depth, "name", problem, partial(nearest_hint, str(value), known))
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if names and not any(_is_a(value, name) for name in names):
        return _Problem(depth, "value", f"{place} is {_shown(value)}", f"It must be of type {' or '.join(names)}")
    if isinstance(value, Mapping):
        return _of_members(value, schema, place, depth)
    if isinstance(value, list | tuple):
        return _of_items(value, schema, place, depth)
    return _of_bounds(value, schema, place, depth)


def _is_a(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _of_alternatives(value: Any, branches: Sequence[Mapping[str, Any]], place: str, depth: int) -> _Problem | None:
    problems = [_problem(value, branch, place, depth) for branch in branches]
    if not problems or any(each is None for each in problems):
        return None
    return max((each for each in problems if each is not None), key=lambda each: each.depth)


def _of_members(value: Mapping[str, Any], schema: Mapping[str, Any], place: str, depth: int) -> _Problem | None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if schema.get("additionalProperties") is False:
        for name in value:
            if name not in properties:
                fitting = sum(each in properties for each in value)
                hint = partial(nearest_hint, str(name), list(properties))
                return _Problem(depth + fitting, "value", f"{place} cannot have {_shown(name)}", hint)
    for name in schema.get("required", ()):
        if name not in value:
            return _Problem(depth + len(value), "value", f"{place} lacks {name}", f"Give {name}")
    for name, inner in properties.items():
        if name in value:
            where = f"{place}.{name}" if depth else str(name)
            if (found := _problem(value[name], inner, where, depth + len(value) + 1)) is not None:
                return found
    return None


def _of_items(value: Sequence[Any], schema: Mapping[str, Any], place: str, depth: int) -> _Problem | None:
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not least <= len(value) <= most:
        hint = f"Give {least} to {most}" if "maxItems" in schema else f"Give {least} or more"
        return _Problem(depth, "value", f"{place} has {len(value)} members", hint)
    for number, item in enumerate(value):
        if (found := _problem(item, schema.get("items", {}), f"{place}[{number}]", depth + 1)) is not None:
            return found
    return None


def _of_bounds(value: Any, schema: Mapping[str, Any], place: str, depth: int) -> _Problem | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        for key, is_outside, said in (("minimum", operator.lt, "at least"), ("maximum", operator.gt, "at most")):
            if key in schema and is_outside(value, schema[key]):
                return _Problem(depth, "value", f"{place} is {_shown(value)}", f"It must be {said} {schema[key]}")
    if isinstance(value, str) and not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        hint = f"It must have {schema.get('minLength', 0)} to {schema.get('maxLength', 'any number of')} characters"
        return _Problem(depth, "value", f"{place} has {len(value)} characters", hint)
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
