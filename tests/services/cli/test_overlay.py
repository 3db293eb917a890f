"""The overlay file with the command: each effect is there with it, and is not there without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.harness.commands import Run
from tests.ingest.overlay.test_overlay_file import FAULTY


def _operation(name: str, summary: str, inputs: dict[str, str], fields: tuple[str, ...] = ()) -> dict[str, Any]:
    items = {"type": "array", "items": {"type": "object", "properties": {one: {"type": "string"} for one in fields}}}
    content = {"application/json": {"schema": {"type": "object", "properties": {"items": items}}}}
    return {
        "operationId": name,
        "summary": summary,
        "parameters": [
            {"name": one, "in": place, "required": True, "schema": {"type": "string"}} for one, place in inputs.items()
        ],
        "responses": {"200": {"description": "ok", **({"content": content} if fields else {})}},
    }


API = {
    "openapi": "3.0.0",
    "info": {"title": "Ticket Desk Service", "version": "1"},
    "paths": {
        "/{workspace}/bugs": {
            "get": _operation("list_bugs", "List the bugs of a team.", {"workspace": "path"}, ("bug_id",))
        },
        "/{workspace}/issues/{issue_id}": {
            "get": _operation("get_issue", "Read an issue.", {"workspace": "path", "issue_id": "path"}),
            "patch": _operation(
                "assign_issue",
                "Assign an issue to a member.",
                {"workspace": "path", "issue_id": "path", "member": "query"},
            ),
        },
        "/people": {"get": _operation("find_people", "Find people by their name.", {"q": "query"}, ("handle",))},
        "/door": {"post": _operation("enter", "Open the door.", {})},
        "/debug": {"get": _operation("debug_dump", "Dump what is in memory.", {})},
    },
}
OVERLAY = """\
systems:
  Ticket Desk Service: [acme desk]
namespaces:
  desk:
    synonyms: {bug: issue}
    context_parameters: [workspace]
    tools:
      debug_*: {hidden: true}
      enter: {deprecated: true}
      find_people: {boost: 1}
      assign_issue:
        description: Give an issue to a colleague.
        parameters: {member: {description: Handle of the colleague., example: ana.p}}
        depends_on:
          - {tool: find_people, parameter: member, output: "items[].handle"}
        preconditions:
          - {tool: enter, state: signed in}
