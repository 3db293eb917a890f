"""A build of unchanged files publishes the snapshot that is there; whatever changes makes another, equal to a fresh one."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from inference import load_encoder
from ingest.build_report import BuildReport
from services.jobs.build import build_snapshot

_ORDER = {"type": "object", "properties": {"id": {"type": "string", "description": "Id of the order."}}}


def _document() -> dict[str, Any]:
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "order.json"}}}}}
    operation = {"operationId": "getOrder", "description": "Get an order.", "responses": answer}
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


def test_a_changed_reference_gives_the_bytes_of_a_fresh_build(folder: Path, tmp_path: Path) -> None:
    first = _built(folder, tmp_path / "store")
    other = {"type": "object", "properties": {"number": {"type": "integer"}}}
    (folder / "order.json").write_text(json.dumps(other), encoding="utf-8")
    second = _built(folder, tmp_path / "store")
    assert "unchanged" not in second.seconds
    assert second.snapshot_id != first.snapshot_id
    assert _files(second) == _files(_built(folder, tmp_path / "fresh", cached=False))


_WORDS = ("order", "invoice", "supplier", "employee", "city (CT)", "CT", "amount", "login", "status")


def _operation(draw: random.Random) -> dict[str, Any]:
    """An operation with a random name, description, and inputs."""
    noun = draw.choice(_WORDS[:4])
    inputs = {
        f"{draw.choice(_WORDS[:4])}_id": {"type": "string", "description": f"The {draw.choice(_WORDS)} of it."}
        for _ in range(draw.randrange(3))
    }
    return {
        "name": f"{draw.choice(('get', 'list', 'create'))}_{noun}_{draw.randrange(30)}",
        "description": f"{draw.choice(('Returns', 'Creates', 'You must log in first. Finds'))} the {noun} of a {draw.choice(_WORDS)}.",
        "inputSchema": {"type": "object", "properties": inputs, "required": list(inputs)[:1]},
        "outputSchema": {"type": "object", "properties": {f"{noun}_id": {"type": "string", "example": "OR-1001"}}},
    }


@pytest.mark.parametrize("seed", range(3))
def test_any_row_of_changes_gives_the_bytes_of_a_fresh_build(tmp_path: Path, seed: int) -> None:
    """Tools come, go and change in every part; each build takes from the cache what it may."""
    draw = random.Random(seed)
    docs = tmp_path / "docs"
    docs.mkdir()
    tools = [[_operation(draw) for _ in range(4)] for _ in range(3)]
    reused = 0
    for _ in range(6):
        rows = draw.choice(tools)
        change = draw.randrange(5)
        if change == 0 or len(rows) == 1:
            rows.append(_operation(draw))
        elif change == 1:
            rows.pop(draw.randrange(len(rows)))
        elif change == 2:
            rows[0] = {**rows[0], "description": f"{rows[0]['description']} Also a {draw.choice(_WORDS)}."}
        elif change == 3:
            rows[0] = {**_operation(draw), "name": rows[0]["name"]}
        else:
            said = draw.choice(("Required. The id of a", "Mail address of the", "Such as CT-1001 of the"))
            for each in rows[0]["inputSchema"]["properties"].values():
                each["description"] = f"{said} {draw.choice(_WORDS)}."
        for number, each in enumerate(tools):
            (docs / f"{number}.json").write_text(json.dumps(each), encoding="utf-8")
        built = _built(docs, tmp_path / "store")
        shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
        assert _files(built) == _files(_built(docs, tmp_path / "fresh", cached=False))
        reused += built.reused.extractions
    assert reused > 20


def test_a_damaged_snapshot_is_built_again(folder: Path, tmp_path: Path) -> None:
    first = _built(folder, tmp_path / "store")
    before = _files(first)
    (first.folder / "tools.jsonl").write_bytes(b"damaged")
    second = _built(folder, tmp_path / "store")
    assert "unchanged" not in second.seconds
    assert _files(second) == before
