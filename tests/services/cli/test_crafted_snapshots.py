"""Snapshots that were altered together with their manifest: they command no terminal, and choose nothing to import or to contact."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference import HashingEncoder
from ontology.errors import ModelNotAllowedError, SnapshotError
from retrieval.snapshot.manifest import content_id, file_digest
from retrieval.snapshot.publish import current_snapshot
from services.cli.build import DIFFERENT
from services.jobs.build import build_snapshot
from services.server.process import serve_catalogs
from services.server.settings import CatalogEntry, ServerSettings
from tests.eval.planted import written
from tests.harness.commands import Run
from tests.harness.http_server import Loopback, Reply

_ESCAPE = "\x1b]0;owned\x07\x9b2J\u202e"
_TOOL = {
    "name": "get_widget",
    "description": "Get a widget by its number, such as WID-1234.",
    "inputSchema": {"type": "object", "properties": {"id": {"type": "string", "pattern": "^WID-\\d{4}$"}}},
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crafted")
    (folder / "api.json").write_text(json.dumps([_TOOL]), encoding="utf-8")
    build_snapshot([str(folder / "api.json")], folder / "store", encoder=HashingEncoder())
    return folder / "store"


Craft = Callable[..., Path]


@pytest.fixture
def craft(original: Path, tmp_path: Path) -> Craft:
    """Copies the store, replaces the rows of its tools and the name of its encoder, and makes the manifest and the id those of the new
    content."""

    def crafted(*, tools: Sequence[str] = (), encoder: str = "hashing.v1") -> Path:
        store = tmp_path / f"crafted-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(original, store)
        folder = current_snapshot(store)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        rows = [line.encode() + b"\n" for line in tools]
        if rows:
            (folder / "tools.jsonl").write_bytes(b"".join(rows))
            np.save(folder / "tools.offsets.npy", np.cumsum([0, *map(len, rows)], dtype=np.int64))
        for file in ("tools.jsonl", "tools.offsets.npy"):
            path = folder / file
            manifest["files"][file] = {"bytes": path.stat().st_size, "sha256": file_digest(path)}
        manifest["encoder"]["name"] = encoder
        del manifest["snapshot_id"]
        id_ = content_id(manifest)
        (folder / "manifest.json").write_text(json.dumps({"snapshot_id": id_, **manifest}), encoding="utf-8")
        folder.rename(folder.with_name(id_))
        (store / "CURRENT").write_text(f"{id_}\n", encoding="utf-8")
        return store

    return crafted


def test_nothing_of_a_crafted_snapshot_commands_the_terminal(run: Run, craft: Craft, original: Path) -> None:
    lines = (current_snapshot(original) / "tools.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.dumps(json.loads(line) | {"description": _ESCAPE, "name": f"get {_ESCAPE}"}) for line in lines]
    store, tool = craft(tools=rows), json.loads(rows[0])["id"]
    for arguments, code in (
        (("show", tool, "--store", store), 0),
        (("show", tool, "--store", store, "--json"), 0),
        (("diff", original, store), DIFFERENT),
        (("diff", original, store, "--json"), DIFFERENT),
        (("search", "get a widget", "--store", store), 0),
    ):
        found, out, err = run(*arguments)
        assert found == code, err
        assert [one for one in out + err if one in _ESCAPE and not one.isprintable()] == []
    assert json.loads(run("show", tool, "--store", store, "--json")[1])["nodes"][0]["description"] == _ESCAPE


@pytest.fixture
def catcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """Keeps every request; with its address in a crafted manifest, it must stay silent."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-operator-S3CRET-key")
    with Loopback(lambda asked: Reply(status=500)) as server:
        yield server


def test_a_crafted_manifest_makes_nobody_contact_or_import_anything(
    craft: Craft, tmp_path: Path, catcher: Loopback, run: Run
) -> None:
    (tmp_path / "weights").mkdir()
    out = tmp_path / "out"
    rows = [{"id": str(number), "query": f"find {number}", "tools": [f"a/find{number}"]} for number in range(30)]
    queries = written(tmp_path / "queries.jsonl", *rows)
    for name in (f"openai:m@{catcher.url}/v1", f"sentence-transformers:{tmp_path / 'weights'}"):
        snapshot = craft(encoder=name)
        with pytest.raises(ModelNotAllowedError, match="neither embedded nor allowed") as caught:
            serve_catalogs({"": CatalogEntry(store=snapshot)}, ServerSettings(port=0))
        assert (caught.value.grpc_code, caught.value.exit_code) == ("FAILED_PRECONDITION", SnapshotError.exit_code)
        for command in (
            ["search", "find a thing", "--store", snapshot],
            ["datagen", snapshot, "--out", out / "d"],
            ["eval", snapshot, "--queries", queries, "--out", out / "e"],
            ["tune", snapshot, "--on", queries, "--out", out / "t"],
        ):
            code, _, error = run(*command)
            assert (code, "--allow-model" in error) == (SnapshotError.exit_code, True), error
    assert catcher.arrived == []
    assert "sentence_transformers" not in sys.modules


def test_a_model_that_the_operator_names_is_used(
    craft: Craft, catcher: Loopback, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"openai:m@{catcher.url}/v1"
    search: tuple[Any, ...] = ("search", "find", "--store", craft(encoder=name))
    assert run(*search, "--allow-model", "openai:m")[0] == SnapshotError.exit_code and catcher.arrived == []
    assert run(*search, "--allow-model", name)[0] != SnapshotError.exit_code
    asked = len(catcher.arrived)
    monkeypatch.setenv("EGOTOOLS_ALLOWED_MODELS", f"other, {name}")
    assert run(*search)[0] != SnapshotError.exit_code
    assert len(catcher.arrived) > asked > 0
