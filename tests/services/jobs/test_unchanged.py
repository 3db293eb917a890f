"""A build of unchanged files publishes the snapshot that is there; whatever changes makes another, equal to a fresh one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inference import load_encoder
from ingest.build_report import BuildReport
from services.jobs.build import build_snapshot

_ORDER = {"type": "object", "properties": {"id": {"type": "string", "description": "Id of the order."}}}


def _document(description: str = "Get an order.") -> dict[str, Any]:
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "order.json"}}}}}
    operation = {"operationId": "getOrder", "description": description, "responses": answer}
    return {"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "paths": {"/order": {"get": operation}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "shop.json").write_text(json.dumps(_document()), encoding="utf-8")
    (docs / "order.json").write_text(json.dumps(_ORDER), encoding="utf-8")
    (docs / "pay.json").write_text(
        json.dumps([{"name": "pay_invoice", "description": "Pay an invoice.", "inputSchema": _ORDER}]), encoding="utf-8"
    )
    return docs


def _built(folder: Path, store: Path, **options: Any) -> BuildReport:
    return build_snapshot([str(folder)], store, encoder=load_encoder("hashing.v1"), **options)


def _files(report: BuildReport) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in report.folder.iterdir()}


def test_unchanged_files_are_not_read_again(folder: Path, tmp_path: Path) -> None:
    first = _built(folder, tmp_path / "store")
    second = _built(folder, tmp_path / "store")
    assert list(second.seconds) == ["unchanged"]
    assert (second.snapshot_id, second.folder) == (first.snapshot_id, first.folder)
    assert second.reused.extractions == second.reused.of_extractions == 2
    assert second.documents == first.documents


@pytest.mark.parametrize("change", ["description", "reference", "new", "gone"])
def test_a_changed_input_gives_the_bytes_of_a_fresh_build(folder: Path, tmp_path: Path, change: str) -> None:
    first = _built(folder, tmp_path / "store")
    if change == "description":
        (folder / "shop.json").write_text(json.dumps(_document("Get a sales order by its number.")), encoding="utf-8")
    elif change == "reference":
        other = {"type": "object", "properties": {"number": {"type": "integer"}}}
        (folder / "order.json").write_text(json.dumps(other), encoding="utf-8")
    elif change == "new":
        row = [{"name": "list_suppliers", "description": "List suppliers.", "inputSchema": {"type": "object"}}]
        (folder / "new.json").write_text(json.dumps(row), encoding="utf-8")
    else:
        (folder / "pay.json").unlink()
    second = _built(folder, tmp_path / "store")
    assert "unchanged" not in second.seconds
    assert second.snapshot_id != first.snapshot_id
    assert _files(second) == _files(_built(folder, tmp_path / "fresh", cached=False))


def test_a_damaged_snapshot_is_built_again(folder: Path, tmp_path: Path) -> None:
    first = _built(folder, tmp_path / "store")
    before = _files(first)
    (first.folder / "tools.jsonl").write_bytes(b"damaged")
    second = _built(folder, tmp_path / "store")
    assert "unchanged" not in second.seconds
    assert _files(second) == before


def test_a_damaged_cache_builds_again(folder: Path, tmp_path: Path) -> None:
    first = _built(folder, tmp_path / "store")
    (tmp_path / "store" / "cache.sqlite").write_bytes(b"damaged" * 1000)
    second = _built(folder, tmp_path / "store")
    assert "unchanged" not in second.seconds
    assert _files(second) == _files(first)
