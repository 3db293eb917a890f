"""Parameters as one JSON Schema: dotted paths are folded back into nested objects and lists.

``items[].order_id`` is the field ``order_id`` of the objects in the list ``items``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from egotools.calling.input_arguments import legal_keys
from ontology.json_values import json_type, typed_values
from ontology.tool import Parameter

__all__ = [
    "MAX_DESCRIPTION",
    "as_list",
    "dependent_fields",
    "input_schema",
    "merged_all_of",
    "merged_inputs",
    "shortened",
]

MAX_DESCRIPTION = 8_000
_MAX_DEPTH = 24
_SEGMENT = re.compile(r"^(.*?)((?:\[\])*)\Z", re.DOTALL)


class _Segment(NamedTuple):
    """One part of a dotted path: ``items[][]`` is the name ``items`` with two list levels."""

    name: str
    list_depth: int


@dataclass(slots=True)
class _Field:
    """One field: its declaration, if it has one, and the fields inside it."""

    parameter: Parameter | None = None
    list_depth: int = 0
    children: dict[str, _Field] = field(default_factory=dict)

    @property
    def required(self) -> bool:
        """As declared; for a field without a declaration, whether a field inside it is required."""
        if self.parameter is not None:
            return self.parameter.required
        return any(child.required for child in self.children.values())


def input_schema(parameters: Iterable[Parameter], *, rename: bool = False) -> dict[str, Any]:
    """The JSON Schema (Draft 2020-12) of an object with these parameters.

    :param rename: rename properties to 1 to 64 characters of ``a-z A-Z 0-9 _ . -``, as some runtimes require; a
        renamed property has its own name as ``title``.
    """
    root = _Field()
    for parameter in parameters:
        _insert(root, parameter)
    return _object_schema(root, rename)


def shortened(text: str, max_chars: int) -> str:
    """The text, cut to a length; an ellipsis marks the cut."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _insert(root: _Field, parameter: Parameter) -> None:
    node = root
    for name, list_depth in _segments(parameter.name):
        node = node.children.setdefault(name, _Field())
        node.list_depth = max(node.list_depth, list_depth)
    if node.parameter is None:  # of two parameters of one name, the first counts
        node.parameter = parameter


