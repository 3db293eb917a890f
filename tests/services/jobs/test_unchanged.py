"""A build of unchanged files publishes the snapshot that is there; whatever changes makes another, equal to a fresh one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inference import load_encoder
from inference.result_cache import ResultCache
from ingest.build_report import BuildReport
from ingest.overlay.overlay_rules import Overlay
from ingest.sources import read_catalog
from ontology.ontology_file import load_ontology
from services.jobs import unchanged
from services.jobs.build import build_snapshot
from services.jobs.build_inputs import BuildInputs
from services.jobs.unchanged import earlier_build, inputs_key, remember_build

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


def test_another_ontology_builds_again(folder: Path, tmp_path: Path) -> None:
    _built(folder, tmp_path / "store")
    text = Path(load_ontology.__code__.co_filename).parent.joinpath("default.yaml")
    files = [text] if text.is_file() else sorted(Path(load_ontology.__code__.co_filename).parent.glob("*.yaml"))
    source = next(file for file in files if "predicates:" in file.read_text(encoding="utf-8"))
    other = tmp_path / "ontology.yaml"
    other.write_text(source.read_text(encoding="utf-8").replace("version: ", "version: 9", 1), encoding="utf-8")
    assert "unchanged" not in _built(folder, tmp_path / "store", ontology=load_ontology(other)).seconds


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


def test_an_earlier_state_is_published_again(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = _built(folder, store)
    (folder / "shop.json").write_text(json.dumps(_document("Get a sales order.")), encoding="utf-8")
    _built(folder, store)
    (folder / "shop.json").write_text(json.dumps(_document()), encoding="utf-8")
    assert list(_built(folder, store).seconds) == ["unchanged"]
    assert (store / "CURRENT").read_text(encoding="utf-8").strip() == first.snapshot_id


def test_without_a_cache_all_is_read(folder: Path, tmp_path: Path) -> None:
    _built(folder, tmp_path / "store")
    assert "unchanged" not in _built(folder, tmp_path / "store", cached=False).seconds


def _named(**fields: object) -> Any:
    """A part of which the key only reads the names and digests."""
    return SimpleNamespace(**fields)


def _inputs(folder: Path) -> BuildInputs:
    return BuildInputs(
        addresses=[str(folder)],
        encoder=_named(name="encoder", digest="1"),
        extractor=_named(name="extractor", fingerprint="1"),
        ontology=_named(digest="1"),
    )


_CHANGES: Mapping[str, Callable[[BuildInputs], BuildInputs]] = {
    "encoder name": lambda inputs: replace(inputs, encoder=_named(name="other", digest="1")),
    "encoder digest": lambda inputs: replace(inputs, encoder=_named(name="encoder", digest="2")),
    "extractor name": lambda inputs: replace(inputs, extractor=_named(name="other", fingerprint="1")),
    "extractor fingerprint": lambda inputs: replace(inputs, extractor=_named(name="extractor", fingerprint="2")),
    "ontology": lambda inputs: replace(inputs, ontology=_named(digest="2")),
    "overlay": lambda inputs: replace(inputs, overlays=(Overlay(name="a.yaml", sha256="1"),)),
    "strict": lambda inputs: replace(inputs, strict=True),
}


@pytest.mark.parametrize("part", _CHANGES)
def test_each_input_of_a_build_is_part_of_its_key(folder: Path, part: str) -> None:
    inputs = _inputs(folder)
    assert inputs_key(_inputs(folder)) == inputs_key(inputs) is not None
    assert inputs_key(_CHANGES[part](inputs)) != inputs_key(inputs)


def test_content_name_and_order_of_overlays_are_part_of_the_key(folder: Path) -> None:
    one, other = Overlay(name="a.yaml", sha256="1"), Overlay(name="b.yaml", sha256="1")
    listed: Sequence[tuple[Overlay, ...]] = ((one,), (other,), (replace(one, sha256="2"),), (one, other), (other, one))
    keys = {inputs_key(replace(_inputs(folder), overlays=overlays)) for overlays in listed}
    assert len(keys) == len(listed)


def test_the_content_of_observed_values_is_part_of_the_key(folder: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.jsonl"
    keys = {inputs_key(_inputs(folder))}
    for text in ("", "one", "two"):
        seen.write_text(text, encoding="utf-8")
        keys.add(inputs_key(replace(_inputs(folder), observed=seen)))
    assert len(keys) == 4


def test_the_code_and_the_format_are_part_of_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {inputs_key(_inputs(folder))}
    with monkeypatch.context() as changed:
        changed.setattr(unchanged, "FORMAT_VERSION", -1)
        keys.add(inputs_key(_inputs(folder)))
    packages: list[str] = []

    def digest(*names: str) -> str:
        packages.extend(names)
        return "other code"

    monkeypatch.setattr(unchanged, "code_digest", digest)
    keys.add(inputs_key(_inputs(folder)))
    assert len(keys) == 3
    assert {"egotools", "inference", "ingest", "ontology", "retrieval", "services"} <= set(packages)


def test_the_namespace_of_a_document_is_part_of_the_key(folder: Path) -> None:
    keys = {inputs_key(replace(_inputs(folder), addresses=[f"{name}={folder / 'pay.json'}"])) for name in ("a", "b")}
    assert len(keys) == 2


def test_a_live_address_has_no_key() -> None:
    assert inputs_key(replace(_inputs(Path()), addresses=["mcp+http://127.0.0.1:9/mcp"])) is None


@pytest.mark.parametrize("failed", [False, True])
def test_a_build_is_remembered_unless_an_extraction_failed(folder: Path, tmp_path: Path, failed: bool) -> None:
    store = tmp_path / "store"
    report = _built(folder, store)
    if failed:
        report = replace(report, triples=replace(report.triples, tools_failed={"shop/getOrder": "no answer"}))
    with ResultCache(tmp_path / "cache.sqlite") as cache:
        remember_build(cache, "key", read_catalog([str(folder)]), report)
        assert (earlier_build(cache, "key", store) is None) == failed
        assert earlier_build(cache, "other key", store) is None


def test_without_publishing_the_current_snapshot_stays(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = _built(folder, store)
    (folder / "shop.json").write_text(json.dumps(_document("Get a sales order.")), encoding="utf-8")
    second = _built(folder, store)
    (folder / "shop.json").write_text(json.dumps(_document()), encoding="utf-8")
    again = _built(folder, store, published=False)
    assert (list(again.seconds), again.snapshot_id) == (["unchanged"], first.snapshot_id)
    assert (store / "CURRENT").read_text(encoding="utf-8").strip() == second.snapshot_id
