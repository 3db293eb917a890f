"""What decides a build without being in its documents: a change of it builds again and gives the snapshot of a fresh build."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from inference import load_encoder
from ingest.build_report import BuildReport
from services.jobs.build import build_snapshot

_COLOUR = {"type": "object", "properties": {"colour": {"type": "string", "description": "Colour of the part."}}}
_WEIGHT = {"type": "object", "properties": {"weight": {"type": "number", "description": "Weight of the part."}}}
_SHOP = {
    "openapi": "3.0.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        path: {
            "get": {
                "operationId": name,
                "description": "Get a part.",
                "responses": {
                    "200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": target}}}}
                },
            }
        }
        for path, name, target in (("/part", "getPart", "part.json"), ("/bolt", "getBolt", "#/components/schemas/Bolt"))
    },
    "components": {"schemas": {"Bolt": {"type": "object", "properties": {"size": {"type": "string"}}}}},
}


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def _built(address: str, store: Path) -> BuildReport:
    return build_snapshot([address], store, encoder=load_encoder("hashing.v1"))


def _links(docs: Path) -> None:
    _write(docs / "v1.json", _COLOUR)
    _write(docs / "v2.json", _WEIGHT)
    (docs / "part.json").symlink_to("v1.json")


def _retarget(docs: Path) -> None:
    (docs / "part.json").unlink()
    (docs / "part.json").symlink_to("v2.json")


def _equal_links(docs: Path) -> None:
    """Two files of the same bytes whose references lead to different files."""
    for name, schema in (("one", _COLOUR), ("two", _WEIGHT)):
        _write(docs / name / "part.json", {"$ref": "inner.json"})
        _write(docs / name / "inner.json", schema)
    (docs / "part.json").symlink_to("one/part.json")


def _retarget_equal(docs: Path) -> None:
    (docs / "part.json").unlink()
    (docs / "part.json").symlink_to("two/part.json")


def _link_outside(docs: Path) -> None:
    _write(docs.parent / "elsewhere.json", _COLOUR)
    (docs / "part.json").symlink_to("../elsewhere.json")


def _file(docs: Path) -> None:
    part = docs / "part.json"
    if part.is_dir() and not part.is_symlink():
        part.rmdir()
    else:
        part.unlink(missing_ok=True)
    _write(part, _WEIGHT)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(_links, _retarget, id="link"),
        pytest.param(_equal_links, _retarget_equal, id="link to equal bytes"),
        pytest.param(_link_outside, _file, id="outside"),
        pytest.param(lambda docs: (docs / "part.json").mkdir(), _file, id="folder"),
        pytest.param(lambda docs: os.mkfifo(docs / "part.json"), _file, id="pipe"),
        pytest.param(lambda docs: None, _file, id="missing"),
    ],
)
def test_another_target_of_a_reference_builds_again(
    tmp_path: Path, before: Callable[[Path], None], after: Callable[[Path], None]
) -> None:
    docs = tmp_path / "docs"
    _write(docs / "shop.json", _SHOP)
    before(docs)
    address = str(docs / "shop.json")
    first = _built(address, tmp_path / "store")
    assert "unchanged" in _built(address, tmp_path / "store").seconds
    after(docs)
    second = _built(address, tmp_path / "store")
    assert "unchanged" not in second.seconds
    assert second.snapshot_id != first.snapshot_id
    assert second.snapshot_id == _built(address, tmp_path / "fresh").snapshot_id
