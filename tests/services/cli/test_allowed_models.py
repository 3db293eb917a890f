"""A snapshot may not choose what is imported or contacted: only models that the operator allows are used."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from inference import (
    HashingEncoder,
)
from ontology.errors import ModelNotAllowedError, SnapshotError
from retrieval.snapshot.manifest import content_id
from retrieval.snapshot.publish import current_snapshot
from services.jobs.build import build_snapshot
from services.server.process import serve_catalogs
from services.server.settings import CatalogEntry, ServerSettings
from tests.harness.commands import Run
from tests.harness.http_server import Arrived, Loopback, Reply

KEY = "sk-operator-S3CRET-key"
TOOLS = [{"id": "a/find", "name": "find", "description": "Find a thing by name.", "parameters": [{"name": "name"}]}]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    (folder / "tools.jsonl").write_text("\n".join(map(json.dumps, TOOLS)), encoding="utf-8")
    build_snapshot([str(folder / "tools.jsonl")], folder / "made", encoder=HashingEncoder(), cached=False)
    return folder / "made"


@pytest.fixture
def catcher() -> Loopback:
    """Keeps every request; with its address in a crafted manifest, it must stay silent."""

    def answer(asked: Arrived) -> Reply:
        return Reply(status=500)

    return Loopback(answer)


def crafted(store: Path, copy: Path, encoder: str) -> Path:
    """A copy of the snapshot whose manifest names another encoder, with the id that belongs to it."""
    shutil.copytree(current_snapshot(store), copy)
    content = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    content["encoder"]["name"] = encoder
    content["snapshot_id"] = content_id({key: value for key, value in content.items() if key != "snapshot_id"})
    (copy / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    return copy


def test_a_crafted_manifest_makes_nobody_contact_or_import_anything(
    store: Path, tmp_path: Path, catcher: Loopback, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    weights = tmp_path / "weights"
    weights.mkdir()
    rows = [{"id": str(number), "query": f"find {number}", "tools": [f"a/find{number}"]} for number in range(30)]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for number, name in enumerate((f"openai:m@{catcher.url}/v1", f"sentence-transformers:{weights}")):
        snapshot = crafted(store, tmp_path / f"crafted-{number}", name)
        with pytest.raises(ModelNotAllowedError, match="neither embedded nor allowed") as caught:
            serve_catalogs({"": CatalogEntry(store=snapshot)}, ServerSettings(port=0))
        assert (caught.value.grpc_code, caught.value.exit_code) == ("FAILED_PRECONDITION", SnapshotError.exit_code)
        queries, out = tmp_path / "queries.jsonl", tmp_path / f"out-{number}"
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
    catcher.stop()


def test_a_model_that_the_operator_names_is_used(
    store: Path, tmp_path: Path, catcher: Loopback, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"openai:m@{catcher.url}/v1"
    snapshot = crafted(store, tmp_path / "crafted", name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert run("search", "find", "--store", snapshot, "--allow-model", "openai:m")[0] == SnapshotError.exit_code
    assert catcher.arrived == []
    assert run("search", "find", "--store", snapshot, "--allow-model", name)[0] != SnapshotError.exit_code
    asked = len(catcher.arrived)
    assert asked > 0
    monkeypatch.setenv("EGOTOOLS_ALLOWED_MODELS", f"other, {name}")
    assert run("search", "find", "--store", snapshot)[0] != SnapshotError.exit_code
    assert len(catcher.arrived) > asked
    catcher.stop()
