"""The statements of a JSON Schema about its value, and its fields as parameters: the one flattening of all formats.

Nested fields have dotted paths, a list's items ``[]``, a map's values ``*``. A recursive type is not opened inside itself. Fields deeper
than :data:`MAX_DEPTH` are left out, and the deepest first when there are more than :data:`MAX_FIELDS`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ingest.sources.prose import brief, plain
from ingest.sources.source import as_list, as_mapping, as_number, as_text
from ontology.errors import DocumentError
from ontology.tool import Parameter

Lookup = Callable[[str], Mapping[str, Any]]

# The key under which a reader states keywords that only the flat view has; no document has it. A field of type ``null``
# is not shown.
FLAT: Final[Any] = ("flat",)

_MAX_PARTS = 500
_MAX_REF_CHARS = 200  # of a reference in an error
_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "multipleOf")


@dataclass(slots=True, kw_only=True)
class View:
    """The statements of a schema about its value, on one level."""

    types: list[str] = field(default_factory=list)  # ``string``, ``integer``, …; empty where the schema has none
    description: str = ""
    enum: tuple[str, ...] = ()
    format: str = ""
    properties: dict[str, Any] = field(default_factory=dict)  # map from field name to schema, in the schema's order
    required: frozenset[str] = frozenset()
    items: Any = None  # schema of a list's items, or None
    values: Any = None  # schema of a map's values, or None
    example: str = ""
    default: str = ""
    pattern: str = ""
    bounds: tuple[tuple[str, float], ...] = ()  # the keywords that bound the value, and their numbers
    read_only: bool = False
    write_only: bool = False
    refs: frozenset[str] = frozenset()  # the ``$ref``s of this type; not those of several that ``allOf`` combines

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


_SCALARS = ("description", "enum", "format", "example", "default", "pattern", "bounds")


def object_schema(properties: Mapping[str, Any], required: Iterable[str] = ()) -> dict[str, Any]:
    """The schema of an object with named fields; ``required`` is left out where no field is."""
    names = list(required)
    return {"type": "object", "properties": dict(properties), **({"required": names} if names else {})}


def view_of(schema: Any, lookup: Lookup) -> View:
    """Return the view of a schema."""
    numbers = count(1)

    def merged(schema: Any, refs: frozenset[str]) -> View:
        if next(numbers) > _MAX_PARTS:
            problem = f"a schema is merged from more than {_MAX_PARTS} parts"
            raise DocumentError(problem, subject="allOf", reason="wrong-type")
        if not isinstance(schema, Mapping):
            return View(refs=refs)
        view = _own(schema, refs)
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in refs:
            _merge_all(view, merged(lookup(ref), refs | {ref}))
            view.refs |= {ref}
        parts = as_list(schema.get("allOf"))
        for part in parts:
            inner = merged(part, refs)
            if len(parts) > 1:  # a combined type is another type than its parts, so it may be opened inside them
                inner.refs = refs
            _merge_all(view, inner)
        branches = [merged(part, refs) for key in ("oneOf", "anyOf") for part in as_list(schema.get(key))]
        _merge_any(view, [branch for branch in branches if branch.type != "null"])
        for part in (schema.get("then"), schema.get("else"), *as_mapping(schema.get("dependentSchemas")).values()):
            if isinstance(part, Mapping):  # fields that the object has for some values of others
                view.properties |= {**merged(part, refs).properties, **view.properties}
        return view

    return merged(schema, frozenset())


def parts_of(schema: Any, lookup: Lookup, keys: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all that says something of the same value: what it refers to and its parts, each once, at most 500."""
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
    """Return the error for a ``$ref`` that cannot be resolved; ``why`` is the cause, or empty."""
    shown = ref if len(ref) <= _MAX_REF_CHARS else f"{ref[:_MAX_REF_CHARS]}…"
    problem = f"the reference {shown!r} cannot be resolved" + (f" ({why})" if why else "")
    return DocumentError(problem, subject=subject, remedy="Define its target, or correct it", reason="dangling-ref")


def local_lookup(schema: Any) -> Lookup:
    """Return what resolves ``#/…`` references inside one schema, and raises DocumentError for any other."""

    def lookup(ref: str) -> Mapping[str, Any]:
        try:
            node = at_pointer(schema, ref.removeprefix("#")) if ref.startswith("#") else None
        except LookupError:
            node = None
        if not isinstance(node, Mapping):
            raise dangling_reference(ref, subject=ref)
        return node

    return lookup


def at_pointer(node: Any, pointer: str) -> Any:
    """What is at a JSON pointer; raises LookupError where there is nothing."""
    for part in pointer.split("/")[1:]:
        try:
            node = node[int(part)] if isinstance(node, list) else node[part.replace("~1", "/").replace("~0", "~")]
        except (TypeError, ValueError):
            raise LookupError(part) from None
    return node


