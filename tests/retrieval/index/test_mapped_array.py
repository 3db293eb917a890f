"""Arrays of a snapshot: plain, read-only, read by one thread at a time, and mapped where they are large."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retrieval.index.mapped_array import MAPPED_FROM_BYTES, load_mapped, map_bytes
from tests.conftest import LINUX

_SMALL, _LARGE = 6, MAPPED_FROM_BYTES // 8


@pytest.mark.parametrize("size", [_SMALL, _LARGE])
def test_an_array_is_plain_and_read_only(tmp_path: Path, size: int) -> None:
    np.save(tmp_path / "a.npy", np.arange(size).reshape(2, -1))
    found = load_mapped(tmp_path / "a.npy")
    assert type(found) is np.ndarray and found.tolist() == np.arange(size).reshape(2, -1).tolist()
    assert not found.flags.writeable


@pytest.mark.parametrize("size", [_SMALL, _LARGE])
def test_an_object_is_refused(tmp_path: Path, size: int) -> None:
    np.save(tmp_path / "a.npy", np.array([{"key": number} for number in range(size)], dtype=object))
    with pytest.raises(ValueError, match=r"Python objects|Object arrays cannot be loaded"):
        load_mapped(tmp_path / "a.npy")


@LINUX
def test_only_a_large_file_holds_a_descriptor(tmp_path: Path) -> None:
    for name, size in (("small", _SMALL), ("large", _LARGE)):
        np.save(tmp_path / f"{name}.npy", np.arange(size))
        (tmp_path / f"{name}.txt").write_bytes(b"x" * 8 * size)
    small = load_mapped(tmp_path / "small.npy"), map_bytes(tmp_path / "small.txt")
    assert open_files(tmp_path) == []
    large = load_mapped(tmp_path / "large.npy"), map_bytes(tmp_path / "large.txt")
    assert sorted(open_files(tmp_path)) == ["large.npy", "large.txt"]
    assert [small[1][:], large[1][:]] == [b"x" * 8 * _SMALL, b"x" * 8 * _LARGE]
    del large
    assert open_files(tmp_path) == []


def open_files(folder: Path) -> list[str]:
    """The names of the files of a folder that this process has open."""
    found = (Path(os.readlink(link)) for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return [path.name for path in found if path.parent == folder]


def test_two_threads_never_read_a_header_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they do, CPython 3.11.7 raises SystemError in one of some ten thousand reads."""
    np.save(tmp_path / "a.npy", np.arange(3))
    load, reading, most = np.load, threading.Semaphore(0), []

    def slow(*arguments: Any, **options: Any) -> Any:
        reading.release()
        time.sleep(0.002)  # another thread has time to come in
        most.append(reading._value)
        try:
            return load(*arguments, **options)
        finally:
            reading.acquire()

    monkeypatch.setattr(np, "load", slow)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load_mapped, [tmp_path / "a.npy"] * 12))
    assert most == [1] * 12
