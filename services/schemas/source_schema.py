"""The JSON Schema of a tool's source, as the runtimes of models accept it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egotools.calling.legal_keys import legal_keys
from services.schemas.input_schema import MAX_DESCRIPTION, shortened

__all__ = ["accepted_schema"]

# Model vendors refuse these beside ``type: object`` at the top of a tool's parameters.
_NOT_AT_TOP = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "$ref")


def accepted_schema(schema: Mapping[str, Any], *, rename: bool = False) -> dict[str, Any]:
    """The schema as an object at its top; all values that the source accepts stay valid.

    :param rename: rename properties to 1 to 64 characters of ``a-z A-Z 0-9 _ . -``, as some runtimes require; a renamed
        property has its own name as ``title``.
    """
    top = {key: value for key, value in schema.items() if key not in _NOT_AT_TOP}
    top["type"] = "object"
    top.setdefault("properties", {})
    accepted: dict[str, Any] = _walk(top, rename)
    return accepted


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
