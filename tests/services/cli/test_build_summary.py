"""The end report of a build, for the owner of the tools: from real files to the screen and the report file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.commands import Run

KEY = "sk-planted0123456789abcdef"
API: dict[str, Any] = {
    "openapi": "3.0.0",
    "info": {"title": "Orders API", "version": "1"},
    "paths": {
        "/orders": {
            "get": {
                "operationId": "listOrders",
                "deprecated": True,
                "parameters": [
                    {"name": "token", "in": "query", "description": KEY, "schema": {"type": "string"}, "example": KEY}
                ],
                "responses": {"200": {"description": "ok"}},
            }
        },
        "/v2/orders": {
            "get": {
                "operationId": "listOrdersV2",
                "description": "Lists the orders of a shop.",
                "parameters": [{"name": "token", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok"}},
            }
        },
    },
}


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(API), encoding="utf-8")
    return path


def _build(run: Run, *arguments: object) -> tuple[int, str, str]:
    return run("build", *arguments, "--encoder", "hashing.v1", "--workers", 1)


def test_the_owner_sees_what_to_improve_and_where_the_whole_report_is(run: Run, document: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    code, out, err = _build(run, document, "--out", store)
    assert code == 0
    published = (store / "CURRENT").read_text(encoding="utf-8").strip()
    file = store / "reports" / f"{published}.json"
    lines = out.splitlines()
    (owners,) = [line for line in lines if line.startswith("For the owners of the tools: ")]
    assert owners.endswith("1 without a description, 2 without outputs, 2 near-duplicates, 1 deprecated")
    assert f"Report: {file}" in lines and any(line.startswith("Time: ") for line in lines)
    for told, place in (("Secrets taken out", "description"), ("Examples taken out as possible secrets", "example")):
        (line,) = [line for line in lines if line.startswith(told)]
        assert f"listOrders: parameters[0].{place}" in line and str(document) in line
    assert len(lines) <= 12
    report = json.loads(file.read_text(encoding="utf-8"))
    (health,) = report["health"]
    assert (health["namespace"], health["tools"], health["deprecated"]) == ("orders", 2, ["orders/listOrders"])
    assert "listOrders: parameters[0].example" in report["documents"][0]["secrets"]
    assert KEY not in out + err + file.read_text(encoding="utf-8")
