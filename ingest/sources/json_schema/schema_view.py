"""One level of a JSON Schema, with its references resolved and its ``allOf``, ``oneOf`` and ``anyOf`` merged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.sources.json_values import as_list, as_mapping, as_number, as_text
from ontology.errors import DocumentError

__all__ = ["BOUNDS", "Lookup", "View", "dangling_reference", "parts_of", "states", "view_of"]

Lookup = Callable[[str], Mapping[str, Any]]

_MAX_PARTS = 500
BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "multipleOf")
"""The JSON Schema keywords that bound a value by a number."""


@dataclass(slots=True, kw_only=True)
class View:
    """The statements of a schema about its value, on one level.

    :param types: ``string``, ``integer``, …; empty where the schema has none.
    :param properties: map from field name to schema, in the schema's order.
    :param items: schema of a list's items, or None.
    :param values: schema of a map's values, or None.
    :param example: the first example as text, or empty.
    :param default: the default as text, or empty.
    :param bounds: the keywords that bound the value (:data:`BOUNDS`) and their numbers.
    :param refs: the ``$ref``s of this type; not those of several types that an ``allOf`` combines.
    """

    types: list[str] = field(default_factory=list)
    description: str = ""
    enum: tuple[str, ...] = ()
    format: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    items: Any = None
    values: Any = None
    example: str = ""
    default: str = ""
    pattern: str = ""
    bounds: tuple[tuple[str, float], ...] = ()
    read_only: bool = False
    write_only: bool = False
    refs: frozenset[str] = frozenset()

    @property
    def is_list(self) -> bool:
        """Whether the value is a list without fields of its own."""
        return not self.properties and (self.items is not None or self.types == ["array"])

    @property
    def type(self) -> str:
        """The type; several types are joined by ``|`` (without ``null``); ``any`` where the schema has none."""
        named = [type_ for type_ in self.types if type_ != "null"]
        if named:
            return "|".join(named)
        if self.types:
            return "null"
        if self.properties or self.values is not None:
            return "object"
        if self.items is not None:
            return "array"
        return "string" if self.enum else "any"


def view_of(schema: Any, lookup: Lookup) -> View:
    """Return the view of a schema.

    :raises DocumentError: when a reference cannot be resolved, or the schema is merged from more than 500 parts.
    """
    return _Merger(lookup).view(schema, frozenset())


def parts_of(schema: Any, lookup: Lookup, keys: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all that says something of the same value: what it refers to and its parts, each once, at most 500.

    :param keys: the keywords of its parts: ``allOf``, ``anyOf``, ``oneOf``, ``then``, ``else``.
    :raises DocumentError: when a reference cannot be resolved.
    """
    waiting, seen = [schema], set[int]()
    while waiting and len(seen) < _MAX_PARTS:
        part = waiting.pop(0)
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part.get("$ref"), str):
            waiting.append(lookup(part["$ref"]))
        waiting += [inner for key in keys for inner in as_list(part.get(key)) or [part.get(key)]]


def states(schema: Any, flag: str, lookup: Lookup) -> bool:
    """Whether a schema, what it refers to, or a part of its ``allOf`` says ``flag: true`` (``readOnly``); what stands first counts."""
    if not isinstance(schema, Mapping) or ("$ref" not in schema and "allOf" not in schema):  # most are
        return isinstance(schema, Mapping) and schema.get(flag) is True
    parts = parts_of(schema, lookup, ("allOf",))
    return next((part[flag] for part in parts if isinstance(part.get(flag), bool)), False)


def dangling_reference(ref: str, *, subject: str, why: str = "") -> DocumentError:
    """Return the error for a ``$ref`` that cannot be resolved.

    :param why: the cause, or empty.
    """
    return DocumentError(
        f"the reference {ref!r} cannot be resolved" + (f" ({why})" if why else ""),
        subject=subject,
        remedy="Define its target, or correct it",
        reason="dangling-ref",
    )


