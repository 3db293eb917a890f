"""Flatten a JSON Schema to parameters: nested fields by dotted path, a list's items with ``[]``, a map's values with ``*``.

All formats with JSON Schema use these functions (OpenAPI, MCP, function definitions, discovery documents). A recursive type is
not opened inside itself. Fields deeper than :data:`MAX_DEPTH` are left out, and the deepest first when there are more than
:data:`MAX_FIELDS`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.sources.prose import brief, plain
from ingest.sources.source import as_list, as_mapping, as_number, as_text
from ontology.errors import DocumentError
from ontology.tool import Parameter

__all__ = [
    "MAX_FIELDS",
    "Fields",
    "Lookup",
    "dangling_reference",
    "flatten",
    "flatten_schema",
    "local_lookup",
    "parts_of",
    "states",
    "view_of",
]

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


# The limits of the flat view are chosen, not tuned; the whole schema is kept beside it.
#: Maximum nesting; ``a.b[].c.d`` has four levels.
MAX_DEPTH = 4
#: Maximum number of fields of one object.
MAX_BREADTH = 60
#: Maximum number of fields of one input or output schema.
MAX_FIELDS = 120
#: Characters that are kept of an example and of a default.
MAX_VALUE_CHARS = 200

_MAX_VISITS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of a schema.

    :param cut: whether fields are missing because of the limits.
    """

    parameters: tuple[Parameter, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class _PendingField:
    """A field in the queue: its position, name and schema, and the ``$ref``s on the path to it."""

    order: tuple[int, ...]
    name: str
    schema: Any
    required: bool
    refs: frozenset[str]


def flatten_schema(
    schema: Mapping[str, Any],
    *,
    lookup: Callable[[str], Mapping[str, Any]] | None = None,
    location: str = "",
    output: bool = False,
) -> tuple[Parameter, ...]:
    """Return the fields of a schema as parameters, in the schema's order.

    :param lookup: returns the target of a ``$ref``; without one, references into ``schema`` itself (``#/$defs/…``) are resolved.
    :param location: location of the fields in an HTTP request.
    :param output: whether these are outputs (``writeOnly`` is left out) or inputs (``readOnly`` is left out).
    :raises DocumentError: when a reference cannot be resolved.
    """
    return flatten(schema, lookup=lookup, location=location, output=output).parameters


def flatten(
    schema: Any,
    *,
    lookup: Lookup | None = None,
    location: str = "",
    output: bool = False,
    required: bool = True,
    root: str = "",
) -> Fields:
    """As :func:`flatten_schema`, but also return whether fields were cut.

    :param required: whether the caller must give the whole value.
    :param root: name of a value that is no object; by default ``result`` for an output, ``body`` for an input.
    """
    lookup = lookup or local_lookup(schema)
    required = required and not output  # no caller has to give an output
    top = view_of(schema, lookup)
    queue: deque[_PendingField] = deque()
    cut = False
    done: list[tuple[tuple[int, ...], Parameter]] = []
    if top.properties or top.values is not None or top.type in {"object", "any", "null"}:
        cut = _descend(queue, _PendingField((), "", schema, required, frozenset()), top, lookup, output=output)
    elif top.is_list and _item_view(top, lookup).properties:
        cut = _descend(queue, _PendingField((), "", schema, required, frozenset()), top, lookup, output=output)
    else:
        queue.append(_PendingField((0,), root or ("result" if output else "body"), schema, required, frozenset()))
    visits = 0
    while queue and len(done) < MAX_FIELDS and visits < _MAX_VISITS:
        pending = queue.popleft()
        visits += 1
        view = view_of(pending.schema, lookup)
        if (view.write_only if output else view.read_only) or view.type == "null":
            continue
        done.append((pending.order, _parameter(pending, view, lookup, location)))
        if pending.refs & view.refs:  # a recursive type: it is listed once and not opened again
            continue
        cut |= _descend(queue, pending, view, lookup, output=output)
    done.sort(key=lambda pair: pair[0])
    return Fields(parameters=tuple(parameter for _, parameter in done), cut=cut or bool(queue))


def local_lookup(schema: Any) -> Lookup:
    """Return a function that resolves ``#/…`` references inside one schema.

    It raises DocumentError when a reference cannot be resolved or points outside the schema.
    """

    def lookup(ref: str) -> Mapping[str, Any]:
        node = schema if ref.startswith("#") else None
        for part in ref.removeprefix("#").split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            node = node.get(key) if isinstance(node, Mapping) else None
        if not isinstance(node, Mapping):
            raise dangling_reference(ref, subject=ref)
        return node

    return lookup


def _descend(queue: deque[_PendingField], pending: _PendingField, view: View, lookup: Lookup, *, output: bool) -> bool:
    """Add the nested fields of a field to the queue; return whether some were left out."""
    prefix, refs, levels = pending.name, pending.refs | view.refs, 0
    while view.is_list or (view.values is not None and not view.properties):
        prefix += "[]" if view.is_list else f"{'.' if prefix else ''}*"
        view = _item_view(view, lookup) if view.is_list else view_of(view.values, lookup)
        levels += 1
        if refs & view.refs:
            return False
        if levels > MAX_DEPTH:  # a list of itself by several parts, which have no reference of their own
            return True
        refs |= view.refs
    children = list(_children(view, prefix, pending))
    if not children:
        return False
    depth = len(pending.order) + 1
    if depth > MAX_DEPTH:
        return True
    for index, (name, schema, required) in enumerate(children[:MAX_BREADTH]):
        queue.append(_PendingField((*pending.order, index), name, schema, required, refs))
    return len(children) > MAX_BREADTH


def _children(view: View, prefix: str, pending: _PendingField) -> Iterator[tuple[str, Any, bool]]:
    dot = f"{prefix}." if prefix else ""
    for name, schema in view.properties.items():
        if name.strip():
            yield f"{dot}{name}", schema, pending.required and name in view.required and "*" not in prefix


def _item_view(view: View, lookup: Lookup) -> View:
    return view_of(view.items if view.items is not None else {}, lookup)


def _parameter(pending: _PendingField, view: View, lookup: Lookup, location: str) -> Parameter:
    item = _item_view(view, lookup) if view.is_list else view
    return Parameter(
        name=pending.name,
        type=view.type,
        description=plain(view.description or item.description if view.is_list else view.description),
        required=pending.required,
        enum=view.enum or (item.enum if view.is_list else ()),
        location=location,
        format=view.format,
        example=brief(view.example or item.example, MAX_VALUE_CHARS),
        default=brief(view.default, MAX_VALUE_CHARS),
        pattern=view.pattern or item.pattern,
        bounds=view.bounds,
    )
