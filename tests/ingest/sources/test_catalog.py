"""The catalogue: mixed documents, ids, rejected, strictness; and the read cache: an unchanged file is not read again, a changed one is."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inference.result_cache import ResultCache
from ingest.sources import Catalog, catalog, read_catalog
from ingest.sources.addresses import find_documents
from ingest.sources.document import Document
from ingest.sources.naming import DocumentRead
from ingest.sources.read_cache import ReadCache
from ontology.errors import CatalogError

OPENAPI = {
    "openapi": "3.0.3",
    "info": {"title": "Orders", "version": "1"},
    "paths": {"/orders": {"get": {"operationId": "listOrders", "responses": {"200": {"description": "ok"}}}}},
}


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        text = "".join(f"{json.dumps(row)}\n" for row in content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def reasons(catalog: Catalog) -> list[tuple[str, str]]:
    return [(Path(record.subject).name, record.reason) for record in catalog.rejected]


def test_a_folder_of_mixed_formats(tmp_path: Path) -> None:
    write(tmp_path / "b" / "orders.json", OPENAPI)
    write(tmp_path / "a.jsonl", [{"name": "one", "parameters": []}, {"id": "own id", "name": "two", "parameters": []}])
    write(tmp_path / "c.csv", "name,description\nthree,x\n")
    write(tmp_path / ".hidden.jsonl", [{"name": "hidden", "parameters": []}])
    write(tmp_path / ".git" / "x.jsonl", [{"name": "hidden", "parameters": []}])
    write(tmp_path / "README.md", "# Words")
    seen: list[str] = []
    catalog = read_catalog([str(tmp_path)], progress=seen.append)
    assert [tool.id for tool in catalog.tools] == ["a/one", "own id", "orders/listOrders", "c/three"]
    assert reasons(catalog) == [("README.md", "unknown-format")] and "openapi" in catalog.rejected[0].detail
    assert [(Path(d.address).name, d.format, d.tools, d.rejected) for d in catalog.documents] == [
        ("README.md", "", 0, 1),
        ("a.jsonl", "table.v1", 2, 0),
        ("orders.json", "openapi.v1", 1, 0),
        ("c.csv", "table.v1", 1, 0),
    ]
    assert seen == [document.address for document in catalog.documents]
    assert catalog.tools[2].metadata["namespace"] == "orders"
    assert catalog.tools[2].metadata["format"] == "openapi.v1"


def test_the_order_of_the_addresses_does_not_matter_and_no_file_is_read_twice(tmp_path: Path) -> None:
    a, b = (
        write(tmp_path / "a.jsonl", [{"name": "x", "parameters": []}]),
        write(tmp_path / "b.jsonl", [{"name": "x", "parameters": []}]),
    )
    (tmp_path / "link.jsonl").symlink_to(a)
    one = read_catalog([str(b), str(a)])
    two = read_catalog([str(tmp_path / "*.jsonl"), str(a), str(tmp_path)])
    assert [tool.id for tool in one.tools] == [tool.id for tool in two.tools] == ["a/x", "b/x"]


def test_one_id_from_two_documents_is_kept_apart_and_said(tmp_path: Path) -> None:
    write(
        tmp_path / "a.jsonl",
        [{"id": "get", "name": "get", "parameters": []}, {"id": "use", "name": "use", "depends_on": ["get"]}],
    )
    write(
        tmp_path / "b.jsonl",
        [{"id": "get", "name": "get", "parameters": []}, {"id": "b/get", "name": "other", "parameters": []}],
    )
    catalog = read_catalog([str(tmp_path)])
    assert [tool.id for tool in catalog.tools] == ["a/get", "use", "b/b/get", "b/get"]
    assert catalog.renamed == (("get", "a/get"), ("get", "b/b/get"))
    assert catalog.tools[1].depends_on[0].tool == "a/get"
    assert catalog.rejected == ()


def test_every_operation_of_a_document_has_an_id_of_its_own(tmp_path: Path) -> None:
    named, nameless = {"operationId": "listOrders", "parameters": []}, {"parameters": []}  # type: ignore[var-annotated]
    paths = {"/a": named, "/b": named, "/c-d": nameless, "/c_d": nameless, "/c-d/": nameless}
    write(tmp_path / "orders.json", {**OPENAPI, "paths": {path: {"get": each} for path, each in paths.items()}})
    catalog = read_catalog([str(tmp_path)])
    ids = ["listOrders", "get_b", "get_c_d", "get_c_d_2", "get_c_d_3"]
    assert [(tool.name, tool.metadata["path"]) for tool in catalog.tools] == list(zip(ids, paths, strict=True))
    assert catalog.rejected == ()


def test_a_dependency_on_a_tool_of_another_document_and_one_on_none(tmp_path: Path) -> None:
    wrong = {"tool": "a/y", "parameter": "order", "output": "orders[].idd"}
    giver = {"name": "y", "returns": [{"name": "orders[].id"}]}
    write(tmp_path / "a.jsonl", [{"name": "x", "depends_on": ["orders/listOrders", "nowhere", wrong]}, giver])
    write(tmp_path / "orders.json", OPENAPI)
    catalog = read_catalog([str(tmp_path)])
    assert [need.tool for need in catalog.tools[0].depends_on] == ["orders/listOrders", "a/y"]
    assert {(record.subject, record.reason) for record in catalog.rejected} == {("a/x", "unknown-dependency")}
    _, of_input, of_output = (record.detail for record in catalog.rejected)
    assert "names 'order', but a/x takes nothing" in of_input and "but a/y gives orders[].id;" in of_output


BAD = {
    "empty.json": (b"", "empty"),
    "blank.yaml": (b" \n\n", "empty"),
    "empty.csv": (b"", "empty"),
    "latin.json": ('{"openapi": "3.0.0", "info": {"title": "Größe"}}'.encode("latin-1"), "not-utf8"),
    "utf16.yaml": ("openapi: 3.0.0".encode("utf-16"), "not-utf8"),
    "torn.json": (b'{"openapi": "3.0.0",', "invalid-json"),
    "torn.yaml": (b"openapi: 3.0.0\npaths: [\n", "invalid-yaml"),
    "deep.json": (b'{"openapi": ' + b"[" * 200_000, "invalid-json"),
    "deep.yaml": (b"openapi: " + b"[" * 200_000, "invalid-yaml"),
    "tags.yaml": (b"openapi: !!python/object/apply:os.system ['true']\n", "invalid-yaml"),
    "old.yaml": (b"swagger: '1.2'\npaths: {}\n", "unsupported-version"),
    "paths.json": (b'{"openapi": "3.0.0", "paths": []}', "wrong-type"),
    "torn.jsonl.gz": (gzip.compress(b'{"name": "x", "parameters": []}\n' * 9)[:-12], "unreadable"),
    "none.json": (b'{"openapi": "3.0.0", "info": {}}', "no-operations"),
    "empty_list.json": (b"[]", "no-operations"),
    "header.csv": (b"name,description,parameters\n", "no-operations"),
    "twice.json": (b'{"openapi": "3.0.0", "paths": {"/a": {"get": {}}, "/b": {}, "/a": {"post": {}}}}', "invalid-json"),
    "twice.yaml": (b"openapi: 3.0.0\npaths:\n  /a:\n    get: {}\n    get: {}\n", "invalid-yaml"),
    "photo.png": (b"\x89PNG\r\n\x1a\n\0\0", "unknown-format"),
    "other.json": (b'{"colour": "red"}', "unknown-format"),
    "null.json": (b"null", "wrong-type"),
    "odd.json": (b'{"tools": null, "openapi": null, "paths": 3}', "unsupported-version"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_stops_nothing_else(tmp_path: Path, name: str) -> None:
    content, reason = BAD[name]
    (tmp_path / name).write_bytes(content)
    write(tmp_path / "good.jsonl", [{"name": "kept", "parameters": []}])
    catalog = read_catalog([str(tmp_path)])
    assert [tool.name for tool in catalog.tools][-1] == "kept"
    assert [record.reason for record in catalog.rejected] == [reason]
    assert name in catalog.rejected[0].subject
    with pytest.raises(CatalogError) as caught:
        read_catalog([str(tmp_path)], strict=True)
    assert name in str(caught.value)
    with pytest.raises(CatalogError, match=r"no tool was found") as alone:
        read_catalog([str(tmp_path / name)])
    assert name in str(alone.value)


def test_yaml_aliases(tmp_path: Path) -> None:
    write(tmp_path / "loop.yaml", "openapi: 3.0.0\npaths: &p\n  /x: *p\n")
    shared = "openapi: 3.0.0\nx: &op\n  responses: {200: {description: ok}}\npaths:\n  /a:\n    get: *op\n  /b:\n    get:\n      <<: *op\n"
    write(tmp_path / "shared.yaml", shared)
    write(tmp_path / "twice.yaml", "openapi: 3.0.0\na: &x 1\nb: &x 2\npaths:\n  /c:\n    get: {summary: *x}\n")
    catalog = read_catalog([str(tmp_path)])
    assert reasons(catalog)[0] == ("loop.yaml:2", "invalid-yaml")
    assert [tool.id for tool in catalog.tools][:2] == ["shared/get_a", "shared/get_b"]
    assert len(catalog.tools) + len(catalog.rejected) == 4


def test_paths_that_are_not_there(tmp_path: Path) -> None:
    write(tmp_path / "good.jsonl", [{"name": "kept", "parameters": []}])
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    (tmp_path / "round.jsonl").symlink_to(tmp_path / "round.jsonl")
    catalog = read_catalog([str(tmp_path), str(tmp_path / "typo.yaml"), str(tmp_path / "*.edmx")])
    assert sorted(reasons(catalog)) == [
        ("*.edmx", "missing"),
        ("gone.jsonl", "missing"),
        ("round.jsonl", "unreadable"),
        ("typo.yaml", "missing"),
    ]


def test_an_unreadable_folder_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "good.jsonl", [{"name": "kept", "parameters": []}])
    write(tmp_path / "locked" / "x.jsonl", [{"name": "x", "parameters": []}])
    locked_file = write(tmp_path / "shut.json", OPENAPI)
    listdir, open_ = os.listdir, Path.open

    def refusing_listdir(path: str) -> list[str]:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    def refusing_open(path: Path, *args: object) -> object:
        if path == locked_file:
            raise PermissionError(13, "Permission denied")
        return open_(path, *args)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "listdir", refusing_listdir)
    monkeypatch.setattr(Path, "open", refusing_open)
    catalog = read_catalog([str(tmp_path)])
    assert [tool.name for tool in catalog.tools] == ["kept"]
    assert reasons(catalog) == [("locked", "unreadable"), ("shut.json", "unreadable")]
    assert all("Permission denied" in record.detail for record in catalog.rejected)


def test_gzipped_documents(tmp_path: Path) -> None:
    (tmp_path / "orders.json.gz").write_bytes(gzip.compress(json.dumps(OPENAPI).encode()))
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(b'{"name": "x", "parameters": []}\n'))
    assert [tool.id for tool in read_catalog([str(tmp_path)]).tools] == ["orders/listOrders", "rows/x"]


@pytest.mark.parametrize("store", [".", "store"])
def test_a_store_among_documents_is_not_read(tmp_path: Path, store: str) -> None:
    for name in ("CURRENT", "history.jsonl", "snapshots/5c4f/manifest.json"):
        write(tmp_path / store / name, "{}")
    write(tmp_path / "crm.yaml", "openapi: 3.1.0")
    found = find_documents([str(tmp_path)])
    assert [each.path for each in found.documents] == [tmp_path / "crm.yaml"]


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
