"""The overlay file with the command: each effect is there with it, and is not there without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.ingest.overlay.test_overlay_file import FAULTY
from tests.services.conftest import Run


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


def test_an_alias_of_a_system_finds_it(stores: _Stores) -> None:
    assert stores.show(stores.plain, "acme desk") == []
    (node,) = stores.show(stores.overlaid, "acme desk")
    assert node["key"] == "system:ticket desk service"
    why = {id_: tool["why"] for id_, tool in stores.search(stores.overlaid, "people in acme desk").items()}
    assert '"acme desk" (overlay.yaml:2)' in why["desk/find_people"]


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


def test_a_boost_raises_the_score_and_is_a_reason(stores: _Stores) -> None:
    query = "find a member"
    plain, overlaid = (stores.search(store, query)["desk/find_people"] for store in (stores.plain, stores.overlaid))
    assert "overlay_boost" not in plain["reasons"]["features"]
    assert overlaid["reasons"]["features"]["overlay_boost"] > 0
    assert "raised by an overlay" in overlaid["why"]
    baseline = stores.search(stores.overlaid, query, "--preset", "paper")["desk/find_people"]
    assert "overlay_boost" not in baseline["reasons"]["features"]


def test_the_report_and_the_manifest_have_the_overlay(stores: _Stores) -> None:
    assert stores.report["overlay"] is None
    overlay = stores.overlay_report["overlay"]
    assert (overlay["hidden"], overlay["warnings"]) == (["desk/debug_dump"], [])
    assert overlay["changes"]["description"] == overlay["changes"]["preconditions"] == 1
    plain, overlaid = stores.snapshots()
    assert (plain.manifest.overlays, plain.manifest.boosts) == (None, None)
    assert overlaid.manifest.overlays is not None
    assert [[one.name, one.sha256] for one in overlaid.manifest.overlays] == overlay["files"]
    assert overlaid.manifest.boosts == {"desk/find_people": 1.0}


def test_only_what_an_overlay_changes_is_extracted_again(stores: _Stores, tmp_path: Path) -> None:
    arguments = (tmp_path / "desk.json", "--out", stores.overlaid, "--overlay", tmp_path / "overlay.yaml")
    same = stores.build(*arguments)
    assert same["snapshot_id"] == stores.overlay_report["snapshot_id"]
    assert same["reused"]["extractions"] == same["reused"]["of_extractions"] == 5
    (tmp_path / "overlay.yaml").write_text(f"# a line more\n{OVERLAY}", encoding="utf-8")
    moved = stores.build(*arguments)
    assert (moved["reused"]["extractions"], moved["snapshot_id"] == same["snapshot_id"]) == (5, False)
    (tmp_path / "overlay.yaml").write_text(OVERLAY.replace("colleague.\n", "member.\n"), encoding="utf-8")
    assert stores.build(*arguments)["reused"]["extractions"] == 4


def test_a_sources_file_can_name_overlays(stores: _Stores, tmp_path: Path) -> None:
    sources = "sources:\n  - {name: desk, location: desk.json}\noverlays: [overlay.yaml]\n"
    (tmp_path / "sources.yaml").write_text(sources, encoding="utf-8")
    report = stores.build(tmp_path / "sources.yaml", "--out", tmp_path / "named")
    assert report["overlay"]["hidden"] == ["desk/debug_dump"]


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


def test_an_overlay_that_hides_every_tool_ends_the_build(tmp_path: Path, run: Run) -> None:
    (tmp_path / "desk.json").write_text(json.dumps(API), encoding="utf-8")
    path = tmp_path / "overlay.yaml"
    path.write_text("namespaces: {'*': {tools: {'*': {hidden: true}}}}\n", encoding="utf-8")
    code, _, error = run("build", tmp_path / "desk.json", "--overlay", path, "--out", tmp_path / "store")
    assert (code, "every tool is hidden" in error) == (4, True)
