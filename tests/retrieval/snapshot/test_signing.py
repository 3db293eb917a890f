"""Signed snapshots: where keys are trusted, nothing is loaded that none of them signed as it is."""

import base64
from pathlib import Path

import pytest

from ontology.errors import InvalidArgumentError, SnapshotSignatureError
from retrieval.snapshot.history import rollback
from retrieval.snapshot.publish import publish_again
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.signing import is_signature
from retrieval.snapshot.writer import SnapshotContent
from tests.harness.keys import create_key
from tests.retrieval.conftest import published
from tests.retrieval.snapshot.crafted import rewrite_manifest


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


def test_a_signed_snapshot_is_loaded_and_its_id_is_that_of_the_unsigned_one(
    signed: Path, tmp_path: Path, content: SnapshotContent, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_snapshot(signed).tool_count == 6
    monkeypatch.delenv("EGOTOOLS_SIGNING_KEY")
    assert published(tmp_path / "other", content).name == _folder(signed).name
    with pytest.raises(SnapshotSignatureError, match="not signed"):
        open_snapshot(tmp_path / "other")
    monkeypatch.delenv("EGOTOOLS_TRUSTED_KEYS")
    assert open_snapshot(tmp_path / "other").id == open_snapshot(signed).id


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
