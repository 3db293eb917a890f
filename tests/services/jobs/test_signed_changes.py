"""Changes where keys are trusted: what none of these keys signed is not served, and what is merged is signed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ontology.errors import PermissionDeniedError, SnapshotSignatureError
from retrieval.delta.change_log import ChangeLog
from retrieval.snapshot.change_records import Change, changed_id, read_changes
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.reader import open_snapshot
from retrieval.snapshot.signing import create_key
from scripts.reliability.changing import Changing, built, row
from services.jobs.merge_changes import merge_changes
from services.server.catalog_store import CatalogStore

BASE, OTHER = "0123456789abcdef", "fedcba9876543210"
CHANGES = tuple(Change(deleted=(f"hr/{name}",)) for name in "abc")


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key that signs and is trusted."""
    path = tmp_path / "key"
    public, _ = create_key(path)
    monkeypatch.setenv("EGOTOOLS_SIGNING_KEY", str(path))
    monkeypatch.setenv("EGOTOOLS_TRUSTED_KEYS", str(public))
    return path


def _written(store: Path, base_id: str = BASE) -> ChangeLog:
    store.mkdir(exist_ok=True)
    log = ChangeLog(store, base_id)
    for change in CHANGES:
        log.append(change)
    log.close()
    return log


def test_signed_changes_are_read_as_they_were_made(tmp_path: Path, key: Path) -> None:
    log = _written(tmp_path)
    read = ChangeLog(tmp_path, BASE)
    assert read.changes() == list(CHANGES)
    assert read.snapshot_id == log.snapshot_id == changed_id(BASE, [change.content() for change in CHANGES])
    read.replace(read.contents[1:])
    assert ChangeLog(tmp_path, BASE).changes() == list(CHANGES[1:]), "they are signed for their new places"


def test_what_no_trusted_key_signed_for_its_place_is_refused(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = [bytes(each) for each in _written(tmp_path / "good").contents]
    elsewhere = [bytes(each) for each in _written(tmp_path / "good", OTHER).contents]
    create_key(tmp_path / "stranger")
    with monkeypatch.context() as stranger:
        stranger.delenv("EGOTOOLS_TRUSTED_KEYS")
        stranger.setenv("EGOTOOLS_SIGNING_KEY", str(tmp_path / "stranger"))
        forged = [bytes(each) for each in _written(tmp_path / "forged").contents]
    unsigned = [change.content() for change in CHANGES]
    altered = [signed[0].replace(b"hr/a", b"hr/x"), *signed[1:]]
    for number, contents in enumerate(
        (unsigned, elsewhere, forged, altered, signed[1:], signed[::2], signed[::-1], [*signed, unsigned[0]])
    ):
        store = tmp_path / str(number)
        _write_raw(store, contents, monkeypatch)
        with pytest.raises(SnapshotSignatureError, match="is not signed"):
            ChangeLog(store, BASE)
        with pytest.raises(SnapshotSignatureError, match="is not signed"):
            read_changes(store, BASE)


def _write_raw(store: Path, contents: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Write records as one who holds the store alone can: whole, and with checksums that fit."""
    with monkeypatch.context() as patched:
        patched.setattr("retrieval.snapshot.change_records.signed", lambda base_id, before, these: list(these))
        patched.delenv("EGOTOOLS_TRUSTED_KEYS")
        log = ChangeLog(store, BASE)
        (store / "changes").mkdir(parents=True)
        log.replace(contents)
        log.close()


def test_a_tool_that_was_put_into_the_log_is_not_served(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    base = built(store)
    with monkeypatch.context() as attacker:
        attacker.delenv("EGOTOOLS_TRUSTED_KEYS")
        attacker.delenv("EGOTOOLS_SIGNING_KEY")
        attacked = Changing(store)
        attacked.upsert(row(99))
        attacked.changes.close()
    with pytest.raises(SnapshotSignatureError, match="change 1 is not signed"):
        Changing(store)
    with pytest.raises(SnapshotSignatureError, match="change 1 is not signed"):
        CatalogStore(path=store).published()
    (store / "changes" / f"{base}.log").unlink()
    assert row(99)["id"] not in Changing(store).tools()


def test_signed_changes_are_served_again_and_merged_into_a_signed_snapshot(tmp_path: Path, key: Path) -> None:
    store = tmp_path / "store"
    base = built(store)
    changing = Changing(store)
    changing.upsert(row(99))
    changing.upsert(row(98))
    state = changing.engine.snapshot_id
    again = Changing.again(changing)
    assert again.engine.snapshot_id == state and row(99)["id"] in again.tools()
    merged = again.changes.merge("")
    assert merged == published_id(store) != base and open_snapshot(store).id == merged


@pytest.mark.parametrize("signing", ["", "stranger"])
def test_without_a_trusted_key_to_sign_with_nothing_is_changed(
    signing: str, tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    base = built(store)
    first = Changing(store)
    first.upsert(row(99))
    first.changes.close()
    create_key(tmp_path / "stranger")
    monkeypatch.setenv("EGOTOOLS_SIGNING_KEY", signing and str(tmp_path / signing))
    changing = Changing(store)
    before = changing.tools()
    with pytest.raises(PermissionDeniedError, match="EGOTOOLS_SIGNING_KEY"):
        changing.upsert(row(98))
    with pytest.raises(PermissionDeniedError, match="EGOTOOLS_SIGNING_KEY"):
        changing.delete(row(1)["id"])
    with pytest.raises(PermissionDeniedError, match="EGOTOOLS_SIGNING_KEY"):
        merge_changes(store, base, 1)
    assert changing.tools() == before and published_id(store) == base
