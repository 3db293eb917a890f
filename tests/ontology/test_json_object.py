"""A JSON object that is kept as its text behaves as the dict that it stands for."""

from __future__ import annotations

import json

from ontology.json_values import JsonObject, canonical_text
from ontology.tool import Tool

VALUE = {"type": "object", "properties": {"b": {"type": "integer", "maximum": 1e30}, "ä": {"enum": ["'", '"', None]}}}


def test_the_canonical_text_of_a_tool_is_that_of_its_json() -> None:
    plain = Tool(id="a", name="a", metadata={"z": [1, {"b": 1, "a": "ü"}]}, input_schema=VALUE, output_schema={})
    kept = Tool(
        id="a",
        name="a",
        metadata={"z": [1, {"b": 1, "a": "ü"}]},
        input_schema=JsonObject(canonical_text(VALUE)),
        output_schema=JsonObject("{}"),
    )
    expected = json.dumps(plain.to_json(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert plain.canonical_json() == kept.canonical_json() == expected
    assert kept.to_json() == plain.to_json()
    assert isinstance(kept.to_json()["input_schema"], dict)
    assert Tool.from_json(kept.to_json()) == plain