def _segments(path: str) -> list[_Segment]:
    """``items[].order_id`` → ``items`` in a list, ``order_id``. A path with an empty part is one literal name."""
    segments: list[_Segment] = []
    for part in path.split(".", _MAX_DEPTH):
        match = _SEGMENT.match(part)
        if match is None or not match[1].strip():
            return [_Segment(path, 0)]
        segments.append(_Segment(match[1], min(len(match[2]) // 2, _MAX_DEPTH)))
    return segments


def _object_schema(node: _Field, rename: bool) -> dict[str, Any]:
    keys = legal_keys(node.children) if rename else {name: name for name in node.children}
    properties: dict[str, Any] = {}
    for name, child in node.children.items():
        schema = _field_schema(child, rename)
        properties[keys[name]] = schema if keys[name] == name else {"title": name, **schema}
    required = [keys[name] for name, child in node.children.items() if child.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _field_schema(node: _Field, rename: bool) -> dict[str, Any]:
    parameter = node.parameter
    schema = {"type": "object"} if parameter is None else json_type(parameter.type)
    declared_depth = _list_depth(schema)
    if node.children:
        schema = _in_lists(_object_schema(node, rename), max(node.list_depth, declared_depth))
    else:
        schema = _in_lists(schema, node.list_depth - declared_depth)
        if parameter is not None:
            _restrict(schema, parameter)
    if parameter is not None and parameter.description:
        schema["description"] = shortened(parameter.description, MAX_DESCRIPTION)
    return schema


def _list_depth(schema: Mapping[str, Any]) -> int:
    depth = 0
    while schema.get("type") == "array":
        depth += 1
        schema = schema["items"]
    return depth


def _in_lists(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def _restrict(schema: dict[str, Any], parameter: Parameter) -> None:
    """Add format and allowed values: those of a list restrict its innermost items."""
    inner = schema
    while inner.get("type") == "array":
        inner = inner["items"]
    kind = inner.get("type")
    if parameter.format and kind != "object":
        inner["format"] = parameter.format
    if not parameter.enum:
        return
    inner["enum"] = typed_values(parameter.enum, kind)
    if kind != "string" and any(isinstance(value, str) for value in inner["enum"]):
        for key in (
            "type",
            "anyOf",
            "additionalProperties",
        ):  # values contradict the declared type: the values are kept
            inner.pop(key, None)


_MAX_PARTS = 100
_ANNOTATIONS = frozenset(("description", "title", "default", "examples"))


class Merged(NamedTuple):
    """The merged schema; with the problem where the parts cannot be merged."""

    schema: Mapping[str, Any]
    problem: str = ""


def merged_all_of(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Merged:
    """Merge the parts of ``allOf`` and the keywords beside it: fields and required names are united.

    :param definitions: the schemas that references name. One that is a part of itself adds nothing the second time.
    """
    merged: dict[str, Any] = {}
    parts: list[Any] = [schema]
    seen: set[str] = set()
    for number, part in enumerate(parts):
        if number > _MAX_PARTS:
            return Merged(schema, f"more than {_MAX_PARTS} parts of allOf")
        if not isinstance(part, Mapping):
            continue
        own = {key: value for key, value in part.items() if key != "allOf"}
        ref = own.get("$ref")
        if isinstance(ref, str) and (len(part) > 1 or number):
            own.pop("$ref")
            if ref not in seen:
                seen.add(ref)
                parts.append(definitions.get(ref.removeprefix("#/$defs/")))
        parts.extend(part.get("allOf") or ())
        if problem := _add(merged, own):
            return Merged(schema, problem)
    return Merged(merged)


def _add(merged: dict[str, Any], part: Mapping[str, Any]) -> str:
    """Add the keywords of a part; return the problem, or empty."""
    for key, value in part.items():
        known = merged.get(key)
        if known is None or key in _ANNOTATIONS:
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


@dataclass(slots=True)
class Inputs:
    """The fields of an object, those of all its parts and alternatives together.

    :param required: the fields that every value has.
    :param further: the keywords about fields without a stated name.
    :param choices: for each ``oneOf`` and ``anyOf`` that adds fields, the fields of each alternative.
    :param depending: the fields that the object has only where others are given.
    """

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    further: dict[str, Any] = field(default_factory=dict)
    choices: list[list[list[str]]] = field(default_factory=list)
    depending: list[str] = field(default_factory=list)

    def add_part(self, part: Inputs) -> None:
        """Add a part of ``allOf``: a value fulfils both."""
        for name, schema in part.properties.items():
            self.properties[name] = _both(self.properties[name], schema) if name in self.properties else schema
        self.required = list(dict.fromkeys([*self.required, *part.required]))
        self.further = {**part.further, **self.further}
        self.choices += part.choices
        self.depending += part.depending

    def add_alternatives(self, branches: list[Inputs]) -> list[str]:
        """Add alternatives: a field is required where each requires it. Return the fields that are new."""
        stated: dict[str, list[Any]] = {}
        for branch in branches:
            for name, schema in branch.properties.items():
                stated.setdefault(name, []).append(schema)
        new = [name for name in stated if name not in self.properties]
        for name, schemas in stated.items():
            if name not in self.properties:
                self.properties[name] = _either(schemas)
            elif len(schemas) == len(branches):
                self.properties[name] = _both(self.properties[name], _either(schemas))
        every = [name for name in branches[0].required if all(name in branch.required for branch in branches)]
        self.required = list(dict.fromkeys([*self.required, *every]))
        return new


def merged_inputs(schema: Mapping[str, Any]) -> Inputs:
    """The fields at the top of a schema with local references: its own, then those of its parts, then those of its alternatives."""
    definitions = schema.get("$defs")
    return _Reader(definitions if isinstance(definitions, Mapping) else {}).inputs(schema, frozenset())


def dependent_fields(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields under ``then``, ``else`` and ``dependentSchemas``, which an object has only where others are given."""
    for part in _dependents(schema):
        properties = part.get("properties")
        yield from properties if isinstance(properties, Mapping) else ()


def _dependents(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    by_field = schema.get("dependentSchemas")
    parts = [schema.get("then"), schema.get("else"), *(by_field.values() if isinstance(by_field, Mapping) else ())]
    return [part for part in parts if isinstance(part, Mapping)]


class _Reader:
    """Reader of one schema; it counts the parts, which can share parts without end."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._parts = 0

    def inputs(self, schema: Any, refs: frozenset[str]) -> Inputs:
        self._parts += 1
        if not isinstance(schema, Mapping) or self._parts > _MAX_PARTS:
            return Inputs()
        own, names = schema.get("properties"), schema.get("required")
        found = Inputs(
            properties=dict(own) if isinstance(own, Mapping) else {},
            required=list(names) if isinstance(names, list) else [],
            further={key: schema[key] for key in ("additionalProperties", "patternProperties") if key in schema},
        )
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref not in refs:
            refs |= {ref}
            found.add_part(self.inputs(self._definitions.get(ref.removeprefix("#/$defs/")), refs))
        for part in as_list(schema.get("allOf")):
            found.add_part(self.inputs(part, refs))
        for key in ("oneOf", "anyOf"):
            read = [(branch, self.inputs(branch, refs)) for branch in as_list(schema.get(key))]
            branches = [inputs for branch, inputs in read if _takes_object(branch) or inputs.properties]
            if branches and (found.add_alternatives(branches) or any(branch.further for branch in branches)):
                found.choices.append([list(branch.properties) for branch in branches])
        for part in _dependents(schema):
            found.depending += found.add_alternatives([self.inputs(part, refs), Inputs()])
        return found


def _takes_object(schema: Any) -> bool:
    type_ = schema.get("type", "object") if isinstance(schema, Mapping) else "object"
    return "object" in (type_ if isinstance(type_, list) else [type_])


def _both(first: Any, second: Any) -> Any:
    """The schema of values that fulfil both; annotations are those of the first."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return first if second is True else second
    added = {key: value for key, value in second.items() if key not in _ANNOTATIONS and first.get(key) != value}
    if any(key in first or isinstance(value, Mapping) or key == "prefixItems" for key, value in added.items()):
        return {**first, "allOf": [*as_list(first.get("allOf")), second]}
    return {**second, **first}


def _either(schemas: list[Any]) -> Any:
    """The schema of values that fulfil one of several."""
    distinct = [schema for number, schema in enumerate(schemas) if schema not in schemas[:number]]
    if len(distinct) == 1:
        return distinct[0]
    if True in distinct or {} in distinct:
        return {}
    values = [value for schema in distinct for value in _values(schema)]
    if all(map(_values, distinct)):  # as those of a field that says which alternative is meant
        same = {key: value for key, value in distinct[0].items() if all(each.get(key) == value for each in distinct)}
        return {**same, "enum": [value for number, value in enumerate(values) if value not in values[:number]]}
    return {"anyOf": distinct}


def _values(schema: Any) -> list[Any]:
    """The allowed values of a schema; empty where it lists none."""
    if not isinstance(schema, Mapping):
        return []
    return [schema["const"]] if "const" in schema else as_list(schema.get("enum"))


def as_list(value: Any) -> list[Any]:
    """A list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []
