"""One JSON schema for the answer of a model in a step: calls of the operators that are offered, an answer, or a question back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ontology.json_object import canonical_text
from planners.graphs.graph_schema import GraphSchema
from planners.graphseek.operators.operator import Operator

__all__ = ["MOST_CALLS", "operator_lines", "turn_schema"]

MOST_CALLS = 4
"""Of one turn: the paper's widest step has three at once (section 5.3.4)."""
_ANSWER_CHARS = 4_000
_SHARED_CHARS = 80  # of a part that is written once, when it stands there twice: shorter ones cost more as references


def turn_schema(operators: Sequence[Operator], schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
    """Return the schema. Parts that stand in it several times are written once, under ``$defs``."""
    calls = [_object(operator={"const": each.name}, arguments=each.parameters(schema, handles)) for each in operators]
    answer = _object(answer=_text(), of={"type": "array", "items": {"type": "string"}, "maxItems": 8})
    answer["required"] = ["answer"]
    called = {"type": "array", "items": {"anyOf": calls}, "minItems": 1, "maxItems": MOST_CALLS}
    return _shared({"anyOf": [_object(calls=called), answer, _object(ask=_text())]})


def operator_lines(operators: Sequence[Operator], schema: GraphSchema, handles: Sequence[str]) -> str:
    """Return one line for each operator: its name, its arguments (optional ones with ``?``), and its description."""
    lines = []
    for each in operators:
        given = each.parameters(schema, handles)
        required = given.get("required", ())
        arguments = ", ".join(name if name in required else f"{name}?" for name in given.get("properties", {}))
        lines.append(f"- {each.name}({arguments}): {each.description}")
    return "\n".join(lines)


def _text() -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": _ANSWER_CHARS}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _shared(schema: dict[str, Any]) -> dict[str, Any]:
    counts = Counter(canonical_text(part) for part in _parts(schema))
    names: dict[str, str] = {}
    for text, count in counts.items():
        if count > 1 and len(text) > _SHARED_CHARS:
            names[text] = f"s{len(names)}"
    defined: dict[str, Any] = {}
    body = _replaced(schema, names, defined)
    return {**body, "$defs": {name: defined[name] for name in sorted(defined)}} if defined else body


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every schema in a schema."""
    if isinstance(value, dict):
        if "type" in value or "anyOf" in value or "enum" in value:
            yield value
        for inner in value.values():
            yield from _parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _parts(inner)


def _replaced(value: Any, names: Mapping[str, str], defined: dict[str, Any], *, whole: bool = False) -> Any:
    if isinstance(value, list):
        return [_replaced(inner, names, defined) for inner in value]
    if not isinstance(value, dict):
        return value
    name = None if whole else names.get(canonical_text(value))
    if name is None:
        return {key: _replaced(inner, names, defined) for key, inner in value.items()}
    if name not in defined:
        defined[name] = {}
        defined[name] = _replaced(value, names, defined, whole=True)
    return {"$ref": f"#/$defs/{name}"}
