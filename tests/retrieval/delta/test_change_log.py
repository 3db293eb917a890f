"""The write-ahead log: what was acknowledged is there after any crash, and what was not is cut off."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ontology import SnapshotCorruptError, StorageError, Tool
from retrieval.delta.change_log import ChangeLog
from retrieval.snapshot.carry_changes import carrying
from retrieval.snapshot.change_records import Change, changed_id, framed, log_file, read_changes

BASE = "0123456789abcdef"
CHANGES = (
    Change(upserted=(Tool(id="hr/list", name="list", description="Lists employees — alle."),)),
    Change(deleted=("hr/get", "hr/list")),
    Change(upserted=(Tool(id="a", name="a"), Tool(id="b", name="b"))),
)


def _written(store: Path, changes: tuple[Change, ...] = CHANGES) -> Path:
    log = ChangeLog(store, BASE)
    for change in changes:
        log.append(change)
    log.close()
    return log.path


def test_changes_are_read_again_in_their_order(tmp_path: Path) -> None:
    _written(tmp_path)
    log = ChangeLog(tmp_path, BASE)
    assert [Change.from_content(content) for content in log.contents] == list(CHANGES)
    assert log.snapshot_id == changed_id(BASE, [change.content() for change in CHANGES])
    assert log.snapshot_id.startswith(f"{BASE}+") and len(log.snapshot_id) == len(BASE) + 9


def test_without_a_change_there_is_no_file_and_the_id_is_that_of_the_snapshot(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path, BASE)
    assert (log.snapshot_id, list(tmp_path.iterdir())) == (BASE, [])


def test_a_torn_tail_is_cut_at_every_byte(tmp_path: Path) -> None:
    path = _written(tmp_path, CHANGES[:2])
    first = path.stat().st_size
    _written(tmp_path, CHANGES[2:])
    whole = path.read_bytes()
    for size in range(first, len(whole)):
        path.write_bytes(whole[:size])
        log = ChangeLog(tmp_path, BASE)
        assert [Change.from_content(content) for content in log.contents] == list(CHANGES[:2])
        assert path.stat().st_size == first
        log.append(CHANGES[2])
        log.close()
        assert path.read_bytes() == whole


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff" * 100, b"\x10\0\0\0"], ids=["zeros", "garbage", "short"])
def test_what_a_crash_left_behind_the_last_record_is_cut(tmp_path: Path, tail: bytes) -> None:
    path = _written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    log = ChangeLog(tmp_path, BASE)
    assert len(log.contents) == len(CHANGES)
    assert path.read_bytes() == whole


def test_a_flipped_byte_before_the_last_record_is_an_error_and_nothing_is_cut(tmp_path: Path) -> None:
    path = _written(tmp_path)
    whole = path.read_bytes()
    last = len(whole) - len(CHANGES[-1].content()) - 12
    for place in range(last):
        damaged = bytearray(whole)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        with pytest.raises(SnapshotCorruptError):
            ChangeLog(tmp_path, BASE)
        assert path.read_bytes() == bytes(damaged)


def _failing(call: Callable[..., Any], at: int, counted: list[int]) -> Callable[..., Any]:
    def failing(*arguments: Any, **named: Any) -> Any:
        counted[0] += 1
        if counted[0] == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*arguments, **named)

    return failing


@pytest.mark.parametrize("known", [0, 2])
def test_a_full_disk_at_any_write_refuses_the_change_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    failed = 0
    for at in range(1, 20):
        store = tmp_path / str(at)
        store.mkdir()
        log = ChangeLog(store, BASE)
        for change in CHANGES[:known]:
            log.append(change)
        counted = [0]
        with monkeypatch.context() as patch:
            for name in ("pwrite", "fsync", "ftruncate", "open", "link"):
                patch.setattr(os, name, _failing(getattr(os, name), at, counted))
            try:
                log.append(CHANGES[2])
            except StorageError as error:
                failed += 1
                assert error.remedy
                assert len(log.contents) == known
        refused = len(log.contents) == known
        log.append(CHANGES[0])
        log.close()
        again = ChangeLog(store, BASE)
        wanted = [*CHANGES[:known], *([] if refused else [CHANGES[2]]), CHANGES[0]]
        assert [Change.from_content(content) for content in again.contents] == wanted
        again.close()
    assert failed >= 2


def _fail_to_write_and_to_take_back(patch: pytest.MonkeyPatch, fails: str) -> None:
    pwrite = os.pwrite

    def failed(*_: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def half(file: int, data: bytes, at: int) -> int:
        pwrite(file, bytes(data)[:10], at)
        return failed()

    patch.setattr(os, fails, half if fails == "pwrite" else failed)
    patch.setattr(os, "ftruncate", failed)


@pytest.mark.parametrize("fails", ["pwrite", "fsync"])
def test_nobody_else_writes_before_a_failed_write_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """Else the other's change is acknowledged, and cut off by the one whose write failed."""
    log = ChangeLog(tmp_path, BASE)
    log.append(CHANGES[0])
    whole = log.path.stat().st_size
    with monkeypatch.context() as patch:
        _fail_to_write_and_to_take_back(patch, fails)
        for _ in range(2):
            with pytest.raises(StorageError):
                log.append(CHANGES[1])
    assert log.path.stat().st_size > whole
    other = ChangeLog(tmp_path, BASE)
    with pytest.raises(StorageError, match="another process changes this catalogue"):
        other.append(CHANGES[1])
    log.append(CHANGES[2])
    log.close()
    assert read_changes(tmp_path, BASE) == [CHANGES[0].content(), CHANGES[2].content()]


