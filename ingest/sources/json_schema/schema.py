"""JSON Schema to parameters: nested fields by dotted path, a list's items with ``[]``, a map's values with ``*``.

One set of functions for every format that describes values by JSON Schema (OpenAPI, MCP, function definitions, discovery
documents). Cycles are cut where they close; what lies deeper than :data:`MAX_DEPTH` or beyond :data:`MAX_FIELDS` is left out,
the shallow fields staying.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.sources.json_schema.schema_view import Lookup, View, dangling_reference, view_of
from ingest.sources.prose import plain
from ontology.tool import Parameter

__all__ = ["MAX_BREADTH", "MAX_DEPTH", "MAX_FIELDS", "Fields", "flatten", "flatten_schema", "local_lookup"]

#: Levels of nesting that are followed; ``a.b[].c.d`` is four deep.
MAX_DEPTH = 4
#: Fields taken from one object.
MAX_BREADTH = 60
#: Fields taken from one body or answer.
MAX_FIELDS = 120

_MAX_VISITS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of a schema.

    :param cut: whether the limits left some out.
    """

    parameters: tuple[Parameter, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A field waiting to be written: where it is, its schema, and the ``$ref``s that led there."""

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
    """The fields of a schema as parameters, in the schema's order.

    :param lookup: what a ``$ref`` stands for; without one, references into ``schema`` itself (``#/$defs/…``) are followed.
    :param location: where an HTTP request carries the fields.
    :param output: whether these are outputs (``writeOnly`` is left out) or inputs (``readOnly`` is left out).
    :raises DocumentError: when a reference leads nowhere.
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
    """As :func:`flatten_schema`, saying also whether anything was cut.

    :param required: whether the value as a whole must be given.
    :param root: name of a value that is no object (``result`` or ``body`` unless given).
    """
    lookup = lookup or local_lookup(schema)
    required = required and not output  # no caller has to give an output
    top = view_of(schema, lookup)
    queue: deque[_Place] = deque()
    cut = False
    done: list[tuple[tuple[int, ...], Parameter]] = []
    if top.properties or top.values is not None or top.type in {"object", "any", "null"}:
        cut = _descend(queue, _Place((), "", schema, required, frozenset()), top, lookup, output=output)
    elif top.is_list and _item_view(top, lookup).properties:
        cut = _descend(queue, _Place((), "", schema, required, frozenset()), top, lookup, output=output)
    else:
        queue.append(_Place((0,), root or ("result" if output else "body"), schema, required, frozenset()))
    visits = 0
    while queue and len(done) < MAX_FIELDS and visits < _MAX_VISITS:
        place = queue.popleft()
        visits += 1
        view = view_of(place.schema, lookup)
        if (view.write_only if output else view.read_only) or view.type == "null":
            continue
        done.append((place.order, _parameter(place, view, lookup, location)))
        if place.refs & view.refs:  # the type holds itself: it is named once and not opened again
            continue
        cut |= _descend(queue, place, view, lookup, output=output)
    done.sort(key=lambda pair: pair[0])
    return Fields(parameters=tuple(parameter for _, parameter in done), cut=cut or bool(queue))


def local_lookup(schema: Any) -> Lookup:
    """Follow ``#/…`` references inside one schema.

    :raises DocumentError: (the returned function) when a reference leads nowhere or out of the schema.
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


def _descend(queue: deque[_Place], place: _Place, view: View, lookup: Lookup, *, output: bool) -> bool:
    """Queue the fields inside a field; True when some had to be left out."""
    prefix, refs = place.name, place.refs | view.refs
    while view.is_list or (view.values is not None and not view.properties):
        prefix += "[]" if view.is_list else f"{'.' if prefix else ''}*"
        view = _item_view(view, lookup) if view.is_list else view_of(view.values, lookup)
        if refs & view.refs:
            return False
        refs |= view.refs
    children = list(_children(view, prefix, place))
    if not children:
        return False
    depth = len(place.order) + 1
    if depth > MAX_DEPTH:
        return True
    for index, (name, schema, required) in enumerate(children[:MAX_BREADTH]):
        queue.append(_Place((*place.order, index), name, schema, required, refs))
    return len(children) > MAX_BREADTH


def _children(view: View, prefix: str, place: _Place) -> Iterator[tuple[str, Any, bool]]:
    dot = f"{prefix}." if prefix else ""
    for name, schema in view.properties.items():
        if name.strip():
            yield f"{dot}{name}", schema, place.required and name in view.required and "*" not in prefix


def _item_view(view: View, lookup: Lookup) -> View:
    return view_of(view.items if view.items is not None else {}, lookup)


def _parameter(place: _Place, view: View, lookup: Lookup, location: str) -> Parameter:
    item = _item_view(view, lookup) if view.is_list else view
    return Parameter(
        name=place.name,
        type=view.type,
        description=plain(view.description or item.description if view.is_list else view.description),
        required=place.required,
        enum=view.enum or (item.enum if view.is_list else ()),
        location=location,
        format=view.format,
    )
