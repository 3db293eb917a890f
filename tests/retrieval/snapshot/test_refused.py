"""Snapshots that are refused: damaged, crafted so that every hash fits, unsigned or signed by another."""

import base64
import json
import math
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import (
    EgotoolsError,
    InvalidArgumentError,
    NotFoundError,
    SnapshotCorruptError,
    SnapshotError,
    SnapshotSignatureError,
    SnapshotVersionError,
)
from retrieval.snapshot.history import history, rollback
from retrieval.snapshot.manifest import FORMAT_VERSION, content_id
from retrieval.snapshot.publish import current_snapshot, publish_again
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.signing import is_signature
from retrieval.snapshot.writer import SnapshotContent
from tests.retrieval.conftest import content_of, published
from tests.retrieval.snapshot.crafted import copied, rewrite_manifest
from tests.retrieval.snapshot.keys import create_key


def test_every_file_is_guarded_by_its_hash(tmp_path: Path, store: Path) -> None:
    source = current_snapshot(store)
    names = sorted(path.name for path in source.iterdir())
    assert len(names) > 20
    for name in names:
        for damage in ("flip", "truncate", "remove"):
            folder = tmp_path / f"{name}-{damage}"
            shutil.copytree(source, folder)
            path = folder / name
            data = bytearray(path.read_bytes())
            if damage == "remove":
                path.unlink()
            elif damage == "truncate":
                path.write_bytes(bytes(data[:-2]))
            else:
                data[len(data) // 2] ^= 1
                path.write_bytes(bytes(data))
            with pytest.raises((SnapshotError, NotFoundError)) as caught:
                open_snapshot(folder)
            if name != "manifest.json":
                assert name in caught.value.subject
            shutil.rmtree(folder)


@pytest.mark.parametrize("text", ["", "../../etc", "nothing-here", "\x00"])
def test_a_pointer_to_nowhere_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "CURRENT").write_text(text, encoding="utf-8")
    with pytest.raises((NotFoundError, SnapshotError, ValueError)) as caught:
        current_snapshot(tmp_path)
    assert not isinstance(caught.value, ValueError) or text == "\x00"


def test_an_empty_store_says_how_to_build(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="egotools build"):
        open_snapshot(tmp_path)


@pytest.mark.parametrize("damage", ["flip", "remove", "link", "more"])
def test_a_damaged_snapshot_is_not_published_again(tmp_path: Path, content: SnapshotContent, damage: str) -> None:
    first = published(tmp_path, content)
    second = published(tmp_path, replace(content, created_by="egotools other"))
    path = first / ("more" if damage == "more" else "tools.jsonl")
    whole = path.read_bytes() if path.exists() else b""
    if damage in ("remove", "link"):
        path.rename(tmp_path / "aside")
    if damage == "link":
        path.symlink_to(tmp_path / "aside")
    elif damage != "remove":
        path.write_bytes(whole[:-2] + b" \n")
    with pytest.raises(SnapshotCorruptError) as refused:
        publish_again(tmp_path, first.name)
    assert path.name in refused.value.subject
    assert current_snapshot(tmp_path) == second
    assert [entry.snapshot_id for entry in history(tmp_path)] == [first.name, second.name]


# -- crafted so that every hash fits -----------------------------------------------------------------------------------


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
    (folder / "nodes.tools.rabitq").write_bytes(b"Irfs")
    with pytest.raises(SnapshotCorruptError, match="does not list") as refused:
        open_snapshot(folder)
    assert refused.value.subject.endswith("nodes.tools.rabitq")


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
    if not value or not isinstance(value, dict | list) or random_.random() < 0.2:
        return random_.choice(_STRANGE)
    whole = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    key, act = random_.choice([*whole]), random_.random()
    if act < 0.1:
        del whole[key]
    elif act < 0.2:
        whole[random_.choice(["", "x", "..", f"{key}\ud800"])] = random_.choice(_STRANGE)
    else:
        whole[key] = _mutated(whole[key], random_)
    return [*whole.values()] if isinstance(value, list) else whole


def _id_of(manifest: Any) -> str:
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


# -- signatures --------------------------------------------------------------------------------------------------------


class _Keys:
    """Two keys: of this year and of the next."""

    def __init__(self, folder: Path) -> None:
        self.private = [folder / "this", folder / "next"]
        made = [create_key(path) for path in self.private]
        self.public = [public for public, _ in made]
        self.ids = [key_id for _, key_id in made]


