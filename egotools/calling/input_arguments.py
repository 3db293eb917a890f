"""The arguments that a model gives, under the names of the source, each with its place in the call."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from egotools.call import Argument, Call
from egotools.calling.legal_keys import source_names
from egotools.calling.schema_kinds import items_of, kind_of, kinds, properties_of
from egotools.calling.value_check import ValueCheck
from egotools.client_errors import ToolRequestError

__all__ = ["ANY_NAME", "PlacedArgument", "place_arguments"]

ANY_NAME = "*"
"""The name of an :class:`~egotools.call.Argument` that stands for any further names."""
_SHOWN = 20
_LONGEST = 100  # characters of names that are compared
_MAX_DEPTH = 100
_AS_TEXT = frozenset({"path", "query", "header", "form", "filter"})
_CLOSED = frozenset({"http", "odata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedArgument:
    """One value, and where the call carries it.

    :param schema: the JSON Schema of the value; None where it is not known.
    """

    argument: Argument
    value: Any
    schema: Any = None

    @property
    def wire_name(self) -> str:
        """Its name in the request."""
        return self.argument.wire_name or self.argument.name


def place_arguments(
    call: Call, arguments: Mapping[str, Any], schema: Mapping[str, Any], *, null_is_absent: bool = False
) -> tuple[PlacedArgument, ...]:
    """Find the place of every argument, in the order of the call; absent ones are left out.

    :param schema: the JSON Schema of the arguments; empty where it is not known.
    :param null_is_absent: whether ``null`` always means that an argument is absent, as under schemas that require every property.
    :raises ToolRequestError: for an unknown argument, a missing one, and a value that its schema does not allow, also inside
        of objects and lists.
    """
    if not isinstance(arguments, Mapping):
        raise ToolRequestError(
            f"the arguments are {_article(kind_of(arguments))}, not an object",
            subject="arguments",
            remedy="Give a mapping of names to values.",
        )
    names, schemas = _names_and_schemas(call, schema)
    given = _given(arguments, names, schemas, schema, null_is_absent)
    places = {each.name: each for each in call.arguments}
    further = places.pop(ANY_NAME, None)
    if further is None and (places or call.protocol in _CLOSED):
        unknown = set(given) - set(places)
        if unknown:
            raise _unknown(min(unknown), list(places))
    _check_required(call, given, () if null_is_absent else _required(schema, names))
    placed = [
        PlacedArgument(argument=place, value=given[name], schema=schemas.get(name))
        for name, place in places.items()
        if name in given
    ]
    further = further or Argument(name=ANY_NAME)
    placed += [
        PlacedArgument(argument=replace(further, name=name), value=value)
        for name, value in given.items()
        if name not in places
    ]
    check = ValueCheck(root=schema, any_python=call.protocol in ("aws", "python"), all_optional=null_is_absent)
    for each in placed:
        _check_value(each, replace(check, as_text=each.argument.location in _AS_TEXT))
    return tuple(placed)


def _names_and_schemas(call: Call, schema: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the map from every key of an argument to its name in the source, and the schema of each name."""
    properties = properties_of(schema, schema)
    known = set(source_names(properties).values())
    names = source_names({**properties, **{each.name: {} for each in call.arguments if each.name not in known}})
    return names, {names[key]: inner for key, inner in properties.items()}


def _given(
    arguments: Mapping[str, Any],
    names: Mapping[str, str],
    schemas: Mapping[str, Any],
    root: Mapping[str, Any],
    null_is_absent: bool,
) -> dict[str, Any]:
    """Return the arguments by their names in the source, without those that are absent."""
    given: dict[str, Any] = {}
    for key, value in arguments.items():
        name = names.get(str(key), str(key))
        if name in given:
            problem = "it is given twice, also under the name that model runtimes accept"
            raise ToolRequestError(problem, subject=name, remedy="Give it once.")
        if value is None and (null_is_absent or not _takes_null(schemas.get(name), root)):
            continue
        given[name] = _restored(value, schemas.get(name), root, null_is_absent, 0)
    return given


def _takes_null(schema: Any, root: Any) -> bool:
    if schema is None:
        return False
    allowed = kinds(schema, root)
    return allowed is None or "null" in allowed


def _restored(value: Any, schema: Any, root: Any, null_is_absent: bool, depth: int) -> Any:
    """Return the value with the property names of the source, and without nulls that mean that a property is absent."""
    if depth > _MAX_DEPTH:
        raise ToolRequestError(
            f"a value is nested more than {_MAX_DEPTH} levels deep", subject="arguments", remedy="Nest it less deep."
        )
    if isinstance(value, Mapping):
        properties = properties_of(schema, root)
        names = source_names(properties)
        by_name = {names[key]: inner for key, inner in properties.items()}
        found = {}
        for key, inner in value.items():
            name = names.get(str(key), str(key))
            known = by_name.get(name)
            if inner is None and known is not None and (null_is_absent or not _takes_null(known, root)):
                continue
            found[name] = _restored(inner, known, root, null_is_absent, depth + 1)
        return found
    if kind_of(value) == "array":
        items = items_of(schema, root)
        return [_restored(inner, items, root, null_is_absent, depth + 1) for inner in value]
    return value


def _unknown(name: str, known: list[str]) -> ToolRequestError:
    close = difflib.get_close_matches(name[:_LONGEST], [each for each in known if len(each) <= _LONGEST], n=3)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    listed = ", ".join(sorted(known)[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
    return ToolRequestError(
        "the tool takes no such argument", subject=name[:200], remedy=f"{hint}It takes: {listed or 'none'}."
    )


def _required(schema: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    stated = schema.get("required")
    return [names.get(str(key), str(key)) for key in stated] if isinstance(stated, list) else []


def _check_required(call: Call, given: Mapping[str, Any], required: Sequence[str]) -> None:
    needed = [*required, *(each.name for each in call.arguments if each.location == "path")]
    missing = [name for name in dict.fromkeys(needed) if name not in given]
    if not missing:
        return
    places = {each.name: each.location for each in call.arguments}
    place = places.get(missing[0], "argument")
    where = f" of the {place}" if place != "argument" else ""
    others = f" Also missing: {', '.join(missing[1:_SHOWN])}." if missing[1:] else ""
    raise ToolRequestError(f"this required argument{where} is missing", subject=missing[0], remedy=f"Give it.{others}")


def _check_value(placed: PlacedArgument, check: ValueCheck) -> None:
    several = placed.argument.location == "filter" and kind_of(placed.value) == "array"  # one of several values
    for value in placed.value if several else [placed.value]:
        check.check(value, placed.schema, placed.argument.name)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeiou" else f"a {noun}"
