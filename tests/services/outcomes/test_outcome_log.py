"""The log of outcomes: durable before it is acknowledged, each request once, cut where it is torn, bounded."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import wait
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest

from ontology.appended_file import locked
from ontology.errors import NotReadyError, StorageError
from services.outcomes import Outcome, OutcomeLog, OutputSeen, outcome_log, read_outcomes
from tests.conftest import ROOT
from tests.harness.waiting import LIMIT_S, wait_until

MIB = 1024 * 1024


def outcome(number: int, *, used: tuple[str, ...] = ("a", "b")) -> Outcome:
    return Outcome(
        key=f"{number:024x}",
        time=1_700_000_000 + number,
        snapshot="0" * 16,
        reporter="r1",
        used=used,
        succeeded=True,
        outputs=(OutputSeen(tool="a", name="items[].id", type="string", taken_by="b", taken_as="id"),),
        terms=("order", "顧客"),
    )


def appended(folder: Path, *numbers: int, max_bytes: int = MIB) -> None:
    log = OutcomeLog(folder, max_bytes=max_bytes)
    for number in numbers:
        log.append(outcome(number)).result(LIMIT_S)
    log.close()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def test_what_was_appended_is_read_again_by_time(tmp_path: Path) -> None:
    appended(tmp_path, 2, 1)
    assert read_outcomes(tmp_path) == ([outcome(1), outcome(2)], 0)


def test_a_new_file_that_another_process_takes_at_once_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []

    def slowly_locked(path: Path) -> int:
        if not taken:
            taken.append(locked(path))  # by the other process, between the making and the lock
        return locked(path)

    monkeypatch.setattr(outcome_log, "locked", slowly_locked)
    appended(tmp_path, 1)
    assert [path.stat().st_size > 0 for path in files(tmp_path)] == [False, True]
    os.close(*taken)
    assert read_outcomes(tmp_path) == ([outcome(1)], 0)


def test_it_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    order: list[str] = []

    def fsync(descriptor: int) -> None:
        assert files(tmp_path)[0].read_bytes()  # written before
        os.fsync(descriptor)
        order.append("on the disk")

    log = OutcomeLog(tmp_path, max_bytes=MIB, fsync=fsync)
    done = log.append(outcome(1))
    done.add_done_callback(lambda _: order.append("acknowledged"))
    done.result(LIMIT_S)
    log.close()
    assert order == ["on the disk", "acknowledged"]


def test_a_caller_that_gives_up_cancels_nothing(tmp_path: Path) -> None:
    released = threading.Event()

    def fsync(descriptor: int) -> None:
        assert released.wait(LIMIT_S)

    log = OutcomeLog(tmp_path, max_bytes=MIB, fsync=fsync)
    first, second = log.append(outcome(1)), log.append(outcome(2))
    assert not second.cancel()
    released.set()
    assert not wait([first, second, log.append(outcome(3))], 30).not_done
    log.close()
    assert len(read_outcomes(tmp_path)[0]) == 3


def test_many_reports_share_a_flush(tmp_path: Path) -> None:
    flushes: list[int] = []
    log = OutcomeLog(tmp_path, max_bytes=MIB, fsync=flushes.append)
    assert not wait([log.append(outcome(number)) for number in range(500)], LIMIT_S).not_done
    log.close()
    assert len(read_outcomes(tmp_path)[0]) == 500
    assert len(flushes) < 500


def test_a_repeated_report_is_one_line_also_after_a_restart(tmp_path: Path) -> None:
    log = OutcomeLog(tmp_path, max_bytes=MIB)
    wait([log.append(outcome(1)) for _ in range(10)], LIMIT_S)
    log.close()
    appended(tmp_path, 1)
    (file,) = files(tmp_path)
    assert file.read_bytes().count(b"\n") == 1


def test_two_replicas_append_to_files_of_their_own(tmp_path: Path) -> None:
    one, other = (OutcomeLog(tmp_path, max_bytes=MIB) for _ in range(2))
    wait([log.append(outcome(number)) for number, log in enumerate((one, other, one, other))], LIMIT_S)
    other.append(outcome(0)).result(LIMIT_S)  # the same report at the other replica
    one.close()
    other.close()
    assert len(files(tmp_path)) == 2
    assert [each.key for each in read_outcomes(tmp_path)[0]] == [outcome(number).key for number in range(4)]


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_torn_tail_is_cut_and_the_file_goes_on(tmp_path: Path, cut: int) -> None:
    appended(tmp_path, 1, 2)
    (file,) = files(tmp_path)
    with open(file, "r+b") as opened:
        opened.truncate(file.stat().st_size - cut)
    assert read_outcomes(tmp_path) == ([outcome(1)], 0)
    appended(tmp_path, 3)
    assert files(tmp_path) == [file]
    assert read_outcomes(tmp_path) == ([outcome(1), outcome(3)], 0)


def test_an_altered_line_is_left_out_and_counted(tmp_path: Path) -> None:
    appended(tmp_path, 1, 2, 3)
    (file,) = files(tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1].replace(b'"a"', b'"z"') + lines[2])
    assert read_outcomes(tmp_path) == ([outcome(1), outcome(3)], 1)


def test_a_full_disk_is_a_typed_error_and_the_report_can_be_repeated(tmp_path: Path) -> None:
    failing = [True]

    def fsync(descriptor: int) -> None:
        if failing[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = OutcomeLog(tmp_path, max_bytes=MIB, fsync=fsync)
    with pytest.raises(StorageError, match="No space left"):
        log.append(outcome(1)).result(LIMIT_S)
    assert read_outcomes(tmp_path) == ([], 0)
    failing[0] = False
    log.append(outcome(1)).result(LIMIT_S)
    log.close()
    assert read_outcomes(tmp_path) == ([outcome(1)], 0)
    with pytest.raises(NotReadyError):
        log.append(outcome(2))


@pytest.mark.parametrize("harm", ["remove", "cut"])
def test_a_file_that_somebody_removed_or_cut_takes_no_further_report(tmp_path: Path, harm: str) -> None:
    """What is acknowledged afterwards is read again."""
    log = OutcomeLog(tmp_path, max_bytes=MIB)
    log.append(outcome(1)).result(LIMIT_S)
    (file,) = files(tmp_path)
    file.unlink() if harm == "remove" else os.truncate(file, 10)
    log.append(outcome(2)).result(LIMIT_S)
    log.close()
    assert read_outcomes(tmp_path) == ([outcome(2)], 0)


def test_the_folder_is_bounded_and_the_newest_stay(tmp_path: Path) -> None:
    appended(tmp_path, *range(400), max_bytes=64 * 1024)
    assert sum(file.stat().st_size for file in files(tmp_path)) <= 64 * 1024
    kept, damaged = read_outcomes(tmp_path)
    assert 0 < len(kept) < 400
    assert kept[-1] == outcome(399)
    assert damaged == 0


WRITER = """
import sys
from pathlib import Path
from services.outcomes import OutcomeLog
from tests.services.outcomes.test_outcome_log import outcome

