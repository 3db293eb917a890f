"""Flatten a JSON Schema to parameters: nested fields by dotted path, a list's items with ``[]``, a map's values with ``*``.

All formats with JSON Schema use these functions (OpenAPI, MCP, function definitions, discovery documents). A recursive type is
not opened inside itself. Fields deeper than :data:`MAX_DEPTH` are left out, and the deepest first when there are more than
:data:`MAX_FIELDS`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.sources.json_schema.schema_view import Lookup, View, dangling_reference, view_of
from ingest.sources.prose import brief, plain
from ontology.tool import Parameter

__all__ = ["MAX_BREADTH", "MAX_DEPTH", "MAX_FIELDS", "Fields", "flatten", "flatten_schema", "local_lookup"]

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
