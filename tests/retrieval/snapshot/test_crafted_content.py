"""Snapshots whose hashes fit but whose manifest or folder cannot be meant: each is refused in words."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import EgotoolsError, SnapshotCorruptError, SnapshotError, SnapshotVersionError
from retrieval.snapshot.manifest import FORMAT_VERSION
from retrieval.snapshot.reader import open_snapshot
from tests.retrieval.conftest import content_of, published
from tests.retrieval.snapshot.crafted import copied, rewrite_manifest

FILE = {"bytes": 1, "sha256": "0" * 64}


@pytest.mark.parametrize(
    "name",
    [
        "../CURRENT",
        "/etc/hostname",
        "..",
        "a/b",
        "a\\b",
        "",
        ".hidden",
        "manifest.json",
        "a\nb",
        "x" * 300,
        "manifest.x",
    ],
)
def test_a_manifest_lists_only_files_of_its_folder(tmp_path: Path, store: Path, name: str) -> None:
    folder = copied(store, tmp_path / "copy")
    rewrite_manifest(folder, lambda manifest: manifest["files"].update({name: FILE}))
    with pytest.raises(SnapshotCorruptError, match=r"cannot be read: 'files\."):
        open_snapshot(folder)


@pytest.mark.parametrize("version", [0, 1, 5, FORMAT_VERSION + 1, 99, None, "6", 6.5, True, [6]])
def test_any_other_format_is_refused_with_a_remedy(tmp_path: Path, store: Path, version: object) -> None:
    folder = copied(store, tmp_path / "copy")
    rewrite_manifest(folder, lambda manifest: manifest.update(format_version=version))
    with pytest.raises(SnapshotVersionError, match=f"this egotools reads {FORMAT_VERSION}") as refused:
        open_snapshot(folder)
    assert "Build it again" in refused.value.remedy


def test_a_file_that_is_not_listed_is_refused(tmp_path: Path, store: Path) -> None:
    folder = copied(store, tmp_path / "copy")
    (folder / "nodes.tools.hnsw").write_bytes(b"IHNs")
    with pytest.raises(SnapshotCorruptError, match="does not list") as refused:
        open_snapshot(folder)
    assert refused.value.subject.endswith("nodes.tools.hnsw")


def test_a_link_in_the_place_of_a_snapshot_is_refused(tmp_path: Path, ontology: Any) -> None:
    folder = published(tmp_path / "store", content_of((), ontology))
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SnapshotError, match="link"):
        open_snapshot(tmp_path / "store")


_STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 10**400, 1.5, math.nan, math.inf, "", "x", "\ud800", "../x", "\x00", "é" * 300),
    *([], {}, [[]], {"": ""}, [None], {"name": 1}, "[" * 50, {"a": {"b": {"c": []}}}),
)


def _mutated(value: Any, random_: random.Random) -> Any:
    """The value with one part of it replaced, removed or added."""
    if isinstance(value, dict) and value and random_.random() < 0.9:
        key = random_.choice(sorted(value))
        act = random_.random()
        if act < 0.1:
            return {each: inner for each, inner in value.items() if each != key}
        if act < 0.2:
            return {**value, random_.choice(["", "x", "..", key + "\ud800"]): random_.choice(_STRANGE)}
        return {**value, key: _mutated(value[key], random_)}
    if isinstance(value, list) and value and random_.random() < 0.7:
        at = random_.randrange(len(value))
        return [*value[:at], _mutated(value[at], random_), *value[at + 1 :]]
    return random_.choice(_STRANGE)


def _id_of(manifest: Any) -> str:
    from retrieval.snapshot.manifest import content_id

    try:
        return content_id({key: value for key, value in manifest.items() if key != "snapshot_id"})
    except (AttributeError, ValueError):
        return "0" * 16


@pytest.mark.parametrize("seed", range(4))
def test_no_mutation_of_a_manifest_is_anything_but_a_typed_error(tmp_path: Path, store: Path, seed: int) -> None:
    """Each opens, or is refused in words of a bounded length. 150 mutations for each seed."""
    random_ = random.Random(seed)
    folder = copied(store, tmp_path / "copy")
    path = folder / "manifest.json"
    original = json.loads(path.read_text(encoding="utf-8"))
    opened = refused = 0
    for _ in range(150):
        manifest = original
        for _ in range(random_.choice((1, 1, 2))):
            manifest = _mutated(manifest, random_)
        if isinstance(manifest, dict) and random_.random() < 0.9:
            manifest["snapshot_id"] = _id_of(manifest)
        text = json.dumps(manifest)
        if random_.random() < 0.05:
            text = text[: random_.randrange(len(text))]
        path.write_text(text, encoding="utf-8")
        try:
            open_snapshot(folder)
        except EgotoolsError as error:
            refused += 1
            assert len(str(error)) < 2_000
        else:
            opened += 1
    assert refused > 100
    assert opened + refused == 150
