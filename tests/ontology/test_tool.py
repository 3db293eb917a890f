"""Tools and triples: their JSON forms lose nothing, and refuse what is no tool."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ontology import Dependency, DocumentError, Parameter, Tool

text = st.text(max_size=20)
name = st.text(min_size=1, max_size=20).map(lambda s: f"n{s.strip()}")
parameters = st.builds(
    Parameter,
    name=name,
    type=name,
    description=text,
    required=st.booleans(),
    enum=st.lists(text, max_size=3).map(tuple),
    location=text,
    format=text,
)
tools = st.builds(
    Tool,
    id=name,
    name=name,
    description=text,
    parameters=st.lists(parameters, max_size=3).map(tuple),
    returns=st.lists(parameters, max_size=3).map(tuple),
    depends_on=st.lists(st.builds(Dependency, tool=name, parameter=text, output=text, reason=text), max_size=2).map(
        tuple
    ),
    metadata=st.dictionaries(name, st.one_of(text, st.integers(), st.lists(text, max_size=2)), max_size=3),
)


@given(tools)
def test_a_tool_survives_its_json_form(tool: Tool) -> None:
    row = json.loads(tool.canonical_json())
    assert Tool.from_json(row) == tool
    assert Tool.from_json(row).canonical_json() == tool.canonical_json()


def test_a_title_stands_in_for_a_missing_name() -> None:
    tool = Tool.from_json({"title": "Block a supplier", "parameters": [{"name": "id"}], "metadata": []})
    assert (tool.id, tool.name, tool.title) == ("Block a supplier",) * 3
    assert tool.parameters == (Parameter(name="id"),)
    assert tool.metadata == {"title": "Block a supplier"}, "an empty list says nothing"


@pytest.mark.parametrize(
    ("row", "subject"),
    [
        ([], ""),
        ({}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x", "parameters": {}}, "parameters"),
        ({"name": "x", "parameters": [{}]}, "parameters.name"),
        ({"name": "x", "parameters": ["y"]}, "parameters"),
        ({"name": "x", "parameters": [{"name": "y", "enum": "z"}]}, "parameters.y.enum"),
        ({"name": "x", "metadata": ["y"]}, "metadata"),
        ({"name": "x", "depends_on": [{}]}, "depends_on"),
    ],
)
def test_what_is_no_tool_is_refused_by_field(row: Any, subject: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Tool.from_json(row)
    assert caught.value.subject == subject


@pytest.mark.parametrize(
    ("row", "required"), [({"tool": "a", "reason": "a session"}, True), ({"tool": "a", "required": False}, False)]
)
def test_a_dependency_that_can_only_be_followed_is_not_required(row: dict[str, Any], required: bool) -> None:
    [dependency] = Tool.from_json({"name": "b", "depends_on": [row]}).depends_on
    assert dependency.required is required
    [written] = Tool(id="b", name="b", depends_on=(dependency,)).to_json()["depends_on"]
    assert written.get("required", True) is required
