"""A schema beyond the limits: every format says which part of the tool is not whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.sources.catalog import read_catalog
from ingest.sources.json_schema.self_contained import MAX_SCHEMAS

LARGE: dict[str, Any] = {
    "type": "object",
    "properties": {f"field{number}": {"type": "string"} for number in range(MAX_SCHEMAS + 1)},
}
SMALL: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}}

MODULE = f"""
from typing import TypedDict
Large = TypedDict("Large", {{f"field{{number}}": str for number in range({MAX_SCHEMAS} + 1)}})
def whole(id: str) -> str: ...
def cut(large: Large) -> Large: ...
"""


def cut_of(address: str) -> dict[str, list[str]]:
    tools = read_catalog([address]).tools
    return {tool.name: [line.partition(":")[0] for line in tool.metadata.get("cut", [])] for tool in tools}


@pytest.mark.parametrize(
    ("keys", "listed"),
    [(("inputSchema", "outputSchema"), "tools"), (("parameters", "returns"), "functions")],
    ids=["mcp", "function"],
)
def test_json_of_tools(tmp_path: Path, keys: tuple[str, str], listed: str) -> None:
    taken, given = keys
    rows = [
        {"name": "whole", taken: SMALL, given: SMALL},
        {"name": "inputs", taken: LARGE, given: SMALL},
        {"name": "outputs", taken: SMALL, given: LARGE},
    ]
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({listed: rows}), encoding="utf-8")
    assert cut_of(str(path)) == {
        "whole": [],
        "inputs": ["parameters", "input_schema"],
        "outputs": ["returns", "output_schema"],
    }


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large_hints.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cut_of("python:large_hints") == {
        "whole": [],
        "cut": ["parameters", "returns", "input_schema", "output_schema"],
    }
