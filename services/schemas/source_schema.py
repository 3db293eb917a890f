"""The JSON Schema of a tool's source, as the runtimes of models accept it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from egotools.calling.legal_keys import legal_keys
from ontology.json_object import as_dict
from services.schemas.input_schema import MAX_DESCRIPTION, shortened
from services.schemas.merge_all_of import merged_inputs

__all__ = ["AcceptedSchema", "accepted_schema"]

# Model vendors refuse these beside ``type: object`` at the top of a tool's parameters.
_NOT_AT_TOP = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "$ref")
_PARTS = frozenset(("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "$ref"))
_MAX_SETS = 10


class AcceptedSchema(NamedTuple):
    """A schema as an object at its top, and what it cannot say: which inputs belong together."""

    schema: dict[str, Any]
    notes: tuple[str, ...] = ()


def accepted_schema(schema: Mapping[str, Any], *, rename: bool = False) -> AcceptedSchema:
    """The schema as an object at its top; the values that the source describes stay valid.

    The inputs of ``allOf`` and of alternatives at the top are among its properties; those that not every alternative requires are optional.

    :param rename: rename properties to 1 to 64 characters of ``a-z A-Z 0-9 _ . -``, as some runtimes require; a renamed
        property has its own name as ``title``.
    """
    schema = as_dict(schema)
    top = {key: value for key, value in schema.items() if key not in _NOT_AT_TOP}
    notes: list[str] = []
    if not _PARTS.isdisjoint(schema):
        found = merged_inputs(schema)
        top |= {
            **found.further,
            "properties": found.properties,
            **({"required": found.required} if found.required else {}),
        }
        notes = [f"The tool takes one of these sets of inputs: {_listed(choice)}" for choice in found.choices]
        notes += [f"Inputs that depend on others: {', '.join(found.depending)}"] if found.depending else []
    if notes:
        top["description"] = " ".join([str(top.get("description") or ""), *(f"{note}." for note in notes)]).strip()
    top["type"] = "object"
    top.setdefault("properties", {})
    return AcceptedSchema(_walk(top, rename), tuple(notes))


def _listed(choice: list[list[str]]) -> str:
    sets = [", ".join(names) or "further names" for names in dict.fromkeys(map(tuple, choice))]
    return "; or ".join(sets[:_MAX_SETS]) + (f"; or {len(sets) - _MAX_SETS} more" if len(sets) > _MAX_SETS else "")


def _walk(node: Any, rename: bool) -> Any:
    if isinstance(node, list):
        return [_walk(inner, rename) for inner in node]
    if not isinstance(node, Mapping):
        return node
    walked = {
        key: value if key in ("default", "examples", "enum", "const") else _walk(value, rename)
        for key, value in node.items()
        if key not in ("properties", "required", "$defs")
    }
    if "items" not in walked and "array" in (types if isinstance(types := node.get("type"), list) else [types]):
        walked["items"] = {}  # vendors refuse a list that does not state them
    if isinstance(walked.get("description"), str):
        walked["description"] = shortened(walked["description"], MAX_DESCRIPTION)
    properties = node.get("properties")
    names = list(properties) if isinstance(properties, Mapping) else []
    keys = legal_keys(names) if rename else {name: name for name in names}
    if isinstance(properties, Mapping):
        walked["properties"] = {
            keys[name]: _titled(name, keys[name], _walk(properties[name], rename)) for name in names
        }
    if isinstance(node.get("required"), list):
        walked["required"] = [keys.get(name, name) for name in node["required"]]
    if isinstance(node.get("$defs"), Mapping):
        walked["$defs"] = {name: _walk(inner, rename) for name, inner in node["$defs"].items()}
    return walked


def _titled(name: str, key: str, schema: Any) -> Any:
    return schema if name == key or not isinstance(schema, dict) else {**schema, "title": name}
