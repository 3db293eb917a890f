"""One level of a JSON Schema with its references followed and its ``allOf``, ``oneOf`` and ``anyOf`` folded in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ontology.errors import DocumentError

__all__ = ["Lookup", "View", "view_of"]

Lookup = Callable[[str], Mapping[str, Any]]

_MAX_PARTS = 500


@dataclass(slots=True, kw_only=True)
class View:
    """What a schema says about its value, one level deep.

    :param type: ``string``, ``integer``, …; several joined by ``|`` (without ``null``), ``any`` where nothing is said.
    :param properties: schema by field name, in the schema's order.
    :param items: schema of a list's items, or None.
    :param values: schema of a map's values, or None.
    :param refs: the ``$ref``s that name what this is (not those of the several types that an ``allOf`` extends).
    """

    types: list[str] = field(default_factory=list)
    description: str = ""
    enum: tuple[str, ...] = ()
    format: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    items: Any = None
    values: Any = None
    read_only: bool = False
    write_only: bool = False
    refs: frozenset[str] = frozenset()

    @property
    def is_list(self) -> bool:
        """Whether the value is a list (and nothing else that has fields)."""
        return not self.properties and (self.items is not None or self.types == ["array"])

    @property
    def type(self) -> str:
        """The type in one word."""
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
    """The view of a schema.

    :raises DocumentError: when a reference leads nowhere, or the schema is folded from more parts than anyone writes.
    """
    return _Folding(lookup).view(schema, frozenset())


class _Folding:
    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.parts = 0

    def view(self, schema: Any, refs: frozenset[str]) -> View:
        self.parts += 1
        if self.parts > _MAX_PARTS:
            raise DocumentError(f"a schema is folded from more than {_MAX_PARTS} parts", subject="allOf")
        if not isinstance(schema, Mapping):
            return View(refs=refs)
        view = _own(schema, refs)
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in refs:
            _fold_all(view, self.view(self.lookup(ref), refs | {ref}))
            view.refs |= {ref}
        parts = _parts(schema, "allOf")
        for part in parts:
            inner = self.view(part, refs)
            if len(parts) > 1:  # what extends a type is not that type: it may be opened inside it
                inner.refs = refs
            _fold_all(view, inner)
        branches = [self.view(part, refs) for key in ("oneOf", "anyOf") for part in _parts(schema, key)]
        _fold_any(view, [branch for branch in branches if branch.type != "null"])
        return view


def _parts(schema: Mapping[str, Any], key: str) -> list[Any]:
    parts = schema.get(key)
    return parts if isinstance(parts, list) else []


def _own(schema: Mapping[str, Any], refs: frozenset[str]) -> View:
    """What the schema says itself."""
    type_ = schema.get("type")
    types = [str(name) for name in type_] if isinstance(type_, list) else [type_] if isinstance(type_, str) else []
    properties = schema.get("properties")
    required = schema.get("required")
    items = schema.get("items")
    if items is None and _parts(schema, "prefixItems"):
        items = {"anyOf": schema["prefixItems"]}
    values = schema.get("additionalProperties")
    return View(
        types=types,
        description=_text(schema.get("description")),
        enum=_enum(schema),
        format=_text(schema.get("format")),
        properties={str(name): inner for name, inner in properties.items()} if isinstance(properties, Mapping) else {},
        required=frozenset(map(str, required)) if isinstance(required, list) else frozenset(),
        items={"anyOf": items} if isinstance(items, list) else items,
        values=values if isinstance(values, Mapping) and values else None,
        read_only=schema.get("readOnly") is True,
        write_only=schema.get("writeOnly") is True,
        refs=refs,
    )


def _enum(schema: Mapping[str, Any]) -> tuple[str, ...]:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return ()
    return tuple(
        dict.fromkeys(
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            for value in values
            if value is not None
        )
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _fold_all(view: View, part: View) -> None:
    """All of the part holds as well; what the view says itself comes first."""
    view.types = view.types or part.types
    _fold_words(view, part)
    for name, schema in part.properties.items():
        mine = view.properties.get(name)
        view.properties[name] = schema if mine is None or mine == schema else {"allOf": [mine, schema]}
    view.required |= part.required
    view.read_only |= part.read_only
    view.write_only |= part.write_only


def _fold_any(view: View, branches: list[View]) -> None:
    """One of the branches holds: the union of their fields, of which only those are required that each requires."""
    if not branches:
        return
    types = [type_ for branch in branches for type_ in ([branch.type] if branch.type != "any" else [])]
    if not view.types:
        view.types = list(dict.fromkeys(name for type_ in types for name in type_.split("|")))
    for branch in branches:
        for name, schema in branch.properties.items():
            mine = view.properties.get(name)
            view.properties[name] = schema if mine is None or mine == schema else {"anyOf": [mine, schema]}
    if all(branch.enum for branch in branches):
        view.enum = view.enum or tuple(dict.fromkeys(value for branch in branches for value in branch.enum))
    for branch in branches:
        enum, view_enum = branch.enum, view.enum
        branch.enum = ()
        _fold_words(view, branch)
        branch.enum, view.enum = enum, view_enum
    view.required |= frozenset.intersection(*(branch.required for branch in branches))


def _fold_words(view: View, part: View) -> None:
    view.description = view.description or part.description
    view.enum = view.enum or part.enum
    view.format = view.format or part.format
    view.items = view.items if view.items is not None else part.items
    view.values = view.values if view.values is not None else part.values
    view.refs |= part.refs