log = OutcomeLog(Path(sys.argv[1]), max_bytes=1 << 20)
for number in range(1_000_000):
    log.append(outcome(number)).result()
    print(number, flush=True)
"""


def _has_several_lines(path: Path) -> bool:
    return path.stat().st_size > 100


def test_nothing_that_was_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    """The kill comes at a random moment between append and acknowledgement."""
    for _ in range(3):
        acknowledged = tmp_path / "acknowledged"
        with open(acknowledged, "w", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", WRITER, str(tmp_path / "log")], cwd=ROOT, stdout=output, text=True
            )
            wait_until(partial(_has_several_lines, acknowledged), process=process)
            process.send_signal(signal.SIGKILL)
            process.wait()
        last = int(acknowledged.read_text(encoding="utf-8").rsplit("\n", 2)[-2])
        kept, damaged = read_outcomes(tmp_path / "log")
        assert {each.key for each in kept} >= {outcome(number).key for number in range(last + 1)}
        assert damaged == 0
        appended(tmp_path / "log", 10**6)  # another process goes on with the file
        assert read_outcomes(tmp_path / "log")[0][-1] == outcome(10**6)


def test_a_start_reads_keys_only_and_no_more_files_than_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appended(tmp_path, *range(40), max_bytes=8_000)  # files of 2,000 bytes
    old, *_, last = files(tmp_path)
    read: list[Path] = []
    monkeypatch.setattr(outcome_log, "_KNOWN_KEYS", 3)

    def opened(path: Path, mode: str) -> IO[Any]:
        read.append(path)
        return open(path, mode)

    monkeypatch.setattr(outcome_log, "open", opened, raising=False)
    monkeypatch.setattr(outcome_log, "outcome_from_line", pytest.fail)
    before = last.read_bytes()
    appended(tmp_path, 39, max_bytes=8_000)
    assert last.read_bytes() == before, "a report that the log has is not written again"
    assert read and old not in read
    monkeypatch.undo()
    assert len(read_outcomes(tmp_path)[0]) >= 3


def test_a_damaged_line_is_not_a_known_report(tmp_path: Path) -> None:
    appended(tmp_path, 1, 2)
    (file,) = files(tmp_path)
    file.write_bytes(file.read_bytes().replace(b'"used":["a"', b'"used":["c"', 1))
    appended(tmp_path, 1)
    assert outcome(1) in read_outcomes(tmp_path)[0]
