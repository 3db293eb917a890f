"""Overlays: every fault of a file with its line; what changes in the tools of a catalogue, what is left out, what matches nothing."""

from pathlib import Path

import pytest

from ingest.linking.edges import derive_links
from ingest.overlay.apply_overlay import AppliedOverlays, apply_overlays
from ingest.overlay.overlay_file import check_overlay, load_overlays
from ontology.files import write_file
from ontology.ontology import load_ontology
from ontology.tool import Dependency, Parameter, Tool
from ontology.yaml_file import has_top_key

FAULTY = """\
systems:
  Tracker: [bugs]
namespaces:
  tracker:
    synonyms: {bug: issue}
    colour: red
    context_parameters: workspace
    tools:
      list_bugs:
        hidden: perhaps
        boost: 2
        description:
        append_description: "ask with password=S3CRETS3CRET1"
        descripton: typing error
        requests: [find my bugs]
        parameters:
          q: text
        depends_on:
          - find_people
          - {parameter: member}
      list_bugs: {hidden: true}
  other:
    context_parameters: [project]
    not_context_parameters: [project]
"""


def write(folder: Path, text: str, name: str = "overlay.yaml") -> Path:
    return write_file(folder / name, text)


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    overlay, faults = check_overlay(write(tmp_path, FAULTY))
    assert overlay is None
    found = [(fault.line, fault.problem) for fault in faults]
    expected = [
        (1, "systems is gone"),
        (5, "synonyms is gone"),
        (6, "unknown key 'colour'"),
        (7, "context_parameters must be a list"),
        (10, "hidden must be true or false"),
        (11, "boost must be a number from -1 to 1"),
        (12, "description is empty"),
        (13, "looks like a secret"),
        (14, "unknown key 'descripton'"),
        (15, "unknown key 'requests'"),
        (17, "parameters.q must be a mapping"),
        (20, "an item of depends_on has no tool"),
        (21, "has the key 'list_bugs' twice"),
        (24, "'project' is also in context_parameters"),
    ]
    assert [line for line, _ in found] == [line for line, _ in expected]
    assert [text for (_, problem), (_, text) in zip(found, expected, strict=True) if text not in problem] == []
    assert "S3CRET" not in str(faults)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", "namespaces: {}\n", True),
        ("a.yml", "# words\nsystems: {}\n", True),
        ("a.yaml", "openapi: 3.0.0\nx:\n  namespaces: 1\n", False),
        ("a.json", "namespaces: {}\n", False),
    ],
)
def test_a_file_is_known_by_its_top_level_keys(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    assert has_top_key(write(tmp_path, text, name), "namespaces", "systems") is expected


@pytest.mark.parametrize(
    ("boost", "is_fault"), [("-1", False), ("1", False), ("-1.01", True), ("1.01", True), (".nan", True)]
)
def test_a_boost_has_two_bounds(tmp_path: Path, boost: str, is_fault: bool) -> None:
    overlay, faults = check_overlay(write(tmp_path, f"namespaces: {{desk: {{tools: {{a: {{boost: {boost}}}}}}}}}"))
    assert (overlay is None) == bool(faults) == is_fault
    assert [fault.problem for fault in faults] == ["a.boost must be a number from -1 to 1"] * is_fault


def _tool(name: str, *inputs: str, namespace: str = "desk", **others: object) -> Tool:
    parameters = tuple(Parameter(name=one, required=True) for one in inputs)
    fields: dict[str, object] = {"description": f"Does {name}.", "parameters": parameters, **others}
    return Tool(id=f"{namespace}/{name}", name=name, metadata={"namespace": namespace}, **fields)  # type: ignore[arg-type]


def _applied(tmp_path: Path, tools: list[Tool], *texts: str) -> AppliedOverlays:
    paths = [write(tmp_path, text, f"{number}.yaml") for number, text in enumerate(texts)]
    return apply_overlays(load_overlays(paths), tools)


def _by_name(applied: AppliedOverlays) -> dict[str, Tool]:
    return {tool.name: tool for tool in applied.tools}


def test_a_hidden_tool_is_left_out_with_the_dependencies_on_it(tmp_path: Path) -> None:
    tools = [
        _tool("debug_dump"),
        _tool("debug_info"),
        _tool("list_bugs", depends_on=(Dependency(tool="desk/debug_dump"), Dependency(tool="desk/debug_info"))),
        _tool("debug_dump", namespace="other"),
    ]
    text = "namespaces: {desk: {tools: {'debug_*': {hidden: true}, debug_info: {hidden: false}}}}"
    applied = _applied(tmp_path, tools, text)
    assert applied.hidden == ("desk/debug_dump",)
    assert [tool.id for tool in applied.tools] == ["desk/debug_info", "desk/list_bugs", "other/debug_dump"]
    assert applied.tools[1].depends_on == (Dependency(tool="desk/debug_info"),)


def test_texts_change_in_the_flat_view_and_in_the_schema(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "description": "Old."},
            "owner": {"type": "object", "properties": {"name": {"type": "string"}}},
            "shared": {"$ref": "#/$defs/shared"},
        },
        "$defs": {"shared": {"type": "string", "description": "Of all."}},
    }
    inputs = (
        Parameter(name="size", type="integer", description="Old."),
        Parameter(name="owner.name"),
        Parameter(name="shared", description="Of all."),
    )
    tool = _tool("make", parameters=inputs, input_schema=schema)
    text = """\
namespaces:
  desk:
    tools:
      desk/make:
        title: Make a table
        description: Makes.
        append_description: Slowly.
        parameters:
          size: {append_description: In cm., example: 12}
          owner.name: {description: Full name., example: "12"}
          shared: {description: New.}
"""
    applied = _applied(tmp_path, [tool], text)
    (changed,) = applied.tools
    assert (changed.title, changed.description) == ("Make a table", "Makes.\n\nSlowly.")
    assert [(one.description, one.example) for one in changed.parameters] == [
        ("Old.\n\nIn cm.", "12"),
        ("Full name.", "12"),
        ("New.", ""),
    ]
    assert changed.input_schema is not None
    properties = changed.input_schema["properties"]
    assert properties["size"] == {"type": "integer", "description": "Old.\n\nIn cm.", "examples": [12]}
    assert properties["owner"]["properties"]["name"] == {
        "type": "string",
        "description": "Full name.",
        "examples": ["12"],
    }
    assert changed.input_schema["$defs"] == schema["$defs"]
    assert schema["properties"]["size"]["description"] == "Old."  # type: ignore[index]


