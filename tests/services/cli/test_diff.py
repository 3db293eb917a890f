"""``egotools diff``: what a publish would change, from real files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from services.cli.build import DIFFERENT
from tests.harness.commands import Run


def _path(operation: str, description: str, *parameters: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    item = {"type": "object", "properties": {"supplier_id": {"type": "string"}, "status": {"type": "string"}}}
    answer = {"description": "ok", "content": {"application/json": {"schema": item}}}
    given = [{"schema": {"type": "string"}, **parameter} for parameter in parameters]
    return {
        "operationId": operation,
        "description": description,
        "parameters": given,
        "responses": {"200": answer},
    } | others


FIND = {"name": "name", "in": "query"}
ID = {"name": "supplier_id", "in": "path", "required": True}
BEFORE = {
    "/suppliers": {"get": _path("findSuppliers", "Finds suppliers by name.", FIND)},
    "/suppliers/{supplier_id}": {"get": _path("getSupplier", "Gets one supplier.", ID)},
    "/suppliers/{supplier_id}/status": {"get": _path("getStatus", "Gets the status of a supplier.", ID)},
    "/ratings": {"get": _path("listRatings", "Lists the ratings.")},
}
AFTER = {
    "/suppliers": {"get": _path("findSuppliers", "Searches suppliers.", FIND | {"required": True}, deprecated=True)},
    "/suppliers/{supplier_id}": {
        "get": _path("getSupplier", "Gets one supplier.", ID, {"name": "limit", "in": "query"})
    },
    "/ratings": {"get": _path("listRatings", "Lists the ratings.")},
    "/suppliers/{supplier_id}/audits": {"get": _path("listAudits", "Lists the audits of a supplier.", ID)},
}


@pytest.fixture
def stores(run: Run, tmp_path: Path) -> tuple[Path, Path]:
    """Two stores: the documents before and after a change."""
    for name, paths in (("old", BEFORE), ("new", AFTER)):
        folder = tmp_path / f"{name}-documents"
        folder.mkdir()
        document = {"openapi": "3.0.0", "info": {"title": "Suppliers", "version": "1"}, "paths": paths}
        (folder / "suppliers.json").write_text(json.dumps(document), encoding="utf-8")
        assert run("build", folder, "--out", tmp_path / name, "--encoder", "hashing.v1", "--workers", 1)[0] == 0
    return tmp_path / "old", tmp_path / "new"


def test_it_is_shown_in_short(run: Run, stores: tuple[Path, Path]) -> None:
    code, out, _ = run("diff", *stores)
    assert code == DIFFERENT
    for line in (
        "tools added: 1",
        "  suppliers/listAudits",
        "tools removed: 1",
        "  suppliers/getStatus",
        "  id suppliers/getSupplier; changes field inputs.limit; after in query; type string",
    ):
        assert line in out.splitlines(), out
    assert "field description; before Finds suppliers by name.; after Searches suppliers." in out


def test_phrases_are_no_findings_and_dropped_rows_are_told(run: Run, stores: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "phrases.jsonl"
    rows = [{"tool": f"suppliers/{name}", "phrases": ["who sells to us"]} for name in ("findSuppliers", "findSupliers")]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = ("build", tmp_path / "old-documents", "--out", tmp_path / "with", "--encoder", "hashing.v1")
    code, out, _ = run(*command, "--phrases-file", file, "--workers", 1)
    assert code == 0 and "1 of 1 tool; dropped, see the report: 1 unknown-tool" in " ".join(out.split())
    code, out, err = run("diff", stores[0], tmp_path / "with", "--json")
    assert code == DIFFERENT, err
    found = json.loads(out)
    assert [each["id"] for each in found["tools"]["changed"]] == ["suppliers/findSuppliers"] and not found["findings"]