"""


class _Stores:
    """Two stores of one catalogue: built without the overlay, and with it."""

    def __init__(self, folder: Path, run: Run) -> None:
        self._run = run
        (folder / "desk.json").write_text(json.dumps(API), encoding="utf-8")
        (folder / "overlay.yaml").write_text(OVERLAY, encoding="utf-8")
        self.plain, self.overlaid = folder / "plain", folder / "overlaid"
        self.report = self.build(folder / "desk.json", "--out", self.plain)
        self.overlay_report = self.build(
            folder / "desk.json", "--out", self.overlaid, "--overlay", folder / "overlay.yaml"
        )

    def build(self, *arguments: object) -> dict[str, Any]:
        code, out, error = self._run("build", *arguments, "--encoder", "hashing.v1", "--workers", "1", "--json")
        assert code == 0, error
        report: dict[str, Any] = json.loads(out)
        return report

    def search(self, store: Path, query: str, *options: object) -> dict[str, dict[str, Any]]:
        code, out, error = self._run("search", query, "--store", store, *options, "--json")
        assert code == 0, error
        return {tool["id"]: tool for tool in json.loads(out)["tools"]}

    def show(self, store: Path, entity: str) -> list[dict[str, Any]]:
        code, out, _ = self._run("show", entity, "--store", store, "--json")
        return json.loads(out)["nodes"] if code == 0 else []

    def snapshots(self) -> tuple[Snapshot, Snapshot]:
        return open_snapshot(self.plain), open_snapshot(self.overlaid)


@pytest.fixture
def stores(tmp_path: Path, run: Run) -> _Stores:
    return _Stores(tmp_path, run)


def test_a_synonym_is_one_node_that_requests_enter(stores: _Stores) -> None:
    assert [node["key"] for node in stores.show(stores.plain, "bug")] == ["business_object:bug"]
    (node,) = stores.show(stores.overlaid, "bug")
    assert (node["key"], node["aliases"]) == ("business_object:issue", [["bug", "overlay.yaml:5"]])
    assert {form for form, _ in node["forms"]} >= {"issue", "bug"}
    tools = {edge["head"] for edge in node["edges"]} & {"tool:desk/list_bugs", "tool:desk/get_issue"}
    assert len(tools) == 2
    query = "read the bug"
    entries = stores.search(stores.overlaid, query)["desk/get_issue"]["reasons"]["entries"]
    assert ("business_object:issue", "bug", "overlay.yaml:5") in {
        (each["node"], each["text"], each["origin"]) for each in entries
    }
    plain = stores.search(stores.plain, query)["desk/get_issue"]["reasons"]["entries"]
    assert "bug" not in {each["text"] for each in plain}


def test_context_parameters_and_edges_say_where_they_are_declared(stores: _Stores) -> None:
    def bindings(store: Path) -> dict[str, tuple[str, str, str]]:
        found = stores.search(store, "assign an issue to a colleague")["desk/assign_issue"]["reasons"]["bindings"]
        return {each["parameter"]: (each["kind"], each["supplier"], each["origin"]) for each in found}

    plain, overlaid = bindings(stores.plain), bindings(stores.overlaid)
    assert plain["workspace"][2] == ""
    assert (plain["workspace"][0], overlaid["workspace"]) == ("", ("context", "", "overlay.yaml:6"))
    assert (plain["member"], overlaid["member"]) == (
        ("", "", ""),
        ("depends_on", "desk/find_people", "overlay.yaml:15"),
    )
    assert overlaid[""] == ("depends_on", "desk/enter", "overlay.yaml:17")
    edges = stores.show(stores.overlaid, "desk/assign_issue")[0]["edges"]
    needed = {
        edge["tail"]: (edge["confidence"], edge["evidence"]) for edge in edges if edge["predicate"] == "depends_on"
    }
    assert needed == {
        "tool:desk/find_people": (1.0, "desk/assign_issue overlay.yaml:15"),
        "tool:desk/enter": (1.0, "desk/assign_issue overlay.yaml:17"),
    }


def test_hidden_deprecated_and_other_texts(stores: _Stores) -> None:
    plain, overlaid = stores.snapshots()
    assert (plain.tool_count, overlaid.tool_count) == (6, 5)
    assert overlaid.find_node("tool:desk/debug_dump") is None
    assert "desk/debug_dump" not in stores.search(stores.overlaid, "dump what is in memory")
    assert "desk/enter" in stores.search(stores.overlaid, "open the door")
    assert "desk/enter" not in stores.search(stores.overlaid, "open the door", "--filter", "deprecated=!true")
    assert "deprecated" not in plain.filters.keys
    tool = overlaid.tool(overlaid.tool_number("desk/assign_issue"))
    assert tool.description == "Give an issue to a colleague."
    (member,) = (one for one in tool.parameters if one.name == "member")
    assert (member.description, member.example) == ("Handle of the colleague.", "ana.p")
    assert tool.metadata["overlay"]["description"] == "overlay.yaml:11"
    before = plain.tool(plain.tool_number("desk/assign_issue"))
    assert "overlay" not in before.metadata


def test_faults_are_listed_by_validate_and_end_a_build(tmp_path: Path, run: Run) -> None:
    (tmp_path / "desk.json").write_text(json.dumps(API), encoding="utf-8")
    path = tmp_path / "overlay.yaml"
    path.write_text(FAULTY, encoding="utf-8")
    for arguments in ((path,), ("--overlay", path)):
        code, out, error = run("validate", *arguments)
        assert (code, f"{path}:14" in out, "S3CRET" in out + error) == (5, True, False)
    code, out, error = run("build", tmp_path / "desk.json", "--overlay", path, "--out", tmp_path / "store")
    assert (code, "line 14" in error, (tmp_path / "store").exists()) == (5, True, False)
    path.write_text(OVERLAY, encoding="utf-8")
    code, out, _ = run("validate", path, "--json")
    assert (code, json.loads(out)["overlays"]) == (0, {"files": 1, "faults": 0})
