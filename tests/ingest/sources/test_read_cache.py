"""The read cache: an unchanged file is not read again; whatever changes what is read, is."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inference.result_cache import ResultCache
from ingest.sources import Catalog, catalog, read_catalog
from ingest.sources.document import Document
from ingest.sources.naming import DocumentRead
from ingest.sources.read_cache import ReadCache

_ORDER = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string", "minLength": 1, "example": "A-1"},
        "total": {"type": "number", "maximum": 1.0, "description": "Total \u2028 in euros."},
        "api_key": {"type": "string", "default": "0123456789"},
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    _write_shop(docs)
    _write(docs / "order.json", _ORDER)
    _write(docs / "pay.json", [{"name": "pay", "description": "Pay.", "inputSchema": _ORDER}, {"description": "none"}])
    return docs


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose readers ran and that have tools."""
    read: list[str] = []
    reader = catalog.read_tools

    def counted(document: Document, into: DocumentRead) -> None:
        reader(document, into)
        if into.tools:
            read.append(Path(document.address).name)

    monkeypatch.setattr(catalog, "read_tools", counted)
    return read


@pytest.fixture
def results() -> ResultCache:
    return ResultCache(None)


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def _write_shop(docs: Path, description: str = "Get an order.") -> None:
    ref = {"$ref": "order.json"}
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {"allOf": [ref]}}}}}
    operation = {"operationId": "getOrder", "description": description, "responses": answer}
    paths = {"/order": {"get": operation, "post": {**operation, "operationId": "postOrder"}}}
    _write(docs / "shop.json", {"openapi": "3.0.0", "info": {"title": "Shop", "version": "1"}, "paths": paths})


def _read(results: ResultCache, *addresses: Path) -> Catalog:
    cache = ReadCache(results)
    read = read_catalog(list(map(str, addresses)), cache=cache)
    cache.write(results)
    return read


def _shown(read: Catalog) -> Any:
    """Everything that a build takes from a catalogue, number types included."""
    documents = [replace(document, seconds=0) for document in read.documents]
    tools = [(tool, tool.canonical_json()) for tool in read.tools]
    return repr(tools), documents, read.rejected, read.references, read.renamed


def test_only_a_changed_document_is_read_again(folder: Path, reads: list[str], results: ResultCache) -> None:
    _read(results, folder)
    reads.clear()
    _write_shop(folder, "Get a sales order.")
    changed = _read(results, folder)
    assert reads == ["shop.json"]
    assert _shown(changed) == _shown(read_catalog([str(folder)]))
    (folder / "order.json").unlink()  # what it refers to
    assert _shown(_read(results, folder)) == _shown(read_catalog([str(folder)]))


@pytest.mark.parametrize("kept", [slice(0, 10), slice(0, -20), slice(0, 0)])
def test_a_damaged_entry_is_read_again(folder: Path, reads: list[str], results: ResultCache, kept: slice) -> None:
    cache = ReadCache(results)
    first = read_catalog([str(folder)], cache=cache)
    for key, entry in list(cache.unwritten.items()):
        cache.unwritten[key] = entry[kept]
    cache.write(results)
    assert _shown(_read(results, folder)) == _shown(first)
    assert len(reads) == 4


def test_a_damaged_document_and_a_live_address_are_never_kept(tmp_path: Path, results: ResultCache) -> None:
    _write(tmp_path / "good.json", [{"name": "pay", "description": "Pay.", "inputSchema": _ORDER}])
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    cache = ReadCache(results)
    read_catalog([str(tmp_path), f"python:{os.path.__name__}:basename"], cache=cache)
    assert len(cache.unwritten) == 1