class _Merger:
    """Merger of the parts of one schema; it counts them."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.parts = 0

    def view(self, schema: Any, refs: frozenset[str]) -> View:
        self.parts += 1
        if self.parts > _MAX_PARTS:
            problem = f"a schema is merged from more than {_MAX_PARTS} parts"
            raise DocumentError(problem, subject="allOf", reason="wrong-type")
        if not isinstance(schema, Mapping):
            return View(refs=refs)
        view = _own(schema, refs)
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in refs:
            _merge_all(view, self.view(self.lookup(ref), refs | {ref}))
            view.refs |= {ref}
        parts = as_list(schema.get("allOf"))
        for part in parts:
            inner = self.view(part, refs)
            if len(parts) > 1:  # a combined type is another type than its parts, so it may be opened inside them
                inner.refs = refs
            _merge_all(view, inner)
        branches = [self.view(part, refs) for key in ("oneOf", "anyOf") for part in as_list(schema.get(key))]
        _merge_any(view, [branch for branch in branches if branch.type != "null"])
        for part in (schema.get("then"), schema.get("else"), *as_mapping(schema.get("dependentSchemas")).values()):
            if isinstance(part, Mapping):  # fields that the object has for some values of others
                view.properties |= {
                    n: s for n, s in self.view(part, refs).properties.items() if n not in view.properties
                }
        return view


def _own(schema: Mapping[str, Any], refs: frozenset[str]) -> View:
    """Return the view of the schema without its references and parts."""
    type_ = schema.get("type")
    items = schema.get("items")
    if items is None and as_list(schema.get("prefixItems")):
        items = schema["prefixItems"]
    values = schema.get("additionalProperties")
    return View(
        types=[type_] if isinstance(type_, str) else [str(name) for name in as_list(type_)],
        description=as_text(schema.get("description")),
        enum=_enum(schema),
        format=as_text(schema.get("format")),
        properties={str(name): inner for name, inner in as_mapping(schema.get("properties")).items()},
        required=frozenset(map(str, as_list(schema.get("required")))),
        items={"anyOf": items} if isinstance(items, list) else items,
        values=values if isinstance(values, Mapping) and values else None,
        example=_example(schema),
        default=_value_text(schema["default"]) if "default" in schema else "",
        pattern=as_text(schema.get("pattern")),
        bounds=tuple((key, number) for key in BOUNDS if (number := as_number(schema.get(key))) is not None),
        read_only=schema.get("readOnly") is True,
        write_only=schema.get("writeOnly") is True,
        refs=refs,
    )


def _enum(schema: Mapping[str, Any]) -> tuple[str, ...]:
    values = [schema["const"]] if "const" in schema else as_list(schema.get("enum"))
    return tuple(dict.fromkeys(_value_text(value) for value in values if value is not None))


def _example(schema: Mapping[str, Any]) -> str:
    examples = schema.get("examples")
    value = schema.get("example", examples[0] if isinstance(examples, list) and examples else None)
    return "" if value is None else _value_text(value)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _merge_all(view: View, part: View) -> None:
    """Merge a part of ``allOf`` into the view; the view's own statements have priority."""
    view.types = view.types or part.types
    _merge_scalars(view, part)
    for name, schema in part.properties.items():
        existing = view.properties.get(name)
        view.properties[name] = schema if existing is None or existing == schema else {"allOf": [existing, schema]}
    view.required |= part.required
    view.read_only |= part.read_only
    view.write_only |= part.write_only


def _merge_any(view: View, branches: list[View]) -> None:
    """Merge ``oneOf`` or ``anyOf``: all fields of all branches; a field is required when each branch requires it."""
    if not branches:
        return
    types = [type_ for branch in branches for type_ in ([branch.type] if branch.type != "any" else [])]
    if not view.types:
        view.types = list(dict.fromkeys(name for type_ in types for name in type_.split("|")))
    for branch in branches:
        for name, schema in branch.properties.items():
            existing = view.properties.get(name)
            view.properties[name] = schema if existing is None or existing == schema else {"anyOf": [existing, schema]}
    if all(branch.enum for branch in branches):
        view.enum = view.enum or tuple(dict.fromkeys(value for branch in branches for value in branch.enum))
    for branch in branches:
        enum, view_enum = branch.enum, view.enum
        branch.enum = ()
        _merge_scalars(view, branch)
        branch.enum, view.enum = enum, view_enum
    view.required |= frozenset.intersection(*(branch.required for branch in branches))


def _merge_scalars(view: View, part: View) -> None:
    view.description = view.description or part.description
    view.enum = view.enum or part.enum
    view.format = view.format or part.format
    view.example = view.example or part.example
    view.default = view.default or part.default
    view.pattern = view.pattern or part.pattern
    view.bounds = view.bounds or part.bounds
    view.items = view.items if view.items is not None else part.items
    view.values = view.values if view.values is not None else part.values
    view.refs |= part.refs