def _own(schema: Mapping[str, Any], refs: frozenset[str]) -> View:
    """Return the view of the schema without its references and parts."""
    if FLAT in schema:
        schema = {**schema, **schema[FLAT]}
    type_, items, values = (schema.get(key) for key in ("type", "items", "additionalProperties"))
    if items is None:
        items = as_list(schema.get("prefixItems")) or None
    allowed = [schema["const"]] if "const" in schema else as_list(schema.get("enum"))
    example = schema.get("example", next(iter(as_list(schema.get("examples"))), None))
    return View(
        types=[type_] if isinstance(type_, str) else [str(name) for name in as_list(type_)],
        description=as_text(schema.get("description")),
        enum=tuple(dict.fromkeys(_value_text(value) for value in allowed if value is not None)),
        format=as_text(schema.get("format")),
        properties={str(name): inner for name, inner in as_mapping(schema.get("properties")).items()},
        required=frozenset(map(str, as_list(schema.get("required")))),
        items={"anyOf": items} if isinstance(items, list) else items,
        values=values if isinstance(values, Mapping) and values else None,
        example="" if example is None else _value_text(example),
        default=_value_text(schema["default"]) if "default" in schema else "",
        pattern=as_text(schema.get("pattern")),
        bounds=tuple((key, number) for key in _BOUNDS if (number := as_number(schema.get(key))) is not None),
        read_only=schema.get("readOnly") is True,
        write_only=schema.get("writeOnly") is True,
        refs=refs,
    )


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _merge_all(view: View, part: View) -> None:
    """Merge a part of ``allOf`` into the view; the view's own statements have priority."""
    view.types = view.types or part.types
    _merge_statements(view, part, "allOf")
    view.required |= part.required
    view.read_only |= part.read_only
    view.write_only |= part.write_only


def _merge_any(view: View, branches: list[View]) -> None:
    """Merge ``oneOf`` or ``anyOf``: all fields of all branches; a field is required when each branch requires it."""
    if not branches:
        return
    types = (name for branch in branches if branch.type != "any" for name in branch.type.split("|"))
    view.types = view.types or list(dict.fromkeys(types))
    enum = view.enum
    if not enum and all(branch.enum for branch in branches):
        enum = tuple(dict.fromkeys(value for branch in branches for value in branch.enum))
    for branch in branches:
        _merge_statements(view, branch, "anyOf")
    view.enum = enum  # that of one branch is not that of the value
    view.required |= frozenset.intersection(*(branch.required for branch in branches))


def _merge_statements(view: View, part: View, combined: str) -> None:
    """Add what a part says; a field of both has the schemas of both, joined by the keyword ``combined``."""
    for name, schema in part.properties.items():
        existing = view.properties.get(name)
        view.properties[name] = schema if existing is None or existing == schema else {combined: [existing, schema]}
    for key in _SCALARS:
        if not getattr(view, key):
            setattr(view, key, getattr(part, key))
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


class Fields(NamedTuple):
    """The fields of a schema."""

    parameters: tuple[Parameter, ...] = ()
    cut: bool = False  # whether fields are missing because of the limits


class _Pending(NamedTuple):
    """A field in the queue: its position, name and schema, and the ``$ref``s on the path to it."""

    order: tuple[int, ...]
    name: str
    schema: Any
    required: bool
    refs: frozenset[str] = frozenset()


def flatten(schema: Any, *, lookup: Lookup | None = None, location: str = "", output: bool = False) -> Fields:
    """Return the fields of a schema as parameters, in the schema's order. A value that is no object is one field,
    ``result`` or ``body``. ``lookup`` returns the target of a ``$ref``; without one, references into ``schema`` itself
    (``#/$defs/…``) are resolved, and one that cannot be raises DocumentError. ``location`` is that of the fields in an
    HTTP request. Of outputs what is ``writeOnly`` is left out, of inputs what is ``readOnly``."""
    lookup = lookup or local_lookup(schema)
    required = not output  # no caller has to give an output
    top, cut = view_of(schema, lookup), False
    queue: deque[_Pending] = deque()
    done: list[tuple[tuple[int, ...], Parameter]] = []
    is_object = top.properties or top.values is not None or top.type in {"object", "any", "null"}
    if is_object or (top.is_list and _item_view(top, lookup).properties):
        cut = _descend(queue, _Pending((), "", schema, required), top, lookup)
    else:
        queue.append(_Pending((0,), "result" if output else "body", schema, required))
    visits = count()
    while queue and len(done) < MAX_FIELDS and next(visits) < _MAX_VISITS:
        pending = queue.popleft()
        view = view_of(pending.schema, lookup)
        if (view.write_only if output else view.read_only) or view.type == "null":
            continue
        item = _item_view(view, lookup) if view.is_list else view
        field_ = Parameter(
            name=pending.name,
            type=view.type,
            description=plain(view.description or item.description),
            required=pending.required,
            enum=view.enum or item.enum,
            location=location,
            format=view.format,
            example=brief(view.example or item.example, MAX_VALUE_CHARS),
            default=brief(view.default, MAX_VALUE_CHARS),
            pattern=view.pattern or item.pattern,
            bounds=view.bounds,
        )
        done.append((pending.order, field_))
        if not pending.refs & view.refs:  # a recursive type is listed once and not opened again
            cut |= _descend(queue, pending, view, lookup)
    done.sort(key=itemgetter(0))
    return Fields(tuple(parameter for _, parameter in done), cut or bool(queue))


def _descend(queue: deque[_Pending], pending: _Pending, view: View, lookup: Lookup) -> bool:
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
    names = [name for name in view.properties if name.strip()]
    if not names:
        return False
    if len(pending.order) >= MAX_DEPTH:
        return True
    dot = f"{prefix}." if prefix else ""
    limit = MAX_BREADTH if pending.order else MAX_FIELDS
    for index, name in enumerate(names[:limit]):
        required = pending.required and name in view.required and "*" not in prefix
        queue.append(_Pending((*pending.order, index), f"{dot}{name}", view.properties[name], required, refs))
    return len(names) > limit


def _item_view(view: View, lookup: Lookup) -> View:
    return view_of(view.items if view.items is not None else {}, lookup)