@pytest.mark.parametrize("fails", ["pwrite", "fsync"])
def test_a_log_that_was_closed_over_a_failed_write_cuts_nothing_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    log = ChangeLog(tmp_path, BASE)
    log.append(CHANGES[0])
    with monkeypatch.context() as patch:
        _fail_to_write_and_to_take_back(patch, fails)
        with pytest.raises(StorageError):
            log.append(CHANGES[1])
    log.close()
    other = ChangeLog(tmp_path, BASE)
    other.append(CHANGES[2])
    other.close()
    with pytest.raises(StorageError, match="another process has changed this catalogue"):
        log.append(CHANGES[0])
    assert read_changes(tmp_path, BASE) == other.contents


def test_a_second_process_reads_the_changes_and_adds_none(tmp_path: Path) -> None:
    writer = ChangeLog(tmp_path, BASE)
    writer.append(CHANGES[0])
    other = ChangeLog(tmp_path, BASE)  # a lock belongs to an open file, so this is as another process
    assert len(other.contents) == 1
    with pytest.raises(StorageError, match="another process changes this catalogue"):
        other.append(CHANGES[1])
    writer.append(CHANGES[2])
    writer.close()
    with pytest.raises(StorageError, match="another process has changed this catalogue"):
        other.append(CHANGES[1])  # it does not know the last change, and would write over it
    assert len(read_changes(tmp_path, BASE, 2)) == 2


@pytest.mark.parametrize("harm", ["remove", "replace", "cut", "empty", "grow"])
def test_a_log_that_is_no_longer_the_open_file_takes_no_change(tmp_path: Path, harm: str) -> None:
    log = ChangeLog(tmp_path, BASE)
    log.append(CHANGES[0])
    log.append(CHANGES[1])
    whole, aside = log.path.read_bytes(), tmp_path / "aside"
    if harm in ("remove", "replace"):
        log.path.rename(aside)
    if harm == "replace":
        log.path.write_bytes(whole)  # the same, but not the file that is open
    elif harm != "remove":
        log.path.write_bytes({"cut": whole[:-1], "empty": b"", "grow": whole + b"x"}[harm])
    there = log.path.read_bytes() if log.path.exists() else None
    for _ in range(2):
        with pytest.raises(StorageError, match="somebody has removed, replaced or changed") as refused:
            log.append(CHANGES[2])
        assert refused.value.subject == str(log.path) and "Put the file back" in refused.value.remedy
        assert len(log.contents) == 2 and (log.path.read_bytes() if log.path.exists() else None) == there
    if harm in ("remove", "replace"):
        aside.rename(log.path)
    else:
        log.path.write_bytes(whole)
    log.append(CHANGES[2])
    log.close()
    assert list(ChangeLog(tmp_path, BASE).contents) == [change.content() for change in CHANGES]


