"""Appending: all of the data is on the disk, or nothing of it is in the file."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ontology.files import append, is_named


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "log").write_bytes(b"one\n")
    return tmp_path / "log"


@pytest.fixture
def file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR)
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


def test_a_file_that_is_removed_or_replaced_is_told_from_the_open_one(path: Path, file: int) -> None:
    assert is_named(file, path)
    path.rename(path.with_name("aside"))
    assert not is_named(file, path)
    path.symlink_to("aside")
    assert not is_named(file, path)
