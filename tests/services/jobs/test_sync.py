"""Sync: the published snapshot has the tools that its sources have now, and keeps those of a source that cannot be read."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ontology.errors import CatalogError
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build, sync_sources
from services.jobs.plans import BuildPlan
from tests.harness.commands import Run


def _write(path: Path, *names: str) -> None:
    functions = [
        {"name": name, "description": "Does it.", "parameters": {"type": "object", "properties": {}}} for name in names
    ]
    path.write_text(json.dumps(functions), encoding="utf-8")


def _sources(folder: Path, *names: str) -> str:
    path = folder / "sources.yaml"
    lines = ["sources:", *(f"  - {{name: {name}, location: {name}.json}}" for name in names)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def plan(tmp_path: Path) -> BuildPlan:
    """A plan for the sources ``hr`` and ``crm``, which are published."""
    _write(tmp_path / "hr.json", "hire", "fire")
    _write(tmp_path / "crm.json", "call")
    addresses = (_sources(tmp_path, "hr", "crm"),)
    plan = BuildPlan(addresses=addresses, store=tmp_path / "store", encoder="hashing.v1", workers=1)
    build(plan, lambda *_: None)
    return plan


def _tools(store: Path) -> list[str]:
    snapshot = open_snapshot(store)
    return [snapshot.tool_id(number) for number in range(snapshot.tool_count)]


def _delete_source(folder: Path) -> None:
    _sources(folder, "hr")


def _add_tool(folder: Path) -> None:
    _write(folder / "hr.json", "hire", "fire", "pay")


def _leave(folder: Path) -> None:
    _write(folder / "hr.json", "hire")


def _as(name: str, text: str | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        if text is None:
            (folder / f"{name}.json").unlink()
        else:
            (folder / f"{name}.json").write_text(text, encoding="utf-8")

    return change


HR, CRM = ["hr/fire", "hr/hire"], ["crm/call"]


@pytest.mark.parametrize(
    ("change", "tools", "kept"),
    [
        (lambda folder: None, CRM + HR, []),
        (_add_tool, [*CRM, *HR, "hr/pay"], []),
        (_leave, [*CRM, "hr/hire"], []),  # since the build: no sync has seen it
        (_delete_source, HR, []),
        (_as("crm", "[]"), HR, []),
        (_as("crm", '{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}'), HR, []),
        (_as("crm", ""), CRM + HR, ["crm"]),
        (_as("crm", "{]"), CRM + HR, ["crm"]),
        (_as("crm", None), CRM + HR, ["crm"]),
        (
            _as("hr", '[{"name": "pay", "parameters": {"type": "object"}}, {"parameters": {"type": "object"}}]'),
            None,
            ["hr"],
        ),
    ],
)
def test_the_catalogue_is_that_of_the_sources(
    plan: BuildPlan, tmp_path: Path, change: Callable[[Path], None], tools: list[str] | None, kept: list[str]
) -> None:
    before = published_id(plan.store)
    change(tmp_path)
    _, found = sync_sources(plan)
    assert _tools(plan.store) == (tools or [*CRM, *HR, "hr/pay"])
    assert [each["name"] for each in found["kept"]] == kept
    assert (found["previous_id"], found["snapshot_id"]) == (before, published_id(plan.store))
    assert len(found["added"]) - len(found["removed"]) == found["tools"] - 3 and not found["changed"]
    if not kept:
        assert build(plan, lambda *_: None).snapshot_id == found["snapshot_id"], "a build of the same sources"


def test_no_source_that_cannot_be_read_empties_the_catalogue(plan: BuildPlan, tmp_path: Path) -> None:
    _as("hr", "{]")(tmp_path)
    for _ in range(2):  # the second one knows that nothing has changed
        _as("crm", None)(tmp_path) if (tmp_path / "crm.json").exists() else None
        assert sorted(each["name"] for each in sync_sources(plan)[1]["kept"]) == ["crm", "hr"]
        assert _tools(plan.store) == CRM + HR


def test_strict_publishes_nothing(plan: BuildPlan, tmp_path: Path) -> None:
    _as("crm", "{]")(tmp_path)
    _leave(tmp_path)
    strict = BuildPlan(addresses=plan.addresses, store=plan.store, strict=True)
    with pytest.raises(CatalogError, match="1 rejected"):
        sync_sources(strict)
    assert _tools(plan.store) == CRM + HR


def test_the_command_says_what_was_kept(plan: BuildPlan, tmp_path: Path, run: Run) -> None:
    _leave(tmp_path)
    code, out, _ = run("sync", *plan.addresses, "--store", plan.store)
    assert code == 0 and "2 tools, 0 added, 0 changed, 1 removed" in out and "hr/fire" in out
    _as("crm", "{]")(tmp_path)
    code, out, _ = run("sync", *plan.addresses, "--store", plan.store, "--json")
    assert (code, [each["name"] for each in json.loads(out)["kept"]]) == (4, ["crm"])
