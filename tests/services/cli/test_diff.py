"""``egotools diff``: what a publish would change, from real files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inference import HashingEncoder
from services.cli.build import DIFFERENT
from services.jobs.build import build_snapshot
from tests.eval.planted import written
from tests.harness.commands import Run


def _function(name: str, description: str, *inputs: str, required: Sequence[str] = ()) -> dict[str, Any]:
    properties = {each: {"type": "string"} for each in inputs}
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    }


RATINGS = _function("listRatings", "Lists the ratings.")
BEFORE = (
    _function("findSuppliers", "Finds suppliers by name.", "name"),
    _function("getSupplier", "Gets one supplier.", "supplier_id", required=["supplier_id"]),
    _function("getStatus", "Gets the status of a supplier.", "supplier_id", required=["supplier_id"]),
    RATINGS,
)
AFTER = (
    _function("findSuppliers", "Searches suppliers.", "name", required=["name"]),
    _function("getSupplier", "Gets one supplier.", "supplier_id", "limit", required=["supplier_id"]),
    _function("listAudits", "Lists the audits of a supplier.", "supplier_id", required=["supplier_id"]),
    RATINGS,
)


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Path, Path]:
    """Two stores: the document before and after a change."""
    for name, functions in (("new", AFTER), ("old", BEFORE)):
        document = tmp_path / "suppliers.json"
        document.write_text(json.dumps(functions), encoding="utf-8")
        build_snapshot([str(document)], tmp_path / name, encoder=HashingEncoder())
    return tmp_path / "old", tmp_path / "new"


def test_it_is_shown_in_short(run: Run, stores: tuple[Path, Path]) -> None:
    code, out, _ = run("diff", *stores)
    assert code == DIFFERENT
    for line in (
        "tools added: 1",
        "  suppliers/listAudits",
        "tools removed: 1",
        "  suppliers/getStatus",
        "  id suppliers/getSupplier; changes field inputs.limit; after type string",
    ):
        assert line in out.splitlines(), out
    assert "field description; before Finds suppliers by name.; after Searches suppliers." in out


def test_phrases_are_no_findings_and_dropped_rows_are_told(run: Run, stores: tuple[Path, Path], tmp_path: Path) -> None:
    rows = [{"tool": f"suppliers/{name}", "phrases": ["who sells to us"]} for name in ("findSuppliers", "findSupliers")]
    file = written(tmp_path / "phrases.jsonl", *rows)
    command = ("build", tmp_path / "suppliers.json", "--out", tmp_path / "with", "--encoder", "hashing.v1")
    code, out, _ = run(*command, "--phrases-file", file, "--workers", 1)
    assert code == 0 and "1 of 1 tool; dropped, see the report: 1 unknown-tool" in " ".join(out.split())
    code, out, err = run("diff", stores[0], tmp_path / "with", "--json")
    assert code == DIFFERENT, err
    found = json.loads(out)
    assert [each["id"] for each in found["tools"]["changed"]] == ["suppliers/findSuppliers"] and not found["findings"]