@pytest.mark.parametrize("harm", ["remove", "cut"])
def test_a_log_that_goes_while_a_change_is_written_has_not_acknowledged_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    log = ChangeLog(tmp_path, BASE)
    log.append(CHANGES[0])
    whole, aside, fsync = log.path.read_bytes(), tmp_path / "aside", os.fsync

    def flushed(file: int) -> None:
        fsync(file)
        if harm == "remove" and log.path.exists():
            log.path.rename(aside)
        elif harm == "cut":
            os.truncate(log.path, 10)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", flushed)
        with pytest.raises(StorageError, match="somebody"):
            log.append(CHANGES[1])
    assert len(log.contents) == 1
    if harm == "remove":
        assert aside.read_bytes() == whole, "nothing of the change was kept"


def test_prepared_records_count_only_after_their_snapshot_is_published(tmp_path: Path) -> None:
    _written(tmp_path)
    new, current = "fedcba9876543210", tmp_path / "CURRENT"
    prepared = log_file(tmp_path, new).with_suffix(".next")

    def dies(at: str) -> None:
        """Leave what a process leaves that dies before or after it has published."""
        current.write_text(f"{BASE}\n")
        with carrying(tmp_path, BASE, new, 1):
            current.write_text(f"{new}\n")
            content = prepared.read_bytes()
        log_file(tmp_path, new).unlink()
        prepared.write_bytes(content)
        current.write_text(f"{BASE if at == 'before' else new}\n")

    dies("after")
    ChangeLog(tmp_path, BASE).close()  # another process that still serves the old snapshot loses nothing
    taken = ChangeLog(tmp_path, new)
    assert [Change.from_content(content) for content in taken.contents] == list(CHANGES[1:])
    taken.close()
    dies("before")
    ChangeLog(tmp_path, BASE).close()
    assert not prepared.exists() and ChangeLog(tmp_path, new).contents == []
    assert len(ChangeLog(tmp_path, BASE).contents) == len(CHANGES)


def test_a_failed_publication_carries_nothing(tmp_path: Path) -> None:
    _written(tmp_path)
    with pytest.raises(ValueError, match="no"), carrying(tmp_path, BASE, "fedcba9876543210"):
        raise ValueError("no")
    assert [path.name for path in (tmp_path / "changes").iterdir()] == [f"{BASE}.log"]


def test_a_log_that_another_process_writes_is_neither_removed_nor_replaced(tmp_path: Path) -> None:
    other = ChangeLog(tmp_path, BASE)
    writer = ChangeLog(tmp_path, BASE)
    writer.append(CHANGES[0])
    for call in (other.remove, lambda: other.replace([])):
        with pytest.raises(StorageError, match="another process"):
            call()
    assert len(read_changes(tmp_path, BASE)) == 1
    ChangeLog(tmp_path, "fedcba9876543210").append(CHANGES[1])
    with pytest.raises(StorageError, match="another process"), carrying(tmp_path, "fedcba9876543210", BASE):
        pytest.fail("it must not be published")


def test_a_large_torn_record_is_cut_fast(tmp_path: Path) -> None:
    path = _written(tmp_path, CHANGES[:1])
    whole = path.read_bytes()
    path.write_bytes(whole + framed(b'{"upsert":[' + os.urandom(8 * 2**20))[:-1])
    started = time.process_time()
    assert len(read_changes(tmp_path, BASE)) == 1
    assert time.process_time() - started < 0.5


def test_the_log_of_another_snapshot_is_refused(tmp_path: Path) -> None:
    _written(tmp_path).rename(log_file(tmp_path, "fedcba9876543210"))
    with pytest.raises(SnapshotCorruptError, match="no log of this snapshot"):
        ChangeLog(tmp_path, "fedcba9876543210")


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_log_that_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = log_file(tmp_path, "base")
    path.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for read in (lambda: ChangeLog(tmp_path, "base"), lambda: read_changes(tmp_path, "base")):
        with pytest.raises(StorageError):
            read()