@pytest.mark.parametrize("rule", ["description: Makes.", "append_description: Slowly."])
def test_a_tool_says_where_its_description_was_changed(tmp_path: Path, rule: str) -> None:
    applied = _applied(tmp_path, [_tool("make")], f"namespaces:\n  desk:\n    tools:\n      make:\n        {rule}\n")
    assert applied.declarations.origins["desk/make"]["description"].endswith(".yaml:4")


def test_a_dependency_is_added_and_replaces_that_of_the_document(tmp_path: Path) -> None:
    tools = [_tool("find"), _tool("log_in"), _tool("assign", "member", depends_on=(Dependency(tool="desk/find"),))]
    text = """\
namespaces:
  desk:
    tools:
      assign:
        depends_on:
          - {tool: find, parameter: member, required: false}
          - log_in
      "*":
        depends_on: [log_in]
"""
    applied = _applied(tmp_path, tools, text)
    assert _by_name(applied)["assign"].depends_on == (
        Dependency(tool="desk/find", parameter="member", reason="overlay", required=False),
        Dependency(tool="desk/log_in", reason="overlay"),
    )
    assert _by_name(applied)["log_in"].depends_on == ()
    assert applied.declarations.dependencies["desk/assign", "desk/find"] == "0.yaml:6"


def test_what_matches_nothing_is_a_warning_with_the_nearest_names(tmp_path: Path) -> None:
    tools = [_tool("list_bugs", "workspace"), _tool("purge"), _tool("find"), _tool("twin"), _tool("twin2", "x")]
    tools.append(Tool(id="desk/other", name="twin", metadata={"namespace": "desk"}))
    text = """\
namespaces:
  desk2: {}
  desk:
    context_parameters: [worksapce]
    tools:
      list_bug: {hidden: true}
      purge: {hidden: true}
      list_bugs:
        parameters: {workspaces: {description: x}}
        depends_on: [fnd, purge, twin, {tool: find, output: id}]
"""
    assert _applied(tmp_path, tools, text).warnings == (
        "0.yaml:2: 'desk2' matches no namespace; known are 'desk'",
        "0.yaml:4: 'worksapce' matches no input; known are 'workspace'",
        "0.yaml:6: 'list_bug' matches no tool; known are 'list_bugs', 'desk/list_bugs'",
        "0.yaml:9: 'workspaces' matches no input; known are 'workspace'",
        "0.yaml:10: no tool can depend on 'fnd': there is no such tool; known are 'find'",
        "0.yaml:10: no tool can depend on 'purge': it is hidden",
        "0.yaml:10: no tool can depend on 'twin': several tools have this name",
        "0.yaml:10: 'id' matches no output",
    )


def test_no_tool_supplies_a_context_parameter(tmp_path: Path) -> None:
    tools = [_tool("list_projects", returns=(Parameter(name="items[].project_id"),)), _tool("get_report", "project_id")]
    for texts, context in (
        ((), {}),
        (("namespaces: {desk: {context_parameters: ['project*']}}",), {"desk/get_report": ("project_id",)}),
    ):
        applied = _applied(tmp_path, tools, *texts)
        links = derive_links(applied.tools, load_ontology(), applied.declarations.links)
        assert dict(links.context) == context
        assert bool(links.edges) is not bool(context)
