"""Files that change while they are watched: what passes is read again, what is wrong is said once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from services.server.access.watched_file import WatchedFiles
from tests.harness.waiting import wait_until


def _watched(path: Path, faults: list[Exception], told: list[str]) -> WatchedFiles[str]:
    def read() -> str:
        if faults:
            raise faults.pop()
        return path.read_text(encoding="utf-8")

    return WatchedFiles("list", [path], read, poll_s=0.0, told=lambda _, outcome: told.append(outcome))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "list.txt"
    made.write_text("old", encoding="utf-8")
    return made


def test_a_change_is_read_again_when_the_disk_failed_once(path: Path) -> None:
    faults: list[Exception] = []
    told: list[str] = []
    files = _watched(path, faults, told)
    path.write_text("newer", encoding="utf-8")
    faults += [OSError(5, "the disk failed"), OSError(5, "the disk failed")]
    wait_until(lambda: files.awaited() == "newer")
    assert told == ["done", "invalid", "done"]  # the fault is told once


def test_a_file_that_is_wrong_is_read_once(path: Path) -> None:
    faults: list[Exception] = []
    told: list[str] = []
    files = _watched(path, faults, told)
    faults += [ValueError("a line too long")]
    path.write_text("newer", encoding="utf-8")
    wait_until(lambda: files.awaited() == "old" and not faults)
    assert files.awaited() == "old"
    assert told == ["done", "invalid"]
    faults += [ValueError("a line too long")]
    path.write_text("the newest", encoding="utf-8")
    wait_until(lambda: files.awaited() == "old" and not faults)
    wait_until(lambda: told == ["done", "invalid", "invalid"])


def test_a_system_without_a_thread_left_costs_one_look(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = _watched(path, [], [])
    path.write_text("newer", encoding="utf-8")

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", refused)
        assert files.value == "old"
    wait_until(lambda: files.awaited() == "newer")
