"""Arrays of a snapshot: plain, read-only, and read by one thread at a time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retrieval.index.mapped_array import load_mapped


def test_an_array_is_plain_and_read_only(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    found = load_mapped(tmp_path / "a.npy")
    assert type(found) is np.ndarray and found.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not found.flags.writeable


def test_an_object_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="Python objects"):
        load_mapped(tmp_path / "a.npy")


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
