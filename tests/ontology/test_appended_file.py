"""Appending: all of the data is on the disk, or nothing of it is in the file; a file that was removed or replaced is noticed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ontology.files import append, is_named, locked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "log").write_bytes(b"one\n")
    return tmp_path / "log"


@pytest.fixture
def file(path: Path) -> Iterator[int]:
    descriptor = locked(path)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_disk_that_fails_keeps_nothing_of_it(
    path: Path, file: int, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    written = [2, 0]  # a part, then nothing
    pwrite = os.pwrite

    def full(descriptor: int, data: bytes = b"", at: int = 0) -> int:
        if call == "pwrite" and (count := written.pop(0)):
            return pwrite(descriptor, data[:count], at)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space left"):
            append(file, b"two\n", 4)
    assert path.read_bytes() == b"one\n"
    assert append(file, b"two\n", 4) == 8


def test_a_file_that_is_locked_removed_or_a_link_is_told_from_the_open_one(path: Path, file: int) -> None:
    with pytest.raises(BlockingIOError):
        locked(path)
    assert is_named(file, path)
    path.rename(path.with_name("aside"))
    assert not is_named(file, path)
    path.write_bytes(b"one\n")
    assert not is_named(file, path)
    path.unlink()
    path.symlink_to("aside")
    assert not is_named(file, path)
    with pytest.raises(OSError, match="symbolic links"):
        locked(path)


def test_a_file_that_is_removed_while_it_is_locked_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two processes would each append to a file of their own, of which one has no name."""
    opened = os.open

    def removed(name: Path, flags: int) -> int:
        descriptor = opened(name, flags)
        path.unlink()
        return descriptor

    monkeypatch.setattr(os, "open", removed)
    with pytest.raises(BlockingIOError, match="replaced"):
        locked(path)
