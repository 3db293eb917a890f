"""New texts for a tool, its inputs and its outputs, in the flat view and in the schema of the source."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ingest.linking.type_families import type_family
from ingest.overlay.overlay_rules import TextRule, ToolRule
from ingest.sources.sanitize import sanitize_tool
from ontology.json_object import as_dict
from ontology.tool import Parameter, Tool

__all__ = ["with_texts"]

_DEPRECATED = "deprecated"


def with_texts(tool: Tool, rule: ToolRule) -> Tool:
    """Return the tool with the texts and the mark ``deprecated`` of a rule."""
    metadata = {**tool.metadata, **({"title": rule.title} if rule.title else {})}
    if rule.deprecated:
        metadata[_DEPRECATED] = True
    elif rule.deprecated is False:
        metadata.pop(_DEPRECATED, None)
    return sanitize_tool(
        replace(
            tool,
            description=_changed(tool.description, rule.text),
            parameters=_parameters(tool.parameters, rule.parameters),
            returns=_parameters(tool.returns, rule.returns),
            input_schema=_schema(tool.input_schema, tool.parameters, rule.parameters),
            output_schema=_schema(tool.output_schema, tool.returns, rule.returns),
            metadata=metadata,
        )
    )


def _changed(text: str, rule: TextRule) -> str:
    parts = (rule.description or text, rule.appended)
    return "\n\n".join(part for part in parts if part)


def _parameters(parameters: Iterable[Parameter], rules: Mapping[str, TextRule]) -> tuple[Parameter, ...]:
    return tuple(_parameter(one, rules[one.name]) if one.name in rules else one for one in parameters)


def _parameter(parameter: Parameter, rule: TextRule) -> Parameter:
    description = _changed(parameter.description, rule)
    return replace(parameter, description=description, example=rule.example or parameter.example)


def _schema(
    schema: Mapping[str, Any] | None, parameters: Iterable[Parameter], rules: Mapping[str, TextRule]
) -> Mapping[str, Any] | None:
    """Return the schema with the new texts; a property behind a ``$ref``, which other tools' fields may share, keeps its own."""
    if schema is None or not rules:
        return schema
    changed = copy.deepcopy(as_dict(schema))
    for parameter in parameters:
        node = _property(changed, parameter.name) if parameter.name in rules else None
        if node is not None:
            rule = rules[parameter.name]
            if rule.description or rule.appended:
                node["description"] = _changed(str(node.get("description", "")), rule)
            if rule.example:
                node["examples"] = [_value(rule.example, parameter.type)]
    return changed


def _property(schema: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Return the schema of a field by its dotted path, or None where it is not written out."""
    node: dict[str, Any] = schema
    for step in path.split("."):
        properties = node.get("properties")
        inner = properties.get(step.removesuffix("[]")) if isinstance(properties, dict) else None
        if step.endswith("[]") and isinstance(inner, dict):
            inner = inner.get("items")
        if not isinstance(inner, dict) or "$ref" in inner:
            return None
        node = inner
    return node


def _value(text: str, type_: str) -> Any:
    """Return an example as a JSON value of its type."""
    if type_family(type_) == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
