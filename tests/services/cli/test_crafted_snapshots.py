"""Snapshots that were altered together with their manifest: exit code 6 and the file, and nothing that commands a terminal."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inference import HashingEncoder
from retrieval.snapshot.manifest import content_id, file_digest
from retrieval.snapshot.publish import current_snapshot
from services.cli.build import DIFFERENT
from services.jobs.build import build_snapshot
from tests.harness.commands import Run

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
    """Copies the store, replaces the rows of a file, and makes the manifest and the id those of the new content."""

    def crafted(name: str, lines: Sequence[str], **settings: str) -> Path:
        store = tmp_path / "store"
        shutil.copytree(original, store)
        folder = current_snapshot(store)
        rows = [line.encode() + b"\n" for line in lines]
        (folder / f"{name}.jsonl").write_bytes(b"".join(rows))
        np.save(folder / f"{name}.offsets.npy", np.cumsum([0, *map(len, rows)], dtype=np.int64))
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        for file in (f"{name}.jsonl", f"{name}.offsets.npy"):
            path = folder / file
            manifest["files"][file] = {"bytes": path.stat().st_size, "sha256": file_digest(path)}
        del manifest["snapshot_id"]
        manifest |= settings
        id_ = content_id(manifest)
        (folder / "manifest.json").write_text(json.dumps({"snapshot_id": id_, **manifest}), encoding="utf-8")
        folder.rename(folder.with_name(id_))
        (store / "CURRENT").write_text(f"{id_}\n", encoding="utf-8")
        return store

    return crafted


def _rows(original: Path, file: str, /, **changes: Any) -> list[str]:
    lines = (current_snapshot(original) / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.dumps(json.loads(line) | changes) for line in lines]


def _commands(text: str) -> list[str]:
    return [one for one in text if one in _ESCAPE and not one.isprintable()]


def test_nothing_of_a_crafted_snapshot_commands_the_terminal(run: Run, craft: Craft, original: Path) -> None:
    rows = _rows(original, "tools", description=_ESCAPE, name=f"get {_ESCAPE}")
    store = craft("tools", rows)
    tool = json.loads(rows[0])["id"]
    for arguments, code in (
        (("show", tool, "--store", store), 0),
        (("show", tool, "--store", store, "--json"), 0),
        (("diff", original, store), DIFFERENT),
        (("diff", original, store, "--json"), DIFFERENT),
        (("search", "get a widget", "--store", store), 0),
    ):
        found, out, err = run(*arguments)
        assert found == code, err
        assert _commands(out + err) == []
    assert json.loads(run("show", tool, "--store", store, "--json")[1])["nodes"][0]["description"] == _ESCAPE