@pytest.fixture
def keys(tmp_path: Path) -> _Keys:
    return _Keys(tmp_path)


@pytest.fixture
def signed(tmp_path: Path, content: SnapshotContent, keys: _Keys, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose snapshot the first key signed, which is trusted."""
    monkeypatch.setenv("EGOTOOLS_SIGNING_KEY", str(keys.private[0]))
    monkeypatch.setenv("EGOTOOLS_TRUSTED_KEYS", str(keys.public[0]))
    return published(tmp_path / "store", content).parent.parent


def _folder(store: Path) -> Path:
    return next(path for path in (store / "snapshots").iterdir())


def test_a_key_that_is_not_trusted_is_refused_by_its_id(
    signed: Path, keys: _Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EGOTOOLS_TRUSTED_KEYS", str(keys.public[1]))
    with pytest.raises(SnapshotSignatureError, match=keys.ids[0]):
        open_snapshot(signed)


def test_keys_are_exchanged_one_after_another(signed: Path, keys: _Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers trust both; then what is published is signed by the new key too; then they trust only this one."""
    monkeypatch.setenv("EGOTOOLS_TRUSTED_KEYS", f"{keys.public[0]}:{keys.public[1]}")
    open_snapshot(signed)
    publish_again(signed, _folder(signed).name, signing_key=keys.private[1])
    assert len([path for path in _folder(signed).iterdir() if is_signature(path.name)]) == 2
    for trusted in keys.public:
        monkeypatch.setenv("EGOTOOLS_TRUSTED_KEYS", str(trusted))
        open_snapshot(signed)


def test_an_altered_manifest_is_refused_although_its_hashes_fit(signed: Path) -> None:
    folder = _folder(signed)
    with open(folder / "tools.jsonl", "r+b") as file:
        file.write(b" ")
    rewrite_manifest(folder)
    with pytest.raises(SnapshotSignatureError, match="altered"):
        open_snapshot(folder)


@pytest.mark.parametrize(
    "damage", [b"", b"A", b"not base64 at all!", base64.b64encode(bytes(64)), base64.b64encode(b"x" * 500)]
)
def test_an_altered_signature_is_refused(signed: Path, keys: _Keys, damage: bytes) -> None:
    (_folder(signed) / f"manifest.{keys.ids[0]}.sig").write_bytes(damage)
    with pytest.raises(SnapshotSignatureError, match="altered"):
        open_snapshot(signed)


def test_an_unsigned_snapshot_is_not_gone_back_to(
    signed: Path, content: SnapshotContent, keys: _Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    first = open_snapshot(signed).id
    monkeypatch.delenv("EGOTOOLS_SIGNING_KEY")
    unsigned = published(signed, replace(content, created_by="egotools mallory")).name
    with pytest.raises(SnapshotSignatureError):
        open_snapshot(signed)
    assert rollback(signed).snapshot_id == first
    assert open_snapshot(signed).id == first
    with pytest.raises(SnapshotSignatureError):
        rollback(signed, unsigned)


@pytest.mark.parametrize(
    "text", [b"", b"hello", b"-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n", None, "private"]
)
def test_what_is_no_public_key_is_refused_by_its_file(
    signed: Path, tmp_path: Path, keys: _Keys, monkeypatch: pytest.MonkeyPatch, text: bytes | str | None
) -> None:
    file = tmp_path / "keys.pem"
    if text is not None:
        file.write_bytes(keys.private[0].read_bytes() if isinstance(text, str) else text)
    monkeypatch.setenv("EGOTOOLS_TRUSTED_KEYS", str(file))
    with pytest.raises(InvalidArgumentError) as refused:
        open_snapshot(signed)
    assert refused.value.subject == str(file)
    assert "PRIVATE" not in str(refused.value)


@pytest.mark.parametrize("name", ["missing", "this.pub"])
def test_what_is_no_private_key_is_refused_before_anything_is_published(
    tmp_path: Path, content: SnapshotContent, keys: _Keys, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("EGOTOOLS_SIGNING_KEY", str(tmp_path / name))
    with pytest.raises(InvalidArgumentError) as refused:
        published(tmp_path / "store", content)
    assert refused.value.subject.endswith(name)
    assert not (tmp_path / "store" / "CURRENT").exists()
    assert keys
