"""One JSON schema for the answer of a model in a step: calls of the operators that are offered, an answer, or a question back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ontology.json_object import canonical_text
from planners.graphseek.operators.operator import Operator, object_schema
from planners.stores.graph_schema import GraphSchema

__all__ = ["MOST_CALLS", "operator_lines", "turn_schema"]

MOST_CALLS = 4
"""Of one turn: the paper's widest step has three at once (section 5.3.4)."""
_SHARED_CHARS = 80  # of a part that is written once, when it stands there twice: shorter ones cost more as references


def turn_schema(operators: Sequence[Operator], schema: GraphSchema, handles: Sequence[str]) -> dict[str, Any]:
    """Return the schema. Parts that stand in it several times are written once, under ``$defs``.

    :param operators: without any, the turn can only be an answer or a question back.
    """
    calls = [
        object_schema(
            ["operator", "arguments"], operator={"const": each.name}, arguments=each.parameters(schema, handles)
        )
        for each in operators
    ]
    called = {"type": "array", "items": {"anyOf": calls}, "minItems": 1, "maxItems": MOST_CALLS}
    of = {"type": "array", "items": {"type": "string"}, "maxItems": 8}
    answer = object_schema(["answer"], answer=_text(), of=of)
    ask = object_schema(["ask"], ask=_text())
    return _shared({"anyOf": [*([object_schema(["calls"], calls=called)] if calls else []), answer, ask]})


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
    return {"type": "string", "minLength": 1}  # a bound of thousands of characters makes grammars that servers refuse


def _shared(schema: Mapping[str, Any]) -> dict[str, Any]:
    counts = Counter(canonical_text(part) for part in _parts(schema))  # each time that a part stands there
    names: dict[str, str] = {}
    for text, count in counts.items():
        if count > 1 and len(text) > _SHARED_CHARS:
            names[text] = f"s{len(names)}"
    defined: dict[str, Any] = {}
    body = _replaced(schema, names, defined)
    return {**body, "$defs": {name: defined[name] for name in sorted(defined)}} if defined else body


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and every schema in it."""
    yield schema
    for _, inner in _inner(schema):
        yield from _parts(inner)


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Any], Mapping[str, Any]]]:
    """Yield the schemas that stand directly in a schema, with where."""
    for name, inner in schema.get("properties", {}).items():
        yield ("properties", name), inner
    for key in ("anyOf", "oneOf"):
        for at, inner in enumerate(schema.get(key, ())):
            yield (key, at), inner
    if isinstance(schema.get("items"), Mapping):
        yield ("items", None), schema["items"]


def _replaced(schema: Mapping[str, Any], names: Mapping[str, str], defined: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with references for the schemas in it that have names; these are put into ``defined``."""
    made: dict[str, Any] = dict(schema)
    for place, inner in _inner(schema):
        name = names.get(canonical_text(inner))
        if name is None:
            new = _replaced(inner, names, defined)
        else:
            if name not in defined:
                defined[name] = {}  # a schema does not stand in itself; this keeps the order of names
                defined[name] = _replaced(inner, names, defined)
            new = {"$ref": f"#/$defs/{name}"}
        if place[0] == "items":
            made["items"] = new
        elif place[0] == "properties":
            made["properties"] = {**made["properties"], place[1]: new}
        else:
            made[place[0]] = [new if at == place[1] else each for at, each in enumerate(made[place[0]])]
    return made
