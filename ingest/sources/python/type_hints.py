"""Convert Python type hints to JSON Schema, so that callables are flattened like other formats.

``pydantic.TypeAdapter`` gives another schema for bytes, decimals, named tuples and annotated hints, and none for iterators,
awaitables, classes without fields and, in Python 3.11, the TypedDict of ``typing``.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from collections.abc import Mapping
from typing import Any

__all__ = ["schema_of", "with_top_level_definitions"]

_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "byte"},
    complex: {"type": "string"},
    decimal.Decimal: {"type": "number"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "string", "format": "duration"},
    pathlib.Path: {"type": "string", "format": "path"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    Any: {},
    object: {},
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Iterable, collections.abc.Iterator, collections.abc.Sequence)
_WRAPPERS = (
    collections.abc.Awaitable,
    collections.abc.Coroutine,
    typing.Final,
    typing.ClassVar,
    typing.Required,
    typing.NotRequired,
)


def schema_of(hint: Any, open_: frozenset[Any] = frozenset()) -> dict[str, Any]:
    """Return the JSON Schema of a type hint; a recursive class is not opened inside itself.

    :param open_: the enclosing classes, which are not opened again.
    """
    try:
        scalar = _SCALARS.get(hint)
    except TypeError:  # an unhashable annotation
        scalar = None
    if scalar is not None:
        return dict(scalar)
    origin = typing.get_origin(hint)
    if origin is not None:
        return _of_generic(origin, typing.get_args(hint), open_)
    if isinstance(hint, typing.TypeVar):
        return schema_of(hint.__bound__, open_) if hint.__bound__ is not None else {}
    if isinstance(hint, typing.NewType):
        return schema_of(hint.__supertype__, open_)
    if isinstance(hint, type):
        return _of_class(hint, open_)
    return {"type": hint} if isinstance(hint, str) and hint.isidentifier() else {}


def with_top_level_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Move the ``$defs`` of nested schemas (each pydantic model has its own) to the top level, which ``#/$defs/…`` refers to."""
    definitions: dict[str, Any] = {}

    def without(node: Any) -> Any:
        if isinstance(node, list):
            return [without(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        inner = node.get("$defs")
        if isinstance(inner, dict):
            definitions.update({name: without(definition) for name, definition in inner.items()})
        return {key: without(value) for key, value in node.items() if key != "$defs"}

    top: dict[str, Any] = without(schema)
    return {**top, "$defs": definitions} if definitions else top


def _of_generic(origin: Any, args: tuple[Any, ...], open_: frozenset[Any]) -> dict[str, Any]:
    if origin is typing.Annotated:
        return _annotated(args, open_)
    if origin is typing.Literal:
        kinds = {type(value) for value in args if value is not None}
        type_ = _SCALARS.get(kinds.pop(), {}).get("type", "string") if len(kinds) == 1 else "string"
        return {"type": type_, "enum": list(args)}
    if origin in {typing.Union, types.UnionType}:
        return {"anyOf": [schema_of(arg, open_) for arg in args]}
    if origin in _WRAPPERS:
        return schema_of(args[-1], open_) if args else {}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(args[1], open_) if len(args) > 1 else True}
    if isinstance(origin, type) and issubclass(origin, _LISTS):
        items = [schema_of(arg, open_) for arg in args if arg is not Ellipsis]
        return {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}}
    return schema_of(origin, open_) if origin is not None else {}


def _annotated(args: tuple[Any, ...], open_: frozenset[Any]) -> dict[str, Any]:
    """Return the schema of ``Annotated[T, "description"]``, or of an annotation with an attribute ``description``."""
    schema = schema_of(args[0], open_)
    for extra in args[1:]:
        description = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(description, str):
            schema["description"] = description
    return schema


def _of_class(hint: type, open_: frozenset[Any]) -> dict[str, Any]:
    if issubclass(hint, enum.Enum):
        values = [member.value for member in hint]
        kinds = {type(value) for value in values}
        type_ = _SCALARS.get(kinds.pop(), {}).get("type", "string") if len(kinds) == 1 else "string"
        return {"type": type_, "enum": values}
    if callable(describe := getattr(hint, "model_json_schema", None)):  # a pydantic model, without importing pydantic
        described = describe()
        return {**described, "title": hint.__name__} if isinstance(described, dict) else {}
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint) or hasattr(hint, "_fields"):
        return _of_fields(hint, open_)
    for base in hint.__mro__[:-1]:
        if base in _SCALARS:
            return dict(_SCALARS[base])
    if issubclass(hint, Mapping):
        return {"type": "object"}
    if issubclass(hint, (list, tuple, set, frozenset)):
        return {"type": "array"}
    return {"type": "object", "title": hint.__name__}


def _of_fields(hint: Any, open_: frozenset[Any]) -> dict[str, Any]:
    if hint in open_:
        return {"type": "object", "title": hint.__name__}
    try:
        hints = typing.get_type_hints(hint, include_extras=True)
    except Exception:  # a hint may use a name that exists only for type checkers
        hints = dict(getattr(hint, "__annotations__", {}))
    properties = {name: schema_of(inner, open_ | {hint}) for name, inner in hints.items()}
    if dataclasses.is_dataclass(hint):
        fields = [field for field in dataclasses.fields(hint) if field.name in properties]
        for field in fields:
            if isinstance(description := field.metadata.get("description"), str):
                properties[field.name].setdefault("description", description)
        missing = dataclasses.MISSING
        required = [f.name for f in fields if f.default is missing and f.default_factory is missing]
    elif typing.is_typeddict(hint):
        required = sorted(hint.__required_keys__)
    else:
        required = [name for name in hints if name not in getattr(hint, "_field_defaults", {})]
    return {"type": "object", "title": hint.__name__, "properties": properties, "required": required}
